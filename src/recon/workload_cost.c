/* See workload.h: the cost of an evaluation. docs/PLANNER.md has the formulas and the sources of their constants. */
#include <math.h>

#include "kernels/dry.h"
#include "kernels/form/lineal.h"
#include "kernels/slices/gpu_cost.h"
#include "src/recon/search_cost.h"
#include "src/recon/workload.h"

/* Shares of the peak rate of 32-bit arithmetic. On cores transforms reach MF_CORE_SHARE, and lineal paths LINEAL. On
 * GPUs descriptors without a formula of their own reach GPU_SHARE. */
static const double LINEAL = 0.70, GPU_SHARE = 0.20;

/* Operations that a GPU needs for the distance of a pair of patches. Peak of a thread of the cores on which searches
 * were measured. */
static const double PAIR = 50, MEASURED = 51.2e9;

/* Share of a search in an image that all ranks of a team do alike. */
static const double ALIKE = 0.1;

/* How often ranks of a team wait for each other, for each level and field. */
enum { TURNS = 2 };

/* Shares of a GPU's nominal rates of memory and of instructions that kernels reach. Of memory an H200 reached 4.08 of
 * 4.8 TB/s. */
static const double GPU_MEMORY = 0.85, GPU_OPERATIONS = 0.95;

/* Operations of an evaluation that justify a thread; with fewer, its start takes longer than its work. Two threads are
 * as fast as one at 8e6 (192 x 192 pixels, 16 lags; docs/PLANNER.md). */
static const double THREAD_WORK = 4e6;

enum { WORD = 4 };

/* ---- what depends on the problem alone ---- */

static size_t levels_for(const struct mf_recon_work *w, int d)
{
    const size_t *n = w->dims, has = mf_target_for(w->target, (enum mf_normal)d)->levels;
    const size_t most = w->opts->objective.levels_max;
    size_t levels = mf_levels(d == MF_Z ? n[1] : n[0], d == MF_X ? n[1] : n[2], w->target->lag);

    if (levels > has) levels = has;
    return most && levels > most ? most : levels;
}

static size_t levels_of(const struct mf_recon_work *w)
{
    size_t most = 0;

    for (int d = 0; d < (w->dims[0] > 1 ? 3 : 1); ++d)
        if (levels_for(w, d) > most) most = levels_for(w, d);
    return most;
}

/* Slices normal to @p d, so many at a time. */
static struct mf_slice_desc slices_of(const struct mf_recon_work *w, int d, size_t levels, size_t count_max)
{
    return (struct mf_slice_desc){.nu = d == MF_Z ? w->dims[1] : w->dims[0],
                                  .nv = d == MF_X ? w->dims[1] : w->dims[2],
                                  .count_max = count_max,
                                  .lag = w->target->lag,
                                  .levels = levels,
                                  .periodic = w->opts->objective.periodic,
                                  .seam = w->opts->objective.compat,
                                  .threshold = w->target->threshold,
                                  .steepness = w->target->steepness};
}

/* Operations of a descriptor per voxel and field, all directions and levels. */
static double flops_of(const struct mf_recon_work *w, const struct mf_backend *backend, const struct mf_descriptor *row)
{
    const size_t *n = w->dims;
    double flops = 0;

    for (int d = 0; d < (n[0] > 1 && !mf_descriptor_is(row, MF_IN_SPACE) ? 3 : 1); ++d) {
        const struct mf_slice_desc desc = slices_of(w, d, w->levels, 0);

        flops += mf_descriptor_cost(row, backend, &desc, 1, MF_COST_GRADIENT).operations /
                 ((double)desc.nu * (double)desc.nv);
    }
    return flops;
}

/* A plan counts operations at the share of the peak that most descriptors reach. */
static double pace_of(const struct mf_descriptor *row, int device)
{
    return row->kind == MF_LINEAL && !device ? MF_CORE_SHARE / LINEAL : 1;
}

/* What descriptors without a formula of their own compute, on cores and on a GPU of whatever kind. */
static void look_further(struct mf_recon_work *w)
{
    const struct mf_objective_opts *e = &w->opts->objective;

    w->lineal_flops = 0;
    for (int device = 0; device < 2; ++device) {
        const struct mf_dry_kind kind = {.simd = "", .apart = device, .capability = device};
        struct mf_backend_dry dry;

        w->further_flops[device] = 0;
        mf_backend_dry(&kind, &dry);
        for (size_t t = 0; t < e->terms; ++t) {
            const struct mf_descriptor *row = e->term[t].row;
            const double each = row->kind > MF_PATCHES ? pace_of(row, device) * flops_of(w, &dry.backend, row) : 0;

            w->further_flops[device] += each;
            if (!device && row->kind == MF_LINEAL) w->lineal_flops += each;
        }
    }
}

/* With whatever history, which the plan chooses. */
static int is_annealed(const struct mf_recon_work *w)
{
    struct mf_solve_opts opts = *w->opts;

    if (opts.method.method->remembers) opts.method.history = 1;
    return mf_solve_mean_field(w->dims, w->target, &opts);
}

void mf_recon_work_look(struct mf_recon_work *w)
{
    const struct mf_objective_opts *e = &w->opts->objective;
    int fraction = mf_objective_weighs(e), further = 0;

    w->fields = mf_solve_fields(w->target, w->opts);
    w->levels = levels_of(w);
    w->annealed = is_annealed(w);
    w->twice = e->norm == MF_RMS || e->norm == MF_L2;
    w->s2 = w->variation = w->patches = 0;
    for (size_t t = 0; t < e->terms; ++t) {
        w->s2 |= e->term[t].row->kind == MF_S2;
        w->variation |= e->term[t].row->kind == MF_VARIATION;
        w->patches |= e->term[t].row->kind == MF_PATCHES;
        fraction |= e->term[t].row->kind == MF_FRACTION;
        further += e->term[t].row->kind > MF_PATCHES;
    }
    w->terms = w->s2 + w->variation + fraction + further;
    look_further(w);
}

/* ---- arithmetic ---- */

/* Transforms of one slice's plane, non-periodic slices with room for their zeros. */
static double plane_flops(const struct mf_recon_work *p, double nu, double nv)
{
    double pad = p->opts->objective.periodic ? 0 : (double)p->target->lag - 1, mu = nu + pad, mv = nv + pad;

    return 4 * 2.5 * mu * mv * log2(mu * mv + 1);
}

size_t mf_recon_team(const struct mf_recon_work *p, size_t ranks)
{
    return p->patches || p->lineal_flops > 0 ? mf_objective_team_of(p->dims, ranks) : 1;
}

/* The part of lineal paths that a rank of a team computes: some of their directions. */
static double part_of_lineal(size_t team)
{
    return (double)((MF_LINEAL_DIRECTIONS + team - 1) / team) / MF_LINEAL_DIRECTIONS;
}

/* Per voxel and field: flops of all directions and levels, on cores. Of an image those of the slowest rank. */
static double flops(const struct mf_recon_work *p, size_t ranks)
{
    const double further = p->further_flops[0] - (1 - part_of_lineal(mf_recon_team(p, ranks))) * p->lineal_flops;

    const double z = (double)p->dims[0], y = (double)p->dims[1], x = (double)p->dims[2];
    double pyramid = p->levels > 1 ? 4.0 / 3 : 1, sides = p->dims[0] > 1 ? 3 : 1, all = 0;

    if (p->s2) {
        all = plane_flops(p, y, x) / (y * x);
        if (sides > 1) all += plane_flops(p, z, x) / (z * x) + plane_flops(p, z, y) / (z * y);
        if (p->twice) all *= 1.5;
    }
    if (p->variation) all += 16 * sides;
    return all * pyramid + further * (p->twice ? 1.5 : 1);
}

/* Voxels of the longest slab, of all fields. */
static double voxels_of(const struct mf_recon_work *p, size_t ranks)
{
    double voxels = (double)p->dims[0] * (double)p->dims[1] * (double)p->dims[2] * (double)p->fields;
    size_t planes = (p->dims[0] + 1) / 2 * 2, share = ((planes / 2 + ranks - 1) / ranks) * 2;

    return p->dims[0] > 1 ? voxels * (double)share / (double)p->dims[0] : voxels;
}

/* ---- patches ---- */

/* What searches for patches in slices normal to @p d compare. */
static struct mf_slice_desc matched(const struct mf_recon_work *p, int d)
{
    const struct mf_target_side *side = mf_target_for(p->target, (enum mf_normal)d);
    struct mf_slice_desc desc = slices_of(p, d, levels_for(p, d), 0);

    desc.phases = p->fields;
    desc.one = p->dims[0] == 1;
    desc.example = (struct mf_slice_example){
        .nu = side->example_nu, .nv = side->example_nv, .periodic = mf_target_example_periodic(p->target, side)};
    return desc;
}

/* One search in all slices of the longest slab, and an evaluation with what was found. */
static struct mf_search_cost searching(const struct mf_recon_work *p, double voxels)
{
    const double fields = (double)p->fields;
    const double whole = (double)p->dims[0] * (double)p->dims[1] * (double)p->dims[2] * fields;
    struct mf_search_cost all = {0, 0, 0, 0};

    for (int d = 0; p->patches && d < (p->dims[0] > 1 ? 3 : 1); ++d) {
        const struct mf_slice_desc desc = matched(p, d);
        const struct mf_search_cost one = mf_search_cost_of(&desc);
        const double count = (double)p->dims[d] * voxels / whole;

        all.search += count * one.search;
        all.pulled += count * fields * one.pulled;
        all.pairs += count * one.pairs;
        all.moved += count * one.moved;
    }
    return all;
}

/* What a rank of a team does of a search: its part, and what all do. */
static double part_of_search(size_t team) { return team > 1 ? ALIKE + (1 - ALIKE) / (double)team : 1; }

/* Operations of cores for an evaluation's part of a search, and with what it found. */
static double patches_work(const struct mf_recon_work *p, size_t ranks)
{
    const struct mf_search_cost c = searching(p, voxels_of(p, ranks));

    return part_of_search(mf_recon_team(p, ranks)) * c.search / MF_SOLVE_HOLD + c.pulled;
}

/* Searches also walk through trees: on cores with vectors twice as wide they are 1.4 times as fast. */
static double search_pace(const struct mf_rates *r, double threads)
{
    return MF_CORE_SHARE * sqrt(MEASURED * r->flops * threads);
}

/* Seconds of the same; @p search: of a search alone. GPUs compare all pairs. */
static double patches(const struct mf_recon_work *p, const struct mf_placement *place, const struct mf_rates *r,
                      double voxels, double *search)
{
    const int device = place->device;
    const struct mf_search_cost c = searching(p, voxels);
    const double pace = search_pace(r, (double)place->threads), apart = r->flops * GPU_SHARE;
    const double memory = GPU_MEMORY * r->memory;

    *search = device ? PAIR * c.pairs / apart + 2 * WORD * c.moved / memory
                     : part_of_search(mf_recon_team(p, place->ranks)) * c.search / pace;
    return *search / MF_SOLVE_HOLD + (device ? c.pulled / apart : c.pulled / pace);
}

size_t mf_recon_threads(const void *work, size_t ranks, size_t most)
{
    const struct mf_recon_work *p = work;
    double worth = floor((voxels_of(p, ranks) * flops(p, ranks) + patches_work(p, ranks)) / THREAD_WORK);

    if (worth >= (double)most) return most;
    return worth > 1 ? (size_t)worth : 1;
}

/* ---- memory ---- */

static double sides_of(const struct mf_recon_work *p) { return p->dims[0] > 1 ? 3 : 1; }

/* Per voxel and field: bytes that pass between memory and processor for slices, with so many descriptors. */
static double slices_traffic(const struct mf_recon_work *p, double terms)
{
    return (p->twice ? 4 : 3) * terms * WORD * sides_of(p);
}

/* The same for the optimiser's vectors. A step of mean-field annealing clears the gradient. It reads the field in four
 * passes, the gradient in three, and writes field and velocity. */
static double vectors_traffic(const struct mf_recon_work *p, size_t history)
{
    enum { SHARED = 20 /* mean, clear, guide, projection */, ANNEALED = 52 };
    const double usual = p->opts->method.method->traffic + 4 * WORD * (double)history + SHARED;

    return p->annealed ? MF_SOLVE_BEFORE * usual + (1 - MF_SOLVE_BEFORE) * ANNEALED : usual;
}

/* ---- kernels of a GPU ---- */

/* Slices normal to @p d, as the objective hands them over. Those of other directions go along if they have this shape
 * and nothing is exchanged. */
static struct mf_slice_desc handed(const struct mf_recon_work *p, int d, int alone, size_t count_max)
{
    struct mf_slice_desc desc = slices_of(p, d, levels_for(p, d), count_max);

    for (int k = 0; k < (p->dims[0] > 1 ? 3 : 1); ++k) {
        const struct mf_slice_desc other = slices_of(p, k, 1, 1);

        desc.calls += other.nu == desc.nu && other.nv == desc.nv;
    }
    if (!alone || p->deterministic) desc.calls = 1;
    return desc;
}

/* S2 and Variation of a rank, all directions and fields. */
static struct mf_gpu_cost kernels_of(const struct mf_recon_work *p, const struct mf_gpu_rates *r, double share,
                                     int alone, const size_t in_flight[3], const size_t rounds[3])
{
    const int sides = p->dims[0] > 1 ? 3 : 1;
    struct mf_gpu_cost all = {0, 0, 0};

    for (int d = 0; d < sides; ++d) {
        const struct mf_slice_desc desc = handed(p, d, alone, in_flight[d]);
        const double times = (double)rounds[d], count = (double)p->dims[d] * share / times;
        const double turns = times * (double)p->fields, tasks = alone ? sides : 1;
        struct mf_gpu_cost one = {0, 0, 0};

        if (p->s2) mf_gpu_cost_s2(&desc, count, p->variation, r, &one);
        if (p->s2) one.launches = mf_gpu_launches(&desc, count, tasks, r) / tasks;
        if (p->variation && !p->s2) mf_gpu_cost_variation(&desc, count, r, &one);
        all.memory += turns * one.memory;
        all.arithmetic += turns * one.arithmetic;
        all.launches += turns * one.launches;
    }
    return all;
}

/* All of an evaluation that a GPU computes, but the optimiser's passes. */
static struct mf_gpu_cost gpu_of(const struct mf_recon_work *p, const struct mf_rates *rates, double voxels, int alone,
                                 const size_t in_flight[3], const size_t rounds[3])
{
    const struct mf_gpu_rates r = {GPU_MEMORY * rates->memory, GPU_OPERATIONS * rates->flops / 2, rates->capability};
    const double whole = (double)p->dims[0] * (double)p->dims[1] * (double)p->dims[2] * (double)p->fields;
    const double again = p->twice ? 1.5 : 1;
    struct mf_gpu_cost cost = kernels_of(p, &r, voxels / whole, alone, in_flight, rounds);

    cost.memory = again * cost.memory + voxels * slices_traffic(p, p->terms - p->s2 - p->variation) / r.memory;
    cost.arithmetic = again * (cost.arithmetic + voxels * p->further_flops[1] / (rates->flops * GPU_SHARE));
    return cost;
}

/* ---- exchange ---- */

/* Per voxel and field: bytes that an exchange of both directions, forth and back, sends, and over the bus of a device.
 */
enum { SENT = 16, STAGED = 32, COPIED = 64 }; /* COPIED: both directions through memory, and their gradients back */

/* Slices that stream through a device. Bytes per voxel, field and direction over the bus (equally many each way, at
 * once), and through the host's memory (packed, unpacked, added). Both overlap the device's work; only the rest is
 * waiting time. */
enum { STREAMED = WORD, HANDLED = 5 * WORD };

static double streaming(const struct mf_recon_work *p, const struct mf_rates *r, double voxels, double work)
{
    double bytes = voxels * sides_of(p);

    return fmax(0, fmax(bytes * STREAMED / r->to_host, bytes * HANDLED / r->home) - work);
}

/* With strips (planes beside slabs) a node sends the planes at its borders, and sums in both directions. Every float of
 * them is written, sent and read in memory. Else whole slices are exchanged. */
static double exchange(const struct mf_placement *place, size_t rank, const struct mf_rates *r,
                       const double fact[MF_PLAN_FACTS], double voxels)
{
    const double sent = fact[MF_RECON_PLANES] + 2 * fact[MF_RECON_SUMS];
    double here = (double)mf_plan_sharers(place, rank, 0), ranks = (double)place->ranks, seconds;

    if (place->ranks == 1) return 0;
    if (fact[MF_RECON_PLANES] > 0) return 3 * sent / r->memory + sent / here / r->network;
    seconds = voxels * (place->device && !place->nccl ? STAGED / r->to_host : COPIED / r->memory);
    if (place->nccl) seconds += voxels * SENT * (here - 1) / ranks / r->link;
    if (here < ranks) seconds += voxels * SENT * (1 - here / ranks) / r->network;
    return seconds;
}

/* Launches, waits and copies beside the graph of an evaluation, counted on the emulator. Steps of descent and of
 * mean-field annealing have equally many. There are more where slices travel. */
static double beside_graph(int travels, double meetings)
{
    enum { STEP = 14, TRAVEL = 20 };

    return MF_SECONDS_LAUNCH * (STEP + (travels ? TRAVEL * meetings : 0));
}

/* Threads of a node wait for each other at every parallel region, counted in runs. Threads of one rank and of several
 * take equally long. */
static double forks(const struct mf_recon_work *p, const struct mf_placement *place, size_t rank)
{
    const double threads = (double)(place->threads * mf_plan_sharers(place, rank, 0));

    return MF_SECONDS_FORK * log2(threads) * (p->dims[0] > 1 ? 13 : 8);
}

/* Ranks of a node synchronise, and send to ranks of other nodes. With strips they send to two neighbours, and all
 * synchronise for the sums. */
static double waiting(const struct mf_placement *place, size_t rank, int nccl, int strips, double meetings)
{
    double here = (double)mf_plan_sharers(place, rank, 0), ranks = (double)place->ranks, seconds;
    const double meet = MF_SECONDS_MEET, message = MF_SECONDS_MESSAGE;

    if (place->ranks == 1) return 0;
    seconds = 6 * meet * (log2(ranks) + 1); /* reductions */
    if (nccl) return seconds + meetings * 2 * MF_SECONDS_GROUP;
    if (strips) return seconds + 4 * message + 2 * message * log2(ranks / here) + 5 * meet * (log2(here) + 1);
    return seconds + meetings * (2 * message * (ranks - here) + (here > 1 ? 5 * meet * (log2(here) + 1) : 0));
}

double mf_recon_measured(const struct mf_recon_work *w, const struct mf_placement *place,
                         const struct mf_plan_numbers *settings)
{
    const int device = place->device != 0;

    if (mf_plan_get(settings, "offload") || mf_plan_get(settings, "history") != w->history) return 0;
    for (size_t i = w->times ? w->times->count : 0; i-- > 0;) {
        const struct mf_recon_time *t = &w->times->at[i];

        if (t->device == device && t->ranks == place->ranks && (device || t->threads == (size_t)place->threads))
            return t->seconds;
    }
    return 0;
}

/* Solves for properties. One that begins with the last potential takes three iterations. Coarse levels and derivatives
 * take as long as a fourth. */
static double conduction(const struct mf_recon_work *w, double voxels, double memory)
{
    enum { ITERATIONS = 4 };
    const double solves =
        (double)w->opts->property.count * (w->annealed ? (1 - MF_SOLVE_BEFORE) / MF_PROPERTY_HOLD : 1);

    return solves * ITERATIONS * MF_CONDUCT_TRAFFIC_FACES * voxels / (double)w->fields / memory;
}

void mf_recon_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_recon_work *w = work;
    const int offload = mf_plan_get(settings, "offload") > 0, device = place->device != 0;
    const int alone = !offload && place->ranks == 1;
    const double voxels = voxels_of(w, place->ranks), seconds = mf_recon_measured(w, place, settings);
    const double memory = offload ? rates->home : device ? GPU_MEMORY * rates->memory : rates->memory;
    const double vectors = voxels * vectors_traffic(w, mf_plan_get(settings, "history")) / memory;
    struct mf_gpu_cost own = {.launches = 0};
    size_t in_flight[3], rounds[3];
    double meetings, beside, search, matching;

    mf_recon_slices(w, place, settings, in_flight, rounds);
    meetings = (double)((rounds[1] + rounds[2] + (offload ? rounds[0] : 0)) * w->fields);
    if (!device && mf_recon_team(w, place->ranks) > 1) meetings = (double)(TURNS * w->levels * w->fields);
    if (device) own = gpu_of(w, rates, voxels, alone, in_flight, rounds);
    beside = device ? beside_graph(!alone, meetings) : forks(w, place, rank);
    if (!device) {
        own.memory = voxels * slices_traffic(w, w->terms) / rates->memory;
        own.arithmetic = voxels * flops(w, place->ranks) / (rates->flops * MF_CORE_SHARE);
    }
    mf_plan_pay(cost, "memory", own.memory + vectors);
    mf_plan_pay(cost, "arithmetic", own.arithmetic);
    matching = patches(w, place, rates, voxels, &search);
    if (w->patches) mf_plan_pay(cost, "patches", matching);
    mf_plan_pay(cost, "exchange",
                offload && device ? streaming(w, rates, voxels, own.memory + own.arithmetic)
                                  : exchange(place, rank, rates, fact, voxels));
    mf_plan_pay(cost, "waiting",
                MF_SECONDS_REPLAY * own.launches + beside +
                    waiting(place, rank, place->nccl && !offload, fact[MF_RECON_PLANES] > 0, meetings));
    cost->tried = cost->total - vectors - search / MF_SOLVE_HOLD;
    if (seconds > 0) mf_plan_scale(cost, seconds / cost->total);
    if (w->opts->property.count) mf_plan_pay(cost, "conduction", conduction(w, voxels, memory)); /* measured without */
}
