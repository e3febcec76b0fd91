/* See anneal.h. A round begins from labels and numbers alone: residuals are made anew, so that a run which goes on from
 * a checkpoint does the same steps, and rounding does not add up. A round is made of turns: the voxels are dealt out to
 * pools that share no slice (pool.h), a chain makes its steps in each (chain.h), chains are dealt to ranks and threads,
 * and slices go to whose chains work on them (spread.h); one chain is everybody's: ranks look at its steps together
 * (ahead.h), or repeat what the first has swapped. How many pools there are the extents say, so nothing depends on who
 * runs which. */
#include "src/recon/anneal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/recon/anneal_impl.h"

/* -- a turn -- */

static int workers(const struct mf_anneal *a)
{
    const int threads = a->polish->queue->threads, most = (int)a->deal.pools;

    return threads < most ? threads : most;
}

static void run_own(struct mf_anneal *a)
{
    const int most = (int)a->deal.pools;
    const double start = mf_now();

#pragma omp parallel for num_threads(workers(a)) schedule(dynamic, 1)
    for (int i = 0; i < most; ++i)
        if (mf_anneal_own(a, (size_t)i)) mf_chain_run(&a->chain[i], a->quota);
    if (a->chain->turn.steps > 0) a->ahead.step = (mf_now() - start) / (double)a->chain->turn.steps;
}

static void pack(const struct mf_chain *c, int64_t *to)
{
    memcpy(to + MF_TOLD_CHANGE, &c->turn.change, sizeof *to);
    to[MF_TOLD_STEPS] = c->turn.steps;
    to[MF_TOLD_REJECTED] = c->turn.rejected;
    to[MF_TOLD_ACCEPTED] = (int64_t)c->turn.accepted;
}

static void unpack(struct mf_chain *c, const int64_t *from)
{
    memcpy(&c->turn.change, from + MF_TOLD_CHANGE, sizeof *from);
    c->turn.steps = from[MF_TOLD_STEPS];
    c->turn.rejected = from[MF_TOLD_REJECTED];
    c->turn.accepted = (size_t)from[MF_TOLD_ACCEPTED];
}

/* How many moves of a chain behind the first @p first travel. */
static size_t moves_of(const struct mf_anneal *a, const struct mf_chain *c, size_t first)
{
    const size_t left = c->turn.accepted > first ? c->turn.accepted - first : 0;

    return left < mf_anneal_piece(a) ? left : mf_anneal_piece(a);
}

/* Moves of a chain have come. */
static void take_moves(struct mf_anneal *a, size_t i, size_t first, const int64_t *from)
{
    const size_t moves = moves_of(a, &a->chain[i], first);

    if (mf_anneal_spread(a))
        mf_spread_moved(&a->spread, i, moves, from);
    else
        memcpy(a->chain[i].move + first, from, moves * sizeof *a->chain->move);
}

/* Every rank learns what the others' chains have done, a piece of all chains' moves from @p first on, in a reduction:
 * what is another rank's is 0. Returns the most moves of a chain. Collective. */
static size_t exchange_piece(struct mf_anneal *a, size_t first)
{
    const size_t width = mf_anneal_width(a), pools = a->deal.pools;
    size_t most = 0;

    _Static_assert(sizeof a->chain->move[0] == 2 * sizeof *a->packed && sizeof(double) == sizeof *a->packed, "a move");
    memset(a->packed, 0, pools * width * sizeof *a->packed);
    for (size_t i = 0; i < pools; ++i) {
        const struct mf_chain *c = &a->chain[i];

        if (!mf_anneal_own(a, i)) continue;
        pack(c, a->packed + i * width);
        memcpy(a->packed + i * width + MF_TOLD_MOVES, c->move + first, moves_of(a, c, first) * sizeof *c->move);
    }
    mf_comm_sum_int(a->polish->comm, pools * width, a->packed);
    for (size_t i = 0; i < pools; ++i) {
        unpack(&a->chain[i], a->packed + i * width);
        take_moves(a, i, first, a->packed + i * width + MF_TOLD_MOVES);
        if (a->chain[i].turn.accepted > most) most = a->chain[i].turn.accepted;
    }
    return most;
}

static void exchange(struct mf_anneal *a)
{
    size_t first = 0;

    if (mf_anneal_alone(a)) return;
    do {
        const size_t most = exchange_piece(a, first);

        first = first + mf_anneal_piece(a) < most ? first + mf_anneal_piece(a) : 0;
    } while (first > 0);
    if (!mf_anneal_spread(a) && !mf_anneal_own(a, 0)) mf_chain_repeat(a->chain);
}

/* In the order of the chains, which is everybody's. A chain that ended early lets its steps pass. */
static void fold(struct mf_anneal *a)
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
static void count(struct mf_anneal *a)
{
    size_t m[MF_SIDES];

    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) m[d] = mf_objective_entries(a->work.objective, d);
    mf_tally_aim(&a->tally, a->polish, m);
    mf_tally_count(&a->tally, a->polish->queue->threads);
    if (mf_anneal_spread(a)) mf_spread_own(&a->spread, MF_SPREAD_COUNTS);
    a->counted = 1;
}

/* What stays of the pools of a rank by itself. */
static void pin(struct mf_anneal *a)
{
    for (size_t i = 0; i < a->deal.pools; ++i) {
        const struct mf_span span = a->deal.span[0][i];

        for (size_t k = span.first; k < span.first + span.count; ++k) {
            const size_t z = a->deal.index[0][k];

            mf_deal_pick(&a->deal, i, a->fixed + z * mf_anneal_plane(a), a->picked);
            mf_pool_pin(&a->chain[i].pool, z, a->picked);
        }
    }
}

/* What this turn's pools work with. Collective. */
static void bring_slices(struct mf_anneal *a)
{
    if (mf_anneal_spread(a)) mf_spread_labels(&a->spread);
    if (a->fixed && mf_anneal_alone(a)) pin(a);
    if (a->tally.arena && !a->counted) count(a);
    if (mf_anneal_spread(a)) mf_spread_slices(&a->spread);
}

static void make_turn(struct mf_anneal *a)
{
    const struct mf_chain_turn last = a->chain->turn;

    mf_deal_shuffle(&a->deal, a->seed, (uint64_t)a->steps);
    bring_slices(a);
    for (size_t i = 0; i < a->deal.pools; ++i)
        if (mf_anneal_here(a, i)) mf_chain_begin(&a->chain[i], a->steps, a->loss, a->rejected);
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
static const char *ended(const struct mf_anneal *a)
{
    return mf_chain_ended(a->opts, a->steps, a->loss, a->rejected >= a->opts->patience,
                          mf_chain_temperature(a->opts, a->steps));
}

/* Plane @p z of this rank's @p own, or of another's: NULL where it stays with that. Collective. */
static const uint8_t *bring_plane(struct mf_anneal *a, uint8_t *own, size_t z)
{
    const struct mf_comm *comm = a->polish->comm;
    const struct mf_slab *slab = &a->polish->slab;
    uint8_t *plane =
        z >= slab->first && z < slab->first + slab->count ? own + (z - slab->first) * mf_anneal_plane(a) : a->plane;
    struct mf_slab of = {.count = 0};
    int r = -1;

    if (mf_anneal_alone(a)) return plane;
    while (z >= of.first + of.count) of = mf_slab_of(comm, slab->dims, ++r);
    mf_comm_bcast(comm, r, plane, mf_anneal_plane(a));
    return plane;
}

/* Of a field that every rank has: what stands in it, and what of its one pool stays. Collective. */
static void bring_field(struct mf_anneal *a)
{
    for (size_t z = 0; z < a->field.dims[0]; ++z) {
        mf_mutable_put(&a->field, z, bring_plane(a, a->label, z));
        if (!a->fixed || mf_anneal_alone(a)) continue;
        mf_deal_pick(&a->deal, 0, bring_plane(a, a->fixed, z), a->picked);
        mf_pool_pin(&a->chain->pool, z, a->picked);
    }
}

/* Labels as the device has them. Collective. */
static void bring_labels(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;
    const size_t own = mf_slab_voxels(&p->slab);

    mf_mirror_get(p->queue, a->label, p->label, own);
    if (a->fixed) mf_mirror_get(p->queue, a->fixed, p->fixed, own);
    if (mf_anneal_spread(a)) mf_spread_begin(&a->spread);
    if (mf_anneal_spread(a)) return;
    mf_mutable_begin(&a->field);
    mf_deal_shuffle(&a->deal, a->seed, 0); /* of one pool for good */
    bring_field(a);
}

static void begin_round(struct mf_anneal *a)
{
    mf_polish_set_miss(&a->work, NULL);
    mf_polish_refresh(&a->work);
    a->loss = a->work.loss;
    if (mf_anneal_spread(a)) mf_spread_known(&a->spread, MF_SPREAD_WINDOWS);
}

static void end_round(struct mf_anneal *a)
{
    struct mf_polish *p = a->polish;

    for (size_t k = 0; k < p->slab.count && !mf_anneal_spread(a); ++k)
        mf_mutable_get(&a->field, p->slab.first + k, a->label + k * mf_anneal_plane(a));
    mf_mirror_put(p->queue, p->label, a->label, mf_slab_voxels(&p->slab));
    p->tried = a->steps;
    p->swaps = a->accepted;
}

static void make_steps(struct mf_anneal *a)
{
    const long most = a->field.voxels > MF_ANNEAL_ROUND ? (long)a->field.voxels : MF_ANNEAL_ROUND, begin = a->steps;
    const double start = mf_now();
    MF_PHASE(MF_PHASE_SWAPS);

    while (a->steps - begin < most && !ended(a)) make_turn(a);
    a->polish->trial_seconds += mf_now() - start;
}

static void say(const struct mf_anneal *a)
{
    char text[80];

    snprintf(text, sizeof text, "%ld swap%s, loss %.4e", a->accepted, MF_S(a->accepted), a->loss);
    mf_progress("annealing", a->steps, a->opts->steps, text);
}

/* The round is over: true when the run is to leave. */
static int wants_to_end(struct mf_anneal *a, struct mf_polish_state *at)
{
    struct mf_polish *p = a->polish;

    ++at->round;
    at->idle = a->rejected;
    at->tried = a->steps;
    at->swaps = a->accepted;
    at->loss = a->loss;
    return p->after_round && p->after_round(p->context, at);
}

static void run_rounds(struct mf_anneal *a)
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
    struct mf_anneal a = {.opts = opts, .polish = polish, .seed = seed};
    int rc;

    polish->tried = polish->swaps = 0;
    polish->trial_seconds = 0;
    rc = mf_anneal_open(&a);
    if (rc == MF_OK) run_rounds(&a);
    mf_anneal_close(&a);
    return rc;
}

int mf_anneal_measure(struct mf_polish *polish)
{
    struct mf_anneal a = {.polish = polish};
    int rc = mf_anneal_open(&a);

    mf_anneal_close(&a);
    return rc;
}
