/* See anneal.h. A round begins from labels and numbers alone: residuals are made anew, so that a run which goes on from
 * a checkpoint does the same steps, and rounding does not add up. A round is made of turns: the voxels are dealt out to
 * pools that share no slice (pool.h), a chain makes its steps in each (chain.h), chains are spread over ranks and
 * threads, and every rank repeats the swaps of the others; one chain may be looked at by all of them (ahead.h). How
 * many pools there are the extents say, so nothing depends on who runs which. */
#include "src/recon/anneal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/recon/ahead.h"
#include "src/recon/polish_impl.h"

/* One chain has turns of as many steps as it has voxels, or of these. A chain leaves its pool before it has used up
 * what there is to be won in it: with a step for every 16 voxels the loss falls as in one chain over all of them. */
enum { ROUND = 65536, TURN_LEAST = 8192, VOXELS_PER_STEP = 16 };

struct anneal {
    const struct mf_anneal_opts *opts;
    struct mf_polish *polish;
    uint64_t seed;
    struct mf_polish_work work;
    struct mf_mutable field;
    struct mf_tally tally;
    struct mf_deal deal;
    struct mf_chain chain[MF_POOLS_MAX];
    struct mf_ahead ahead; /* of one chain on several ranks */
    uint8_t *fixed;        /* [voxels], as polish->fixed; NULL: nothing is */
    uint32_t *place;       /* of voxels in their pools */
    int64_t *packed;       /* [pools][width_of()]: what every chain has done */
    long quota;            /* steps of a chain in a turn */
    double loss;
    long steps, accepted, rejected; /* rejected: in a row */
};

/* -- memory -- */

/* A chain's numbers, as ranks add them up: struct mf_chain_turn, and its moves. */
enum { CHANGE, STEPS, REJECTED, ACCEPTED, MOVES };

static size_t width_of(const struct anneal *a) { return MOVES + (size_t)a->quota; }

static int take_chains(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const struct mf_chain_shared shared = {
        a->opts, arena, &a->field, &a->deal, &a->work.swap, a->tally.arena ? &a->tally : NULL, a->place, a->seed,
    };

    for (size_t i = 0; i < a->deal.pools; ++i) MF_TRY(mf_chain_open(&a->chain[i], &shared, i, a->quota));
    MF_TRY(mf_ahead_open(&a->ahead, p->comm, arena));
    a->packed = mf_arena_take(arena, a->deal.pools * width_of(a) * sizeof *a->packed, "annealing");
    return a->packed ? MF_OK : MF_MEMORY;
}

static long quota_of(const struct anneal *a)
{
    const long room = (long)mf_pool_room(&a->deal);

    if (a->deal.pools > 1) return room / VOXELS_PER_STEP;
    return room < TURN_LEAST ? TURN_LEAST : room > ROUND ? ROUND : room;
}

static int take_field(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;

    MF_TRY(mf_mutable_open(&a->field, arena, p->slab.dims, p->phases, p->objective->periodic, p->target->lag));
    if (p->fixed) {
        a->field.fixed = a->fixed = mf_arena_take(arena, a->field.voxels, "fixed voxels");
        if (!a->fixed) return MF_MEMORY;
    }
    if (mf_tally_wanted(p->objective, p->slab.dims[0] > 1)) MF_TRY(mf_tally_open(&a->tally, p, &a->field));
    MF_TRY(mf_deal_open(&a->deal, arena, p->slab.dims));
    a->quota = quota_of(a);
    a->place = mf_arena_take(arena, a->field.voxels * sizeof *a->place, "annealing");
    if (!a->place) return MF_MEMORY;
    return take_chains(a);
}

static int open_all(struct anneal *a)
{
    struct mf_polish *p = a->polish;

    p->plain = 1;
    p->most = 1;
    a->work.polish = p;
    MF_TRY(mf_polish_open(&a->work));
    return mf_agree(p->comm, take_field(a));
}

static void close_all(struct anneal *a)
{
    struct mf_arena *arena = a->polish->queue->host;

    mf_arena_give(arena, a->packed);
    if (a->ahead.arena) mf_ahead_close(&a->ahead);
    for (size_t i = MF_POOLS_MAX; i-- > 0;)
        if (a->chain[i].arena) mf_chain_close(&a->chain[i]);
    mf_arena_give(arena, a->place);
    if (a->deal.arena) mf_deal_close(&a->deal);
    if (a->tally.arena) mf_tally_close(&a->tally);
    mf_arena_give(arena, a->fixed);
    if (a->field.arena) mf_mutable_close(&a->field);
    mf_polish_close(&a->work);
}

/* -- a turn -- */

/* Chain i is rank i's, chain i + ranks too, ... */
static int is_own(const struct anneal *a, size_t i)
{
    return i % (size_t)a->polish->comm->size == (size_t)a->polish->comm->rank;
}

static int workers(const struct anneal *a)
{
    const int threads = a->polish->queue->threads, most = (int)a->deal.pools;

    return threads < most ? threads : most;
}

static void run_own(struct anneal *a)
{
    const int most = (int)a->deal.pools;
    const double start = mf_now();

#pragma omp parallel for num_threads(workers(a)) schedule(dynamic, 1)
    for (int i = 0; i < most; ++i)
        if (is_own(a, (size_t)i)) mf_chain_run(&a->chain[i], a->quota);
    if (a->chain->turn.steps > 0) a->ahead.step = (mf_now() - start) / (double)a->chain->turn.steps;
}

static void repeat_others(struct anneal *a)
{
    const int most = (int)a->deal.pools;

#pragma omp parallel for num_threads(workers(a)) schedule(dynamic, 1)
    for (int i = 0; i < most; ++i)
        if (!is_own(a, (size_t)i)) mf_chain_repeat(&a->chain[i]);
}

static void pack(const struct mf_chain *c, int64_t *to)
{
    memcpy(to + CHANGE, &c->turn.change, sizeof *to);
    to[STEPS] = c->turn.steps;
    to[REJECTED] = c->turn.rejected;
    to[ACCEPTED] = (int64_t)c->turn.accepted;
    memcpy(to + MOVES, c->move, c->turn.accepted * sizeof *c->move);
}

static void unpack(struct mf_chain *c, const int64_t *from)
{
    memcpy(&c->turn.change, from + CHANGE, sizeof *from);
    c->turn.steps = from[STEPS];
    c->turn.rejected = from[REJECTED];
    c->turn.accepted = (size_t)from[ACCEPTED];
    memcpy(c->move, from + MOVES, c->turn.accepted * sizeof *c->move);
}

/* Every rank learns what the others' chains have done, in one reduction: what is another rank's is 0. Collective. */
static void exchange(struct anneal *a)
{
    const size_t width = width_of(a), pools = a->deal.pools;

    _Static_assert(sizeof a->chain->move[0] == sizeof *a->packed && sizeof(double) == sizeof *a->packed, "a move each");
    if (a->polish->comm->size == 1) return;
    memset(a->packed, 0, pools * width * sizeof *a->packed);
    for (size_t i = 0; i < pools; ++i)
        if (is_own(a, i)) pack(&a->chain[i], a->packed + i * width);
    mf_comm_sum_int(a->polish->comm, pools * width, a->packed);
    for (size_t i = 0; i < pools; ++i) unpack(&a->chain[i], a->packed + i * width);
    repeat_others(a);
}

/* In the order of the chains, which is everybody's. A chain that ended early lets its steps pass. */
static void fold(struct anneal *a)
{
    const long pools = (long)a->deal.pools;
    long steps = 0, rejected = a->chain->turn.rejected;

    for (size_t i = 0; i < a->deal.pools; ++i) {
        const struct mf_chain_turn *turn = &a->chain[i].turn;

        a->loss += turn->change;
        a->accepted += (long)turn->accepted;
        if (turn->steps > steps) steps = turn->steps;
        if (turn->rejected < rejected) rejected = turn->rejected;
    }
    a->rejected = rejected * pools;
    a->steps += steps * pools;
    if (a->steps > a->opts->steps) a->steps = a->opts->steps;
}

static void make_turn(struct anneal *a)
{
    const struct mf_chain_turn last = a->chain->turn;

    mf_deal_shuffle(&a->deal, a->seed, (uint64_t)a->steps);
    for (size_t i = 0; i < a->deal.pools; ++i) mf_chain_begin(&a->chain[i], a->steps, a->loss, a->rejected);
    if (a->deal.pools == 1 && a->polish->comm->size > 1) mf_ahead_choose(&a->ahead, last.steps, last.accepted);
    if (a->ahead.each > 0) {
        mf_ahead_run(&a->ahead, a->chain, a->quota);
    } else {
        run_own(a);
        exchange(a);
    }
    fold(a);
}

/* -- rounds -- */

/* Why no further step is made; NULL: one is. */
static const char *ended(const struct anneal *a)
{
    return mf_chain_ended(a->opts, a->steps, a->loss, a->rejected >= a->opts->patience,
                          mf_chain_temperature(a->opts, a->steps));
}

/* A byte a voxel, of all ranks. */
static void bring(const struct mf_polish *p, const uint8_t *own, uint8_t *whole)
{
    const size_t plane = p->slab.dims[1] * p->slab.dims[2];

    p->backend->get(p->queue, whole + p->slab.first * plane, own, p->slab.count * plane);
    for (int r = 0; r < p->comm->size; ++r) {
        const struct mf_slab slab = mf_slab_of(p->comm, p->slab.dims, r);

        if (p->comm->size > 1) mf_comm_bcast(p->comm, r, whole + slab.first * plane, slab.count * plane);
    }
}

/* Labels of all ranks into a->field. */
static void bring_labels(struct anneal *a)
{
    bring(a->polish, a->polish->label, a->field.whole);
    if (a->fixed) bring(a->polish, a->polish->fixed, a->fixed);
    mf_mutable_begin(&a->field);
}

/* The counts of the labels: from now on they follow every swap, and rounding has no part in them. */
static void count(struct anneal *a)
{
    size_t m[MF_SIDES];

    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) m[d] = mf_objective_entries(a->work.objective, d);
    mf_tally_aim(&a->tally, a->polish, m);
    mf_tally_count(&a->tally, a->polish->queue->threads);
}

static void begin_round(struct anneal *a)
{
    mf_polish_set_miss(&a->work, NULL);
    mf_polish_refresh(&a->work);
    a->loss = a->work.loss;
}

static void end_round(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    const size_t plane = p->slab.dims[1] * p->slab.dims[2];

    mf_mutable_end(&a->field);
    p->backend->put(p->queue, p->label, a->field.whole + p->slab.first * plane, p->slab.count * plane);
    p->tried = a->steps;
    p->swaps = a->accepted;
}

static void make_steps(struct anneal *a)
{
    const long most = a->field.voxels > ROUND ? (long)a->field.voxels : ROUND, begin = a->steps;
    const double start = mf_now();
    MF_PHASE(MF_PHASE_SWAPS);

    while (a->steps - begin < most && !ended(a)) make_turn(a);
    a->polish->trial_seconds += mf_now() - start;
}

static void say(const struct anneal *a)
{
    char text[80];

    snprintf(text, sizeof text, "%ld swap%s, loss %.4e", a->accepted, MF_S(a->accepted), a->loss);
    mf_progress("annealing", a->steps, a->opts->steps, text);
}

/* The round is over: true when the run is to leave. */
static int wants_to_end(struct anneal *a, struct mf_polish_state *at)
{
    struct mf_polish *p = a->polish;

    ++at->round;
    at->idle = a->rejected;
    at->tried = a->steps;
    at->swaps = a->accepted;
    at->loss = a->loss;
    return p->after_round && p->after_round(p->context, at);
}

static void run_rounds(struct anneal *a)
{
    struct mf_polish_state at = {.round = 0};
    const size_t rows = a->field.shape.rows;

    if (a->polish->from) at = *a->polish->from;
    at.entries = a->polish->fields * rows * rows;
    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) at.miss[d] = a->work.led[d];
    a->steps = at.tried;
    a->accepted = at.swaps;
    a->rejected = at.idle;
    bring_labels(a);
    if (a->tally.arena) count(a);
    for (begin_round(a); !ended(a); begin_round(a)) {
        make_steps(a);
        end_round(a);
        say(a);
        if (wants_to_end(a, &at)) return;
    }
    end_round(a);
    mf_info("annealing: %s after %ld step%s, %.3g a second", ended(a), a->steps, MF_S(a->steps),
            (double)a->steps / fmax(a->polish->trial_seconds, 1e-9));
}

int mf_anneal_run(struct mf_polish *polish, const struct mf_anneal_opts *opts, uint64_t seed)
{
    struct anneal a = {.opts = opts, .polish = polish, .seed = seed};
    int rc;

    polish->tried = polish->swaps = 0;
    polish->trial_seconds = 0;
    rc = open_all(&a);
    if (rc == MF_OK) run_rounds(&a);
    close_all(&a);
    return rc;
}

int mf_anneal_measure(struct mf_polish *polish)
{
    struct anneal a = {.polish = polish};
    int rc = open_all(&a);

    close_all(&a);
    return rc;
}
