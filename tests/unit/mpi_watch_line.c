/* Lines of the watch for each verdict, word for word. Boards are of runs that never were. All are on one host but the
 * last rank, whose process nobody can look at. */
#include "mpi/watch.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

enum { RANKS = 4, NOBODY_IS = 1 << 30 /* no process has this number */ };

static struct mf_board *board;
static struct mf_post post[RANKS];
static struct mf_seen seen[RANKS];

static void set_up(void)
{
    size_t bytes = sizeof *board + RANKS * sizeof board->record[0];

    board = aligned_alloc(64, bytes);
    memset(board, 0, bytes);
    for (int r = 0; r < RANKS; ++r) {
        post[r] = (struct mf_post){.head = r == 3 ? 3 : 0, .process = NOBODY_IS};
        strcpy(post[r].host, r == 3 ? "b" : "a");
    }
}

/* Rank @p r is at @p place in "@p name @p n". */
static void put(int r, uint64_t place, const char *name, uint64_t n)
{
    struct mf_standing *own = board->record[r].standing;

    seen[r] = (struct mf_seen){.place = place, .quiet = 6, .group = MF_WATCH_WORLD, .standing = own, .standings = 1};
    atomic_store(&own->group, MF_WATCH_WORLD);
    atomic_store(&own->count, (place + 1) / 2);
    mf_words_put(board->record[r].doing.name, MF_WATCH_WORDS, name);
    atomic_store(&board->record[r].doing.count, n);
}

static void all_inside(void)
{
    for (int r = 0; r < RANKS; ++r) put(r, 9, "sum of", 3);
}

static void says(enum mf_verdict_kind kind, int waiter, const char *want)
{
    struct mf_watch_view view = {board, post, seen, 0, RANKS, 5};
    struct mf_verdict verdict = {.kind = kind, .waiter = waiter, .other = -1};
    char line[1024];

    for (int r = 0; r < RANKS; ++r) verdict.guilty += seen[r].guilty;
    mf_watch_line(&view, &verdict, line, sizeof line);
    CHECK(strcmp(line, want) == 0);
    if (strcmp(line, want) != 0) fprintf(stderr, "got  '%s'\nwant '%s'\n", line, want);
}

static void of_the_missing(void)
{
    all_inside();
    put(1, 8, "broadcast of bytes,", 12);
    seen[1].guilty = 1;
    says(MF_MISSING, 0,
         "rank 1 on a has not come to sum of 3, where rank 0 on a has waited for 6 s: the process of rank 1 runs, was "
         "last in broadcast of bytes, 12; --timeout 5");
    put(2, 7, "barrier", 0);
    seen[2].guilty = seen[2].stopped = 1;
    says(MF_MISSING, 0,
         "rank 1 on a and rank 2 on a have not come to sum of 3, where rank 0 on a has waited for 6 s: the process of "
         "rank 1 runs, was last in broadcast of bytes, 12; --timeout 5");
    all_inside();
    put(3, 0, "", 0);
    seen[3].guilty = 1;
    seen[3].silent = 4;
    says(MF_MISSING, 2,
         "rank 3 on b has not come to sum of 3, where rank 2 on a has waited for 6 s: rank 3 was not heard for 4 s; "
         "--timeout 5");
}

static void of_those_inside(void)
{
    all_inside();
    says(
        MF_INSIDE, 0,
        "no rank has come out of sum of 3 for 6 s: a link between ranks or a file system does not answer; --timeout 5");
    put(2, 9, "barrier", 0);
    says(MF_INSIDE, 0, "rank 2 is in barrier and rank 0 in sum of 3 for 6 s: they wait for each other; --timeout 5");
    all_inside();
    seen[1].guilty = seen[1].stopped = 1;
    says(MF_INSIDE, 0,
         "rank 1 on a has not come out of sum of 3 for 6 s: the process of rank 1 is stopped; --timeout 5");
}

static void of_the_lost(void)
{
    all_inside();
    seen[2].guilty = 1;
    says(MF_DEAD, 0, "rank 2 on a is lost: its process is gone; it was in sum of 3, rank 0 on a is in sum of 3");
    put(2, 8, "barrier", 0);
    seen[2].guilty = 1;
    says(MF_DEAD, -1, "rank 2 on a is lost: its process is gone; it was last in barrier");
    all_inside();
    seen[3].guilty = 1;
    seen[3].silent = 7;
    says(MF_UNHEARD, 0,
         "nothing was heard from rank 3 on b for 7 s, and rank 0 on a has waited in sum of 3 for 6 s: a host or the "
         "network between hosts is lost; --timeout 5");
}

int main(void)
{
    set_up();
    of_the_missing();
    of_those_inside();
    of_the_lost();
    free(board);
    return failures != 0;
}
