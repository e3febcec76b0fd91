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

static const long WAITS = 1; /* [s] */

/* A clock of milliseconds: looking at it costs next to nothing, and collectives may be short. */
static uint64_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return 1000 * (uint64_t)t.tv_sec + (uint64_t)t.tv_nsec / 1000000;
}

static void set(_Atomic uint64_t *at, uint64_t value) { atomic_store_explicit(at, value, memory_order_relaxed); }

static uint64_t get(const _Atomic uint64_t *at) { return atomic_load_explicit(at, memory_order_relaxed); }

void mf_flight_enter(struct mf_flight *own, uint64_t number, const char *name, size_t count)
{
    struct mf_flight_entry *e = &own->entry[number % MF_FLIGHT_MOST];

    set(&e->number, number);
    set(&e->count, count);
    mf_watch_name_put(e->name, name);
    set(&e->came, clock_ms());
    set(&e->left, 0);
}

void mf_flight_leave(struct mf_flight *own, uint64_t number)
{
    set(&own->entry[number % MF_FLIGHT_MOST].left, clock_ms());
}

/* ---- the file ---- */

/* Its own copy of everything: a thread that does not come back goes on with it. */
static struct page {
    struct mf_watch_view view; /* size 0: of no rank */
    char why[MF_ERR_TEXT], name[128];
    uint64_t now;
    int well;
} page;

/* "sum of 3". */
static void print_collective(FILE *to, const _Atomic uint64_t *words, uint64_t count)
{
    char name[MF_WATCH_TEXT];

    mf_watch_name_get(words, name);
    fprintf(to, "\t%s", *name ? name : "-");
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
    uint64_t place = get(&page.view.board->record[rank].place), last = place == MF_PLACE_GONE ? 0 : (place + 1) / 2;

    for (uint64_t n = last < MF_FLIGHT_MOST ? 1 : last - MF_FLIGHT_MOST + 1; n <= last; ++n) {
        const struct mf_flight_entry *e = &flight->entry[n % MF_FLIGHT_MOST];

        if (get(&e->number) != n) continue; /* it is just being replaced */
        fprintf(to, "%d\t%s\t%" PRIu64, rank, page.view.post[rank].host, n);
        print_collective(to, e->name, get(&e->count));
        print_time(to, page.now, get(&e->came));
        print_time(to, page.now, get(&e->left));
        fprintf(to, "\n");
    }
}

/* Of a rank on another node the last is known. */
static void print_there(FILE *to, int rank)
{
    const struct mf_record *r = &page.view.board->record[rank];

    if (get(&r->place) == MF_PLACE_GONE) return;
    fprintf(to, "%d\t%s\t%" PRIu64, rank, page.view.post[rank].host, (get(&r->place) + 1) / 2);
    print_collective(to, r->name, get(&r->count));
    fprintf(to, "\t-\t-\n");
}

static void *write_page(void *nothing)
{
    const struct mf_post *post = page.view.post;
    FILE *to = fopen(page.name, "we");

    if (!to) return nothing;
    fprintf(to,
            "# %s\n# The last collectives of each rank. Seconds before this was written; -: not left, or not known of "
            "another host.\nrank\thost\tnumber\tcollective\tentered\tleft\n",
            page.why);
    for (int r = 0; r < page.view.size; ++r)
        (post[r].head == post[page.view.rank].head ? print_here : print_there)(to, r);
    page.well = !ferror(to);
    page.well &= fclose(to) == 0;
    return nothing;
}

/* Of a job of Slurm's it begins with its number, as the scripts of launch expect: other jobs may use the folder. */
static void name_page(void)
{
    const struct mf_post *own = page.view.size > 0 ? &page.view.post[page.view.rank] : NULL;
    const char *job = getenv("SLURM_JOB_ID");
    int64_t process = own ? page.view.post[own->head].process : (int64_t)getpid();
    char host[MF_WATCH_HOST] = "";

    if (own)
        snprintf(host, sizeof host, "%s", own->host);
    else if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "?");
    if (!job || strspn(job, "0123456789") != strlen(job)) job = "";
    snprintf(page.name, sizeof page.name, "mesoforge-flight-%.20s%s%s-%" PRId64 ".tsv", job, *job ? "-" : "", host,
             process);
}

const char *mf_flight_write(const struct mf_watch_view *view, const char *why)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    struct timespec until;
    pthread_t writer;

    if (atomic_flag_test_and_set(&begun)) return NULL;
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
