/* What the watches of many nodes tell each other: on boards of nodes that never were, all on this machine. */
#include "mpi/news.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { BOARDS = 121, EACH = 13, RANKS = BOARDS * EACH, PARTS = 20, KEY = 7 };

static struct mf_board *board;
static struct mf_post post[RANKS];

static void hear(void) { mf_news_hear(&(struct mf_news){board, post, 0, RANKS}); }

/* Boards of EACH ranks; all letters to the first find this process, those to others nobody. */
static void set_up(void)
{
    struct mf_post own = {.head = 0};

    board = aligned_alloc(64, sizeof *board + RANKS * sizeof board->record[0]);
    memset(board, 0, sizeof *board + RANKS * sizeof board->record[0]);
    mf_news_open(&own);
    CHECK(own.port > 0 && own.address[0]);
    for (int r = 0; r < RANKS; ++r) post[r] = (struct mf_post){.head = r / EACH * EACH};
    post[0] = own;
    post[0].key = KEY;
    hear(); /* it makes room */
}

static void forget(void)
{
    for (int r = 0; r < RANKS; ++r) atomic_store(&board->record[r].place, 0);
}

/* As many others as are known to be at @p place. */
static int known(uint64_t place)
{
    int n = 0;

    for (int r = EACH; r < RANKS; ++r) n += atomic_load(&board->record[r].place) == place;
    return n;
}

/* In a process of its own: all other boards, one after the other, tell the first that their ranks are at @p place. */
static void others_tell(uint64_t place, unsigned part, unsigned parts)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        for (int r = 0; r < RANKS; ++r) {
            atomic_store(&board->record[r].place, place);
            atomic_store(&board->record[r].looks, place);
        }
        for (int head = EACH; head < RANKS; head += EACH) {
            const struct mf_news news = {board, post, head, RANKS};

            mf_news_close();
            mf_news_write(&news);
            mf_news_send(&news, part, parts);
        }
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* All at once, more than the system keeps where nobody asks for room, and nobody listens until all have spoken. */
static void a_burst_arrives_whole(void)
{
    others_tell(3, 0, 1);
    hear();
    CHECK(known(3) == RANKS - EACH);
    forget();
}

/* No part has more letters than its share, and after the last everybody was told. */
static void parts_are_alike(void)
{
    int before = 0, now, most = (BOARDS - 1) / PARTS + 1;

    for (unsigned part = 0; part < PARTS; ++part) {
        others_tell(5, part, PARTS);
        hear();
        now = known(5) / EACH;
        CHECK(now - before > 0 && now - before <= most);
        before = now;
    }
    CHECK(known(5) == RANKS - EACH);
    forget();
}

/* A letter of before does not replace one of later. */
static void the_latest_counts(void)
{
    others_tell(9, 0, 1);
    hear();
    others_tell(7, 0, 1);
    hear();
    CHECK(known(9) == RANKS - EACH);
}

int main(void)
{
    set_up();
    a_burst_arrives_whole();
    parts_are_alike();
    the_latest_counts();
    mf_news_close();
    free(board);
    return failures != 0;
}
