/* See flight.h. */
#include "mpi/flight.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/board.h"
#include "src/base/err.h"
#include "src/base/guest.h"

static const long WAITS = 1; /* [s] */

/* A clock of milliseconds: looking at it costs next to nothing, and collectives may be short. */
static uint64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return 1000 * (uint64_t)t.tv_sec + (uint64_t)t.tv_nsec / 1000000;
}

void mf_flight_enter(struct mf_flight *own, uint64_t number, const struct mf_doing *doing, uint64_t in_group)
{
    struct mf_flight_entry *e = &own->entry[number % MF_FLIGHT_MOST];

    mf_word_set(&e->number, number);
    mf_word_set(&e->in_group, in_group);
    mf_word_set(&e->doing.count, mf_word_get(&doing->count));
    for (size_t i = 0; i < MF_WATCH_WORDS; ++i) mf_word_set(&e->doing.name[i], mf_word_get(&doing->name[i]));
    for (size_t i = 0; i < MF_GROUP_WORDS; ++i) mf_word_set(&e->doing.title[i], mf_word_get(&doing->title[i]));
    mf_word_set(&e->came, clock_ms());
    mf_word_set(&e->left, 0);
}

void mf_flight_leave(struct mf_flight *own, uint64_t number)
{
    mf_word_set(&own->entry[number % MF_FLIGHT_MOST].left, clock_ms());
}

/* ---- the file ---- */

/* Its own copy of everything: a thread that does not come back goes on with it. */
static struct page {
    struct mf_watch_view view; /* size 0: of no rank */
    char why[MF_ERR_TEXT], name[128];
    uint64_t now;
    int well;
} page;

/* Prints the group, the number of its collective, and "sum of 3". */
static void print_doing(FILE *to, const struct mf_doing *doing, uint64_t in_group)
{
    char name[MF_WATCH_TEXT], title[MF_GROUP_TEXT];
    uint64_t count = mf_word_get(&doing->count);

    mf_words_get(doing->name, MF_WATCH_WORDS, name);
    mf_words_get(doing->title, MF_GROUP_WORDS, title);
    fprintf(to, "\t%s\t%" PRIu64 "\t%s", *title ? title : "world", in_group, *name ? name : "-");
    if (count) fprintf(to, " %" PRIu64, count);
}

/* Seconds before now; "-": it has not happened. */
static void print_time(FILE *to, uint64_t now, uint64_t then)
{
    if (then)
        fprintf(to, "\t%.3f", then < now ? 1e-3 * (double)(now - then) : 0);
    else
        fprintf(to, "\t-");
}

static void print_here(FILE *to, int rank)
{
    const struct mf_flight *flight = mf_board_flight(page.view.board, page.view.size, rank);
    uint64_t last = 0;

    if (mf_word_get(&page.view.board->record[rank].place) == MF_PLACE_GONE) return;
    for (size_t i = 0; i < MF_FLIGHT_MOST; ++i)
        if (mf_word_get(&flight->entry[i].number) > last) last = mf_word_get(&flight->entry[i].number);
    for (uint64_t n = last < MF_FLIGHT_MOST ? 1 : last - MF_FLIGHT_MOST + 1; n <= last; ++n) {
        const struct mf_flight_entry *e = &flight->entry[n % MF_FLIGHT_MOST];

        if (mf_word_get(&e->number) != n) continue; /* it is just being replaced */
        fprintf(to, "%d\t%s\t%" PRIu64, rank, page.view.post[rank].host, n);
        print_doing(to, &e->doing, mf_word_get(&e->in_group));
        print_time(to, page.now, mf_word_get(&e->came));
        print_time(to, page.now, mf_word_get(&e->left));
        fprintf(to, "\n");
    }
}

/* Only the last collective of ranks on other nodes is known, not the number of earlier ones. */
static void print_there(FILE *to, int rank)
{
    const struct mf_record *r = &page.view.board->record[rank];
    const struct mf_seen seen = {.standing = r->standing, .standings = mf_word_get(&r->standings)};

    if (mf_word_get(&r->place) == MF_PLACE_GONE) return;
    fprintf(to, "%d\t%s\t-", rank, page.view.post[rank].host);
    print_doing(to, &r->doing, mf_seen_count(&seen, mf_word_get(&r->doing.group)));
    fprintf(to, "\t-\t-\n");
}

static void *write_page(void *nothing)
{
    const struct mf_post *post = page.view.post;
    FILE *to = fopen(page.name, "we");

    if (!to) return nothing;
    fprintf(to,
            "# %s\n# The last collectives and messages of each rank, and their number in the group. Seconds before "
            "this was "
            "written; -: not left, or not known of another host.\n"
            "rank\thost\tnumber\tgroup\tgroup_number\tcollective\tentered\tleft\n",
            page.why);
    for (int r = 0; r < page.view.size; ++r)
        (post[r].head == post[page.view.rank].head ? print_here : print_there)(to, r);
    page.well = !ferror(to);
    page.well &= fclose(to) == 0;
    return nothing;
}

static char job[21]; /* the number of the Slurm job; "": there is none */

void mf_flight_open(void)
{
    const char *is = getenv("SLURM_JOB_ID");

    snprintf(job, sizeof job, "%s", is && strspn(is, "0123456789") == strlen(is) ? is : "");
}

/* In a Slurm job the name begins with the job's number, as the scripts of launch expect. Other jobs may use the
 * folder. */
static void name_page(void)
{
    const struct mf_post *own = page.view.size > 0 ? &page.view.post[page.view.rank] : NULL;
    int64_t process = own ? page.view.post[own->head].process : (int64_t)getpid();
    char host[MF_WATCH_HOST] = "";

    if (own)
        snprintf(host, sizeof host, "%s", own->host);
    else if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "?");
    snprintf(page.name, sizeof page.name, "mesoforge-flight-%s%s%s-%" PRId64 ".tsv", job, *job ? "-" : "", host,
             process);
}

const char *mf_flight_write(const struct mf_watch_view *view, const char *why)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    struct timespec until;
    pthread_t writer;

    if (mf_is_guest() || atomic_flag_test_and_set(&begun)) return NULL;
    if (view) page.view = *view;
    page.now = clock_ms();
    snprintf(page.why, sizeof page.why, "%s", why);
    name_page();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAITS;
    if (pthread_create(&writer, NULL, write_page, NULL) != 0 || pthread_timedjoin_np(writer, NULL, &until) != 0)
        return NULL;
    return page.well ? page.name : NULL;
}
