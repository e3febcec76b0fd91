/* See watch.h: this rank's record, and the thread that examines all records. */
#include "mpi/watch.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/board.h"
#include "mpi/heartbeat.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { DEPTH = 8 /* collectives inside each other */ };
enum { PARTS = 20 }; /* of a look, between which what comes from other nodes is taken (heartbeat.h) */

/* Seconds. A late look counts for at most STEP_MOST, so that a job that was suspended as a whole can continue.
 * OTHERS_FIRST: time for the rank that should print the line, if it is on another node. SPOKEN_MOST: a rank that prints
 * the line has ended the job or itself by then. */
static const double EVERY = 1, STEP_MOST = 5, STANDARD = 600, SILENT = 5, OTHERS_FIRST = 4, SPOKEN_MOST = 6;

struct past {
    uint64_t place, lives, looks;
};

static struct {
    int rank, size, has_news; /* it has made one of several boards */
    struct mf_board *board;   /* NULL: nothing is watched */
    struct mf_record *own;
    struct mf_flight *flight;
    struct mf_post *post; /* [size] */
    _Atomic double seconds;

    /* The main thread's own. */
    struct entered {
        const struct mf_watch_group *group;
        char name[MF_WATCH_TEXT];
        size_t n;
        int64_t peer;
        uint64_t number;
    } entered[DEPTH];
    int depth;
    uint64_t number; /* of collectives and messages of this rank so far */

    /* The thread's own. */
    struct mf_seen *seen;        /* [size] */
    struct past *past;           /* [size] */
    double *heard;               /* [size] of the makers of boards: seconds since any rank there was heard */
    double last, ready, hearing; /* mf_now() of the last look; seconds since a verdict; since somebody speaks */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop; /* under lock */
} w;

/* -- this rank -- */

/* This rank's main thread alone changes its place. It grows by 2 between two things that a rank is inside of. */
static void step_on(uint64_t parity)
{
    uint64_t place = mf_word_get(&w.own->place);

    atomic_store_explicit(&w.own->place, place + (place % 2 == parity ? 2 : 1), memory_order_release);
}

static void say_doing(const struct entered *e)
{
    struct mf_doing *doing = &w.own->doing;

    mf_words_put(doing->name, MF_WATCH_WORDS, e->name);
    mf_words_put(doing->title, MF_GROUP_WORDS, e->group->name);
    mf_word_set(&doing->count, e->n);
    mf_word_set(&doing->group, e->group->id);
    atomic_store_explicit(&doing->peer, e->peer, memory_order_relaxed);
}

void mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer)
{
    struct entered *e = &w.entered[w.depth];

    if (!w.own) return;
    MF_ASSERT(w.depth < DEPTH && group->slot >= 0);
    ++w.depth;
    *e = (struct entered){.group = group, .n = n, .peer = peer, .number = ++w.number};
    snprintf(e->name, sizeof e->name, "%s", name);
    if (!peer) mf_word_set(&w.own->standing[group->slot].count, mf_watch_number(group) + 1);
    say_doing(e);
    mf_flight_enter(w.flight, e->number, &w.own->doing, mf_watch_number(group));
    step_on(1);
}

void mf_watch_leave(void)
{
    if (!w.own) return;
    mf_flight_leave(w.flight, w.entered[--w.depth].number);
    if (w.depth) say_doing(&w.entered[w.depth - 1]);
    step_on(w.depth > 0);
}

unsigned long long mf_watch_number(const struct mf_watch_group *group)
{
    return w.own && group->slot >= 0 ? mf_word_get(&w.own->standing[group->slot].count) : 0;
}

/* The low half tells groups of one first member apart; the world is the first of rank 0. */
uint64_t mf_watch_new_id(int first)
{
    static uint64_t last = MF_WATCH_WORLD;

    return (uint64_t)first << 32 | ++last;
}

static int free_slot(void)
{
    int slot = 0;

    while (slot < MF_GROUPS_MOST && mf_word_get(&w.own->standing[slot].group)) ++slot;
    return slot;
}

int mf_watch_has_room(void) { return !w.own || free_slot() < MF_GROUPS_MOST; }

void mf_watch_join(struct mf_watch_group *group)
{
    group->slot = -1;
    if (!w.own) return;
    group->slot = free_slot();
    MF_ASSERT(group->slot < MF_GROUPS_MOST);
    mf_word_set(&w.own->standing[group->slot].count, 0);
    mf_word_set(&w.own->standing[group->slot].group, group->id);
    if ((uint64_t)group->slot >= mf_word_get(&w.own->standings))
        mf_word_set(&w.own->standings, (uint64_t)group->slot + 1);
}

void mf_watch_part(struct mf_watch_group *group)
{
    if (group->slot >= 0) mf_word_set(&w.own->standing[group->slot].group, 0);
    group->slot = -1;
}

void mf_comm_alive(void)
{
    if (w.own) atomic_fetch_add_explicit(&w.own->lives, 1, memory_order_relaxed);
}

void mf_watch_silence(int code)
{
    int64_t nobody = 0;

    if (w.board) atomic_compare_exchange_strong(&w.board->spoken, &nobody, code);
}

void mf_comm_watch(const struct mf_comm *comm, double seconds)
{
    if (comm->impl) atomic_store(&w.seconds, seconds);
}

/* -- the thread -- */

static int is_near(int rank) { return w.post[rank].head == w.post[w.rank].head; }

/* A watch that is not heard has stopped with its process: here the machine says so, elsewhere time tells. */
static int has_stopped(int rank)
{
    char state;

    if (rank == w.rank || w.seen[rank].silent <= EVERY) return 0;
    state = is_near(rank) ? mf_process_look(w.post[rank].process).state : 0;
    if (state) return state == 'T' || state == 't';
    return w.seen[rank].silent >= SILENT || mf_word_get(&w.board->record[rank].stopped);
}

/* Marks ranks as unknown or stopped, by the last news of their board. */
static void weigh(void)
{
    for (int r = 0; r < w.size; ++r) w.heard[r] = DBL_MAX;
    for (int r = 0; r < w.size; ++r) w.heard[w.post[r].head] = fmin(w.heard[w.post[r].head], w.seen[r].silent);
    for (int r = 0; r < w.size; ++r) {
        w.seen[r].unknown = !is_near(r) && w.heard[w.post[r].head] >= SILENT;
        w.seen[r].stopped = !w.seen[r].dead && !w.seen[r].unknown && has_stopped(r);
    }
}

/* The maker of a board speaks for its ranks, or the first that can when it has stopped. */
static int is_speaker(void)
{
    int head = (int)w.post[w.rank].head, first = 0;

    if (!w.seen[head].stopped && !w.seen[head].dead) return head == w.rank;
    while (first < w.rank && (!is_near(first) || w.seen[first].dead || w.seen[first].stopped)) ++first;
    return first == w.rank;
}

static struct mf_heartbeat heartbeat(void) { return (struct mf_heartbeat){w.board, w.post, w.rank, w.size}; }

/* As it is now, for datagrams to come. */
static void note(void)
{
    const struct mf_heartbeat own = heartbeat();

    for (int r = 0; r < w.size; ++r) {
        struct mf_record *record = &w.board->record[r];

        if (!is_near(r)) continue;
        mf_word_set(&record->quiet, (uint64_t)(1000 * w.seen[r].quiet));
        mf_word_set(&record->stopped, (uint64_t)w.seen[r].stopped);
    }
    mf_heartbeat_compose(&own);
}

static void tell(unsigned part, unsigned parts)
{
    const struct mf_heartbeat own = heartbeat();

    mf_heartbeat_send(&own, part, parts);
}

static void hear(void)
{
    const struct mf_heartbeat own = heartbeat();

    mf_heartbeat_receive(&own);
}

/* News is old when it comes: by as much as the sender says. */
static double first_quiet(int rank)
{
    return is_near(rank) ? 0 : 1e-3 * (double)mf_word_get(&w.board->record[rank].quiet);
}

/* Notes the changes at one rank since the last look, @p step seconds ago. */
static void look_at(int rank, double step)
{
    struct mf_record *r = &w.board->record[rank];
    struct mf_seen *s = &w.seen[rank];
    struct past now = {atomic_load_explicit(&r->place, memory_order_acquire), mf_word_get(&r->lives),
                       mf_word_get(&r->looks)};
    int quiet = now.place == w.past[rank].place && now.lives == w.past[rank].lives;

    s->place = now.place;
    s->group = mf_word_get(&r->doing.group);
    s->peer = atomic_load_explicit(&r->doing.peer, memory_order_relaxed);
    s->standing = r->standing;
    s->standings = mf_word_get(&r->standings);
    s->quiet = quiet ? s->quiet + step : first_quiet(rank);
    s->silent = now.looks == w.past[rank].looks ? s->silent + step : 0;
    if (rank == w.rank) s->silent = 0;
    s->dead = is_near(rank) && rank != w.rank && now.place != MF_PLACE_GONE && mf_process_gone(&w.post[rank]);
    if (s->dead) s->dead = atomic_load_explicit(&r->place, memory_order_acquire) != MF_PLACE_GONE;
    w.past[rank] = now;
}

static struct mf_watch_view view_now(void)
{
    return (struct mf_watch_view){w.board, w.post, w.seen, w.rank, w.size, atomic_load(&w.seconds)};
}

static int is_one_board(void)
{
    for (int r = 0; r < w.size; ++r)
        if (!is_near(r)) return 0;
    return 1;
}

const char *mf_watch_record(const char *why)
{
    struct mf_watch_view view = view_now();
    int64_t nobody = 0;

    if (!w.board) return mf_flight_write(NULL, why);
    if (!atomic_compare_exchange_strong(&w.board->spoken, &nobody, MF_DEVICE)) return NULL;
    return mf_flight_write(&view, why);
}

/* Ends the job; one rank says why. */
static void speak(const struct mf_verdict *verdict)
{
    const struct timespec for_others = {1, 200000000}; /* a look of theirs, and their record is written */
    struct mf_watch_view view = view_now();
    char line[MF_ERR_TEXT];
    const char *record;
    int64_t nobody = 0;

    if (!atomic_compare_exchange_strong(&w.board->spoken, &nobody, MF_DEVICE | MF_WATCH_SPOKE)) return;
    note();
    tell(0, 1);
    mf_watch_line(&view, verdict, line, sizeof line);
    record = mf_flight_write(&view, line);
    if (!is_one_board()) nanosleep(&for_others, NULL);
    mf_watch_end(line, record);
}

/* The first rank that is not guilty prints the line. Other ranks of its node may do so too; ranks of other nodes
 * wait. */
static int is_my_turn(const struct mf_verdict *verdict)
{
    int first = 0;

    if (verdict->kind == MF_DEAD) return 1; /* only its node sees that */

    while (first < w.size && (w.seen[first].guilty || w.seen[first].place == MF_PLACE_GONE)) ++first;
    return first == w.size || is_near(first) || w.ready > OTHERS_FIRST;
}

/* Another rank ends the job. If it is on another node, the first rank here that learns of it writes this node's
 * flight record. If the job has not ended by SPOKEN_MOST, this rank ends only itself, without a message. An abort of
 * its own would wait for the aborts of other nodes as long as the first one did. All ranks that have heard of it do
 * the same. */
static void end_quietly(double step)
{
    int64_t spoken = atomic_load(&w.board->spoken), wanted = 1;
    struct mf_watch_view view = view_now();

    if (atomic_compare_exchange_strong(&w.board->wanted, &wanted, 0))
        (void)mf_flight_write(&view, "the job was ended by a rank of another host, which says why");
    w.hearing += step;
    if (w.hearing > SPOKEN_MOST) _exit((int)(spoken & ~(int64_t)MF_WATCH_SPOKE));
}

static void look(void)
{
    double now = mf_now(), step = now - w.last < STEP_MOST ? now - w.last : STEP_MOST,
           seconds = atomic_load(&w.seconds);
    struct mf_verdict verdict;

    w.last = now;
    atomic_fetch_add_explicit(&w.own->looks, 1, memory_order_relaxed);
    for (int r = 0; r < w.size; ++r) look_at(r, step);
    weigh();
    if (is_speaker()) note();
    if (is_speaker() && !w.has_news) tell(0, 1); /* in the place of one that has stopped */
    if (atomic_load(&w.board->spoken)) {
        end_quietly(step);
        return;
    }
    verdict = seconds > 0 ? mf_judge(w.seen, w.size, seconds) : (struct mf_verdict){MF_NOBODY, -1, 0, -1};
    w.ready = verdict.kind == MF_NOBODY ? 0 : w.ready + step;
    if (verdict.kind != MF_NOBODY && !w.seen[w.rank].guilty && is_my_turn(&verdict)) speak(&verdict);
}

static struct timespec later(double seconds)
{
    double at = mf_now() + seconds;
    time_t whole = (time_t)at;

    return (struct timespec){whole, (long)(1e9 * (at - (double)whole))};
}

static void *watch(void *nothing)
{
    const unsigned parts = w.has_news ? PARTS : 1;
    struct timespec until;

    pthread_mutex_lock(&w.lock);
    for (unsigned part = 0; !w.stop; part = (part + 1) % parts) {
        until = later(EVERY / parts);
        while (!w.stop && pthread_cond_timedwait(&w.wake, &w.lock, &until) == 0) {}
        if (w.stop) break;
        pthread_mutex_unlock(&w.lock);
        if (w.has_news) hear();
        if (part == 0) look();
        if (w.has_news) tell(part, parts);
        pthread_mutex_lock(&w.lock);
    }
    pthread_mutex_unlock(&w.lock);
    return nothing;
}

/* Signals are the business of the main thread. */
static int start_thread(void)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    int failed;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w.wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&w.lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&w.thread, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

void mf_watch_open(const struct mf_comm *comm, int leader)
{
    size_t size = (size_t)comm->size;
    int failed;

    w.rank = comm->rank;
    w.size = comm->size;
    w.post = calloc(size, sizeof *w.post);
    w.seen = calloc(size, sizeof *w.seen);
    w.past = calloc(size, sizeof *w.past);
    w.heard = calloc(size, sizeof *w.heard);
    if (!w.post || !w.seen || !w.past || !w.heard)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    w.board = mf_board_open(comm, leader, w.post);
    w.flight = mf_board_flight(w.board, w.size, w.rank);
    w.own = &w.board->record[w.rank];
    w.has_news = w.post[w.rank].head == w.rank && !is_one_board();
    w.last = mf_now();
    w.ready = w.hearing = 0;
    w.stop = w.depth = 0;
    w.number = 0;
    atomic_store(&w.seconds, STANDARD);
    failed = start_thread();
    if (failed) mf_die(MF_DEVICE, __FILE__, __LINE__, "no thread for the watch: %s", strerror(failed));
}

void mf_watch_close(void)
{
    if (!w.board) return;
    atomic_store(&w.own->place, MF_PLACE_GONE);
    pthread_mutex_lock(&w.lock);
    w.stop = 1;
    pthread_cond_signal(&w.wake);
    pthread_mutex_unlock(&w.lock);
    pthread_join(w.thread, NULL);
    pthread_cond_destroy(&w.wake);
    pthread_mutex_destroy(&w.lock);
    mf_heartbeat_close();
    mf_board_close(w.board, w.size);
    w.board = NULL;
    w.own = NULL;
    w.flight = NULL;
    free(w.post);
    free(w.seen);
    free(w.past);
    free(w.heard);
}
