/* Simulated annealing (anneal.h). A run consists of rounds, a round of turns. A round recomputes all residuals from the
 * labels, so a restart repeats it exactly and rounding errors do not add up. A turn divides the voxels into sublattices
 * that share no slice (sublattice.h); every sublattice has one Markov chain (chain.h). Chains are distributed over
 * ranks and threads. Every rank holds all labels and repeats the swaps of the other ranks' chains. The extents alone
 * set the number of sublattices: the result depends on neither ranks nor threads. */
#include "src/recon/anneal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/chain.h"
#include "src/recon/phases.h"
#include "src/recon/polish_impl.h"

/* Least steps of a round; least steps of a turn of a single chain. With several sublattices a chain makes one step for
 * every 16 voxels before the next partition. The loss then falls as fast as with one chain over all voxels. */
enum { ROUND = 65536, TURN_LEAST = 8192, VOXELS_PER_STEP = 16 };

struct anneal {
    const struct mf_anneal_opts *opts;
    struct mf_polish *polish;
    uint64_t seed;
    struct mf_polish_work work;
    struct mf_mutable field;
    struct mf_tally tally;
    struct mf_partition partition;
    struct mf_chain chain[MF_SUBLATTICES_MAX];
    uint8_t *label, *fixed; /* host mirrors of this rank's planes of polish->label and polish->fixed */
    uint8_t *plane;         /* [ny][nx]: a plane of another rank */
    uint8_t *all_fixed;     /* [voxels]: polish->fixed of all ranks; NULL: nothing is fixed */
    int64_t *packed;        /* [sublattices][width_of()]: message about what every chain did; NULL on one rank */
    long quota;             /* steps of a chain in a turn */
    double loss;
    long steps, accepted, rejected; /* rejected: in a row */
};

/* A chain's part of the message: struct mf_chain_turn, then its swaps. */
enum { TOLD_CHANGE, TOLD_STEPS, TOLD_REJECTED, TOLD_ACCEPTED, TOLD_MOVES };

static size_t width_of(const struct anneal *a) { return TOLD_MOVES + 2 * (size_t)a->quota; }
static size_t plane_of(const struct anneal *a) { return a->field.dims[1] * a->field.dims[2]; }
static int is_alone(const struct anneal *a) { return a->polish->comm->size == 1; }

/* -- memory -- */

static int take_chains(struct anneal *a)
{
    struct mf_arena *arena = a->polish->queue->host;
    const struct mf_chain_shared shared = {
        a->opts, arena,        &a->field, &a->partition, &a->work.swap, a->tally.arena ? &a->tally : NULL,
        a->seed, !is_alone(a),
    };

    for (size_t i = 0; i < a->partition.count; ++i) {
        MF_TRY(mf_chain_open(&a->chain[i], &shared, i, a->quota));
        a->chain[i].sublattice.fixed = a->all_fixed;
    }
    if (is_alone(a)) return MF_OK;
    a->packed = mf_arena_take(arena, a->partition.count * width_of(a) * sizeof *a->packed, "annealing");
    return a->packed ? MF_OK : MF_MEMORY;
}

static long quota_of(const struct anneal *a)
{
    const long room = (long)mf_sublattice_room(&a->partition);

    if (a->partition.count > 1) return room / VOXELS_PER_STEP;
    return room < TURN_LEAST ? TURN_LEAST : room > ROUND ? ROUND : room;
}

static int take_planes(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;
    const size_t own = mf_slab_voxels(&p->slab);

    a->label = mf_mirror_take(p->queue, p->label, own, "labels");
    a->plane = mf_arena_take(arena, plane_of(a), "annealing");
    if (!a->label || !a->plane) return MF_MEMORY;
    if (!p->fixed) return MF_OK;
    a->fixed = mf_mirror_take(p->queue, (uint8_t *)p->fixed, own, "fixed voxels");
    a->all_fixed = mf_arena_take(arena, a->field.voxels, "fixed voxels");
    return a->fixed && a->all_fixed ? MF_OK : MF_MEMORY;
}

static int take_field(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;

    MF_TRY(mf_partition_open(&a->partition, arena, p->slab.dims));
    a->quota = quota_of(a);
    MF_TRY(mf_mutable_open(&a->field, arena, p->slab.dims, p->phases, p->objective->periodic, p->target->lag));
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
    struct mf_polish *p = a->polish;
    struct mf_arena *arena = p->queue->host;

    mf_arena_give(arena, a->packed);
    for (size_t i = MF_SUBLATTICES_MAX; i-- > 0;)
        if (a->chain[i].arena) mf_chain_close(&a->chain[i]);
    if (a->tally.arena) mf_tally_close(&a->tally);
    mf_arena_give(arena, a->all_fixed);
    mf_mirror_give(p->queue, p->fixed, a->fixed);
    mf_arena_give(arena, a->plane);
    mf_mirror_give(p->queue, p->label, a->label);
    if (a->field.arena) mf_mutable_close(&a->field);
    if (a->partition.arena) mf_partition_close(&a->partition);
    mf_polish_close(&a->work);
}

/* -- a turn -- */

/* Chain i belongs to rank i modulo the number of ranks. */
static int is_own(const struct anneal *a, size_t i)
{
    return i % (size_t)a->polish->comm->size == (size_t)a->polish->comm->rank;
}

/* Runs this rank's chains, or repeats those of the others. */
static void run_chains(struct anneal *a, int own)
{
    /* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the pragma reads threads */
    const int sublattices = (int)a->partition.count, threads = a->polish->queue->threads;

#pragma omp parallel for num_threads(threads < sublattices ? threads : sublattices) schedule(dynamic, 1)
    for (int i = 0; i < sublattices; ++i) {
        if (is_own(a, (size_t)i) != own) continue;
        if (own)
            mf_chain_run(&a->chain[i], a->quota);
        else
            mf_chain_repeat(&a->chain[i]);
    }
}

static void pack(const struct mf_chain *c, int64_t *to)
{
    memcpy(to + TOLD_CHANGE, &c->turn.change, sizeof *to);
    to[TOLD_STEPS] = c->turn.steps;
    to[TOLD_REJECTED] = c->turn.rejected;
    to[TOLD_ACCEPTED] = (int64_t)c->turn.accepted;
    memcpy(to + TOLD_MOVES, c->move, c->turn.accepted * sizeof *c->move);
}

static void unpack(struct mf_chain *c, const int64_t *from)
{
    memcpy(&c->turn.change, from + TOLD_CHANGE, sizeof *from);
    c->turn.steps = (long)from[TOLD_STEPS];
    c->turn.rejected = (long)from[TOLD_REJECTED];
    c->turn.accepted = (size_t)from[TOLD_ACCEPTED];
    memcpy(c->move, from + TOLD_MOVES, c->turn.accepted * sizeof *c->move);
}

/* Every rank gets the swaps of all chains and repeats those of the others. Collective. */
static void exchange(struct anneal *a)
{
    const size_t width = width_of(a), sublattices = a->partition.count;

    _Static_assert(sizeof a->chain->move[0] == 2 * sizeof *a->packed && sizeof(double) == sizeof *a->packed, "a move");
    if (is_alone(a)) return;
    memset(a->packed, 0, sublattices * width * sizeof *a->packed);
    for (size_t i = 0; i < sublattices; ++i)
        if (is_own(a, i)) pack(&a->chain[i], a->packed + i * width);
    mf_comm_sum_int(a->polish->comm, sublattices * width, a->packed);
    for (size_t i = 0; i < sublattices; ++i) unpack(&a->chain[i], a->packed + i * width);
    run_chains(a, 0);
}

/* Adds the chains up in their order, which is the same on every rank. A chain that ended early skips its steps. */
static void fold(struct anneal *a)
{
    const long sublattices = (long)a->partition.count;
    long steps = 0, rejected = a->chain->turn.rejected;

    for (size_t i = 0; i < a->partition.count; ++i) {
        const struct mf_chain_turn *turn = &a->chain[i].turn;

        a->loss += turn->change;
        a->accepted += (long)turn->accepted;
        if (turn->steps > steps) steps = turn->steps;
        if (turn->rejected < rejected) rejected = turn->rejected;
    }
    a->rejected = rejected * sublattices;
    a->steps += steps * sublattices;
    if (a->steps > a->opts->steps) a->steps = a->opts->steps;
}

static void make_turn(struct anneal *a)
{
    mf_partition_shuffle(&a->partition, a->seed, (uint64_t)a->steps);
    for (size_t i = 0; i < a->partition.count; ++i) mf_chain_begin(&a->chain[i], a->steps, a->loss, a->rejected);
    run_chains(a, 1);
    exchange(a);
    fold(a);
}

/* -- rounds -- */

/* Why the run has ended; NULL: it has not. */
static const char *ended(const struct anneal *a)
{
    return mf_chain_ended(a->opts, a->steps, a->loss, a->rejected >= a->opts->patience,
                          mf_chain_temperature(a->opts, a->steps));
}

/* Plane @p z on every rank, where every rank has its own planes in @p own. Collective. */
static const uint8_t *bring_plane(struct anneal *a, uint8_t *own, size_t z)
{
    const struct mf_slab *slab = &a->polish->slab;
    const int is_here = z >= slab->first && z < slab->first + slab->count;
    uint8_t *plane = is_here ? own + (z - slab->first) * plane_of(a) : a->plane;

    if (!is_alone(a)) mf_comm_bcast(a->polish->comm, mf_slab_owner(a->polish->comm, slab->dims, z), plane, plane_of(a));
    return plane;
}

/* All labels and fixed voxels, from the devices of all ranks. Collective. */
static void bring_labels(struct anneal *a)
{
    struct mf_polish *p = a->polish;
    const size_t own = mf_slab_voxels(&p->slab);

    mf_mirror_get(p->queue, a->label, p->label, own);
    if (a->fixed) mf_mirror_get(p->queue, a->fixed, p->fixed, own);
    mf_mutable_begin(&a->field);
    for (size_t z = 0; z < a->field.dims[0]; ++z) {
        mf_mutable_put(&a->field, z, bring_plane(a, a->label, z));
        if (a->fixed) memcpy(a->all_fixed + z * plane_of(a), bring_plane(a, a->fixed, z), plane_of(a));
    }
}

/* Counts the labels. From then on the counts follow every swap exactly. */
static void count(struct anneal *a)
{
    size_t m[MF_SIDES];

    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) m[d] = mf_objective_entries(a->work.objective, d);
    mf_tally_aim(&a->tally, a->polish, m);
    mf_tally_count(&a->tally, a->polish->queue->threads);
}

static void begin_round(struct anneal *a)
{
    mf_polish_set_mean_error(&a->work, NULL);
    mf_polish_refresh(&a->work);
    a->loss = a->work.loss;
}

static void end_round(struct anneal *a)
{
    struct mf_polish *p = a->polish;

    for (size_t k = 0; k < p->slab.count; ++k) mf_mutable_get(&a->field, p->slab.first + k, a->label + k * plane_of(a));
    mf_mirror_put(p->queue, p->label, a->label, mf_slab_voxels(&p->slab));
    p->tried = a->steps;
    p->swaps = a->accepted;
}

static int is_asked(const struct anneal *a)
{
    return a->polish->asked && a->polish->asked(a->polish->context) != MF_OK;
}

static void make_steps(struct anneal *a)
{
    const long most = a->field.voxels > ROUND ? (long)a->field.voxels : ROUND, begin = a->steps;
    const double start = mf_now();
    MF_PHASE(&mf_phase_swaps);

    while (a->steps - begin < most && !ended(a) && !is_asked(a)) make_turn(a);
    a->polish->trial_seconds += mf_now() - start;
}

static void say(const struct anneal *a)
{
    char text[80];

    snprintf(text, sizeof text, "%ld swap%s, loss %.4e", a->accepted, MF_S(a->accepted), a->loss);
    mf_progress("annealing", a->steps, a->opts->steps, text);
}

/* After a round: true when the caller ends the run. */
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
    for (size_t d = 0; d < a->work.swap.sites.sides; ++d) at.mean_error[d] = a->work.applied[d];
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
