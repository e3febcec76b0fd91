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
#include "src/recon/spread.h"

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
    struct mf_ahead ahead;   /* of one chain on several ranks */
    struct mf_spread spread; /* of several chains on several ranks */
    int counted;             /* the tally is that of the labels */
    uint8_t *label, *fixed;  /* this rank's planes of polish->label and polish->fixed, as the host sees them */
    uint8_t *plane;          /* [ny][nx]: of another rank's; NULL: there is none */
    uint8_t *picked;         /* [ny][nx] at most: of a plane of fixed what a pool has of it; NULL: nothing is fixed */
    int64_t *packed;         /* [pools][width_of()]: what every chain has done; NULL: nobody is told */
    long quota;              /* steps of a chain in a turn */
    double loss;
    long steps, accepted, rejected; /* rejected: in a row */
};

/* -- memory -- */

/* A chain's numbers, as ranks add them up: struct mf_chain_turn, and so many of its moves at a time. */
enum { CHANGE, STEPS, REJECTED, ACCEPTED, MOVES, PIECE = 1024 };

static size_t piece_of(const struct anneal *a) { return a->quota < PIECE ? (size_t)a->quota : PIECE; }
static size_t width_of(const struct anneal *a) { return MOVES + 2 * piece_of(a); }

static size_t plane_of(const struct anneal *a) { return a->field.dims[1] * a->field.dims[2]; }
static int is_alone(const struct anneal *a) { return a->polish->comm->size == 1; }

/* No rank has the whole field. */
static int is_spread(const struct anneal *a) { return !is_alone(a) && a->deal.pools > 1; }

/* Chain i is rank i's, chain i + ranks too, ... */
static int is_own(const struct anneal *a, size_t i)
{
    return i % (size_t)a->polish->comm->size == (size_t)a->polish->comm->rank;
}

/* One chain is everybody's, so that all may look at its steps. */
static int is_here(const struct anneal *a, size_t i) { return !is_spread(a) || is_own(a, i); }

static int take_spread(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    const struct mf_swap_side *side = &a->work.swap.side[MF_Z];
    const struct mf_spread_parts with = {
        .comm = p->comm,
        .arena = p->queue->host,
        .slab = p->slab,
        .deal = &a->deal,
        .field = &a->field,
        .chain = a->chain,
        .swap = side->s2_weight > 0 || side->v_weight > 0 ? &a->work.swap : NULL,
        .tally = a->tally.arena ? &a->tally : NULL,
        .fields = p->fields,
        .threads = p->queue->threads,
        .label = a->label,
        .fixed = a->fixed,
    };

    return mf_spread_open(&a->spread, &with);
}

static int take_chains(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const struct mf_chain_shared shared = {
        a->opts, arena, &a->field, &a->deal, &a->work.swap, a->tally.arena ? &a->tally : NULL, a->seed, !is_alone(a),
    };

    for (size_t i = 0; i < a->deal.pools; ++i) {
        if (is_here(a, i)) MF_TRY(mf_chain_open(&a->chain[i], &shared, i, a->quota));
        a->chain[i].pool.pins = p->fixed != NULL;
    }
    if (is_alone(a)) return MF_OK;
    if (is_spread(a)) MF_TRY(take_spread(a));
    if (!is_spread(a)) MF_TRY(mf_ahead_open(&a->ahead, p->comm, arena));
    a->packed = mf_arena_take(arena, a->deal.pools * width_of(a) * sizeof *a->packed, "annealing");
    return a->packed ? MF_OK : MF_MEMORY;
}

static long quota_of(const struct anneal *a)
{
    const long room = (long)mf_pool_room(&a->deal);

    if (a->deal.pools > 1) return room / VOXELS_PER_STEP;
    return room < TURN_LEAST ? TURN_LEAST : room > ROUND ? ROUND : room;
}

/* The host's sight of what stands on the device, and room for planes of others. */
static int take_planes(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const size_t own = mf_slab_voxels(&p->slab);

    a->label = mf_mirror_take(p->queue, p->label, own, "labels");
    if (!a->label) return MF_MEMORY;
    if (!is_alone(a) && !is_spread(a)) {
        a->plane = mf_arena_take(arena, plane_of(a), "annealing");
        if (!a->plane) return MF_MEMORY;
    }
    if (!p->fixed) return MF_OK;
    a->fixed = mf_mirror_take(p->queue, (uint8_t *)p->fixed, own, "fixed voxels");
    a->picked = mf_arena_take(arena, plane_of(a), "fixed voxels");
    return a->fixed && a->picked ? MF_OK : MF_MEMORY;
}

static int take_field(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    size_t slices[MF_SIDES];

    MF_TRY(mf_deal_open(&a->deal, arena, p->slab.dims));
    a->quota = quota_of(a);
    for (size_t d = 0; d < MF_SIDES; ++d) slices[d] = mf_spread_slices_of(p->comm, &a->deal, d, p->comm->rank);
    MF_TRY(mf_mutable_open(&a->field, arena, p->slab.dims, p->phases, p->objective->periodic, p->target->lag,
                           is_spread(a) ? slices : NULL));
    MF_TRY(take_planes(a));
    if (mf_tally_wanted(p->objective, p->slab.dims[0] > 1)) MF_TRY(mf_tally_open(&a->tally, p, &a->field));
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
    if (a->spread.with.arena) mf_spread_close(&a->spread);
    for (size_t i = MF_POOLS_MAX; i-- > 0;)
        if (a->chain[i].arena) mf_chain_close(&a->chain[i]);
    if (a->tally.arena) mf_tally_close(&a->tally);
    mf_arena_give(arena, a->picked);
    mf_mirror_give(a->polish->queue, a->polish->fixed, a->fixed);
    mf_arena_give(arena, a->plane);
    mf_mirror_give(a->polish->queue, a->polish->label, a->label);
    if (a->field.arena) mf_mutable_close(&a->field);
    if (a->deal.arena) mf_deal_close(&a->deal);
    mf_polish_close(&a->work);
}

/* -- a turn -- */

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
}

static void unpack(struct mf_chain *c, const int64_t *from)
{
    memcpy(&c->turn.change, from + CHANGE, sizeof *from);
    c->turn.steps = from[STEPS];
    c->turn.rejected = from[REJECTED];
    c->turn.accepted = (size_t)from[ACCEPTED];
}

/* How many moves of a chain behind the first @p first travel. */
static size_t moves_of(const struct anneal *a, const struct mf_chain *c, size_t first)
{
    const size_t left = c->turn.accepted > first ? c->turn.accepted - first : 0;

    return left < piece_of(a) ? left : piece_of(a);
}

/* Moves of a chain have come. */
static void take_moves(struct anneal *a, size_t i, size_t first, const int64_t *from)
{
    const size_t moves = moves_of(a, &a->chain[i], first);

    if (is_spread(a))
        mf_spread_moved(&a->spread, i, moves, from);
    else
        memcpy(a->chain[i].move + first, from, moves * sizeof *a->chain->move);
}

/* Every rank learns what the others' chains have done, a piece of all chains' moves from @p first on, in a reduction:
 * what is another rank's is 0. Returns the most moves of a chain. Collective. */
static size_t exchange_piece(struct anneal *a, size_t first)
{
    const size_t width = width_of(a), pools = a->deal.pools;
    size_t most = 0;

    _Static_assert(sizeof a->chain->move[0] == 2 * sizeof *a->packed && sizeof(double) == sizeof *a->packed, "a move");
    memset(a->packed, 0, pools * width * sizeof *a->packed);
    for (size_t i = 0; i < pools; ++i) {
        const struct mf_chain *c = &a->chain[i];

        if (!is_own(a, i)) continue;
        pack(c, a->packed + i * width);
        memcpy(a->packed + i * width + MOVES, c->move + first, moves_of(a, c, first) * sizeof *c->move);
    }
    mf_comm_sum_int(a->polish->comm, pools * width, a->packed);
    for (size_t i = 0; i < pools; ++i) {
        unpack(&a->chain[i], a->packed + i * width);
        take_moves(a, i, first, a->packed + i * width + MOVES);
        if (a->chain[i].turn.accepted > most) most = a->chain[i].turn.accepted;
    }
    return most;
}

static void exchange(struct anneal *a)
{
    size_t first = 0;

    if (is_alone(a)) return;
    do {
        const size_t most = exchange_piece(a, first);

        first = first + piece_of(a) < most ? first + piece_of(a) : 0;
    } while (first > 0);
    if (!is_spread(a)) repeat_others(a);
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

/* The counts of the labels: from now on they follow every swap, and rounding has no part in them. */
static void count(struct anneal *a)
{
    size_t m[MF_SIDES];

    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) m[d] = mf_objective_entries(a->work.objective, d);
    mf_tally_aim(&a->tally, a->polish, m);
    mf_tally_count(&a->tally, a->polish->queue->threads);
    if (is_spread(a)) mf_spread_own(&a->spread, MF_SPREAD_COUNTS);
    a->counted = 1;
}

/* What stays of the pools of a rank by itself. */
static void pin(struct anneal *a)
{
    for (size_t i = 0; i < a->deal.pools; ++i) {
        const struct mf_span span = a->deal.span[0][i];

        for (size_t k = span.first; k < span.first + span.count; ++k) {
            const size_t z = a->deal.index[0][k];

            mf_deal_pick(&a->deal, i, a->fixed + z * plane_of(a), a->picked);
            mf_pool_pin(&a->chain[i].pool, z, a->picked);
        }
    }
}

/* What this turn's pools work with. Collective. */
static void bring_slices(struct anneal *a)
{
    if (is_spread(a)) mf_spread_labels(&a->spread);
    if (a->fixed && is_alone(a)) pin(a);
    if (a->tally.arena && !a->counted) count(a);
    if (is_spread(a)) mf_spread_slices(&a->spread);
}

static void make_turn(struct anneal *a)
{
    const struct mf_chain_turn last = a->chain->turn;

    mf_deal_shuffle(&a->deal, a->seed, (uint64_t)a->steps);
    bring_slices(a);
    for (size_t i = 0; i < a->deal.pools; ++i)
        if (is_here(a, i)) mf_chain_begin(&a->chain[i], a->steps, a->loss, a->rejected);
    if (a->ahead.arena) mf_ahead_choose(&a->ahead, last.steps, last.accepted);
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

/* Plane @p z of this rank's @p own, or of another's: NULL where it stays with that. Collective. */
static const uint8_t *bring_plane(struct anneal *a, uint8_t *own, size_t z)
{
    const struct mf_comm *comm = a->polish->comm;
    const struct mf_slab *slab = &a->polish->slab;
    uint8_t *plane =
        z >= slab->first && z < slab->first + slab->count ? own + (z - slab->first) * plane_of(a) : a->plane;
    struct mf_slab of = {.count = 0};
    int r = -1;

    if (is_alone(a)) return plane;
    while (z >= of.first + of.count) of = mf_slab_of(comm, slab->dims, ++r);
    mf_comm_bcast(comm, r, plane, plane_of(a));
    return plane;
}

/* Of a field that every rank has: what stands in it, and what of its one pool stays. Collective. */
static void bring_field(struct anneal *a)
{
    for (size_t z = 0; z < a->field.dims[0]; ++z) {
        mf_mutable_put(&a->field, z, bring_plane(a, a->label, z));
        if (!a->fixed || is_alone(a)) continue;
        mf_deal_pick(&a->deal, 0, bring_plane(a, a->fixed, z), a->picked);
        mf_pool_pin(&a->chain->pool, z, a->picked);
    }
}

/* Labels as the device has them. Collective. */
static void bring_labels(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    const size_t own = mf_slab_voxels(&p->slab);

    mf_mirror_get(p->queue, a->label, p->label, own);
    if (a->fixed) mf_mirror_get(p->queue, a->fixed, p->fixed, own);
    if (is_spread(a)) mf_spread_begin(&a->spread);
    if (is_spread(a)) return;
    mf_mutable_begin(&a->field);
    mf_deal_shuffle(&a->deal, a->seed, 0); /* of one pool for good */
    bring_field(a);
}

static void begin_round(struct anneal *a)
{
    mf_polish_set_miss(&a->work, NULL);
    mf_polish_refresh(&a->work);
    a->loss = a->work.loss;
    if (is_spread(a)) mf_spread_known(&a->spread, MF_SPREAD_WINDOWS);
}

static void end_round(struct anneal *a)
{
    struct mf_polish *p = a->polish;

    for (size_t k = 0; k < p->slab.count && !is_spread(a); ++k)
        mf_mutable_get(&a->field, p->slab.first + k, a->label + k * plane_of(a));
    mf_mirror_put(p->queue, p->label, a->label, mf_slab_voxels(&p->slab));
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
