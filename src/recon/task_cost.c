/* See task.h: the cost of an evaluation. docs/PLANNER.md has the formulas and the sources of their constants. */
#include <math.h>

#include "kernels/dry.h"
#include "src/recon/task.h"

/* Share of the peak rate of 32-bit arithmetic that the transforms reach, on cores and on GPUs. */
static const double CORE_SHARE = 0.50, GPU_SHARE = 0.20;

/* Operations of an evaluation that justify a thread; with fewer, its start takes longer than its work. Two threads are
 * as fast as one at 8e6 (192 x 192 pixels, 16 lags; docs/PLANNER.md). */
static const double THREAD_WORK = 4e6;

enum { WORD = 4 };

/* ---- what depends on the problem alone ---- */

static size_t levels_of(const struct mf_recon_work *w)
{
    size_t most = 0;

    for (int d = 0; d < (w->dims[0] > 1 ? 3 : 1); ++d) {
        const size_t *n = w->dims;
        size_t has = mf_target_for(w->target, (enum mf_normal)d)->levels;
        size_t levels = mf_levels(d == MF_Z ? n[1] : n[0], d == MF_X ? n[1] : n[2], w->target->lag);

        if (levels > has) levels = has;
        if (w->opts->objective.levels_max && levels > w->opts->objective.levels_max)
            levels = w->opts->objective.levels_max;
        if (levels > most) most = levels;
    }
    return most;
}

/* Operations of a descriptor per voxel and field, all directions and levels. */
static double flops_of(const struct mf_recon_work *w, const struct mf_backend *backend, const struct mf_descriptor *row)
{
    const size_t *n = w->dims;
    double flops = 0;

    for (int d = 0; d < (n[0] > 1 && !mf_descriptor_is(row, MF_IN_SPACE) ? 3 : 1); ++d) {
        const struct mf_slice_desc desc = {.nu = d == MF_Z ? n[1] : n[0],
                                           .nv = d == MF_X ? n[1] : n[2],
                                           .lag = w->target->lag,
                                           .levels = w->levels,
                                           .periodic = w->opts->objective.periodic,
                                           .seam = w->opts->objective.compat,
                                           .threshold = w->target->threshold,
                                           .steepness = w->target->steepness};

        flops += mf_descriptor_cost(row, backend, &desc, 1, MF_COST_GRADIENT).operations /
                 ((double)desc.nu * (double)desc.nv);
    }
    return flops;
}

/* What descriptors without a formula of their own compute, on cores and on a GPU of whatever kind. */
static void look_further(struct mf_recon_work *w)
{
    const struct mf_objective_opts *e = &w->opts->objective;

    for (int device = 0; device < 2; ++device) {
        const struct mf_dry_kind kind = {.simd = "", .apart = device, .capability = device};
        struct mf_backend_dry dry;

        w->further_flops[device] = 0;
        mf_backend_dry(&kind, &dry);
        for (size_t t = 0; t < e->terms; ++t)
            if (e->term[t].row->kind > MF_PATCHES)
                w->further_flops[device] += flops_of(w, &dry.backend, e->term[t].row);
    }
}

void mf_recon_work_look(struct mf_recon_work *w)
{
    const struct mf_objective_opts *e = &w->opts->objective;
    int fraction = mf_objective_weighs(e), further = 0;

    w->fields = mf_solve_fields(w->target, w->opts);
    w->levels = levels_of(w);
    w->twice = e->norm == MF_RMS || e->norm == MF_L2;
    w->s2 = w->variation = 0;
    for (size_t t = 0; t < e->terms; ++t) {
        w->s2 |= e->term[t].row->kind == MF_S2;
        w->variation |= e->term[t].row->kind == MF_VARIATION;
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

/* Per voxel and field: flops of all directions and levels. */
static double flops(const struct mf_recon_work *p, int device)
{
    const double z = (double)p->dims[0], y = (double)p->dims[1], x = (double)p->dims[2];
    double pyramid = p->levels > 1 ? 4.0 / 3 : 1, sides = p->dims[0] > 1 ? 3 : 1, all = 0;

    if (p->s2) {
        all = plane_flops(p, y, x) / (y * x);
        if (sides > 1) all += plane_flops(p, z, x) / (z * x) + plane_flops(p, z, y) / (z * y);
        if (p->twice) all *= 1.5;
    }
    if (p->variation) all += 16 * sides;
    return all * pyramid + p->further_flops[device] * (p->twice ? 1.5 : 1);
}

/* Voxels of the longest slab, of all fields. */
static double voxels_of(const struct mf_recon_work *p, size_t ranks)
{
    double voxels = (double)p->dims[0] * (double)p->dims[1] * (double)p->dims[2] * (double)p->fields;
    size_t planes = (p->dims[0] + 1) / 2 * 2, share = ((planes / 2 + ranks - 1) / ranks) * 2;

    return p->dims[0] > 1 ? voxels * (double)share / (double)p->dims[0] : voxels;
}

size_t mf_recon_threads(const void *work, size_t ranks, size_t most)
{
    const struct mf_recon_work *p = work;
    double worth = floor(voxels_of(p, ranks) * flops(p, 0) / THREAD_WORK);

    if (worth >= (double)most) return most;
    return worth > 1 ? (size_t)worth : 1;
}

/* ---- memory ---- */

static double sides_of(const struct mf_recon_work *p) { return p->dims[0] > 1 ? 3 : 1; }

/* Per voxel and field: bytes that pass between memory and processor for slices. */
static double slices_traffic(const struct mf_recon_work *p, int device)
{
    double slices = p->terms * 3 * WORD;

    if (p->twice) slices += p->terms * WORD;
    if (device && p->s2) slices += 80 * (p->levels > 1 ? 4.0 / 3 : 1); /* transforms that leave the chip */
    return slices * sides_of(p);
}

/* The same for the optimiser's vectors. */
static double vectors_traffic(const struct mf_recon_work *p, size_t history)
{
    return p->opts->method.method->traffic + 4 * WORD * (double)history + 20; /* mean, clear, guide, projection */
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

/* Ranks of a node synchronise, and send to ranks of other nodes. With strips they send to two neighbours, and all
 * synchronise for the sums. */
static double waiting(const struct mf_placement *place, size_t rank, int nccl, int strips, double meetings)
{
    double here = (double)mf_plan_sharers(place, rank, 0), ranks = (double)place->ranks, seconds;
    const double meet = MF_SECONDS_MEET, message = MF_SECONDS_MESSAGE;

    seconds = place->device ? MF_SECONDS_LAUNCH * 20 * (meetings + 3) : 0;
    if (place->ranks == 1) return seconds;
    seconds += 6 * meet * (log2(ranks) + 1); /* reductions */
    if (nccl) return seconds + meetings * 2 * MF_SECONDS_GROUP;
    if (strips) return seconds + 4 * message + 2 * message * log2(ranks / here) + 5 * meet * (log2(here) + 1);
    return seconds + meetings * (2 * message * (ranks - here) + (here > 1 ? 5 * meet * (log2(here) + 1) : 0));
}

void mf_recon_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_recon_work *w = work;
    const int offload = mf_plan_get(settings, "offload") > 0;
    const double voxels = voxels_of(w, place->ranks);
    const double vectors =
        voxels * vectors_traffic(w, mf_plan_get(settings, "history")) / (offload ? rates->home : rates->memory);
    const double slices = voxels * slices_traffic(w, place->device) / rates->memory;
    const double arithmetic =
        voxels * flops(w, place->device != 0) / (rates->flops * (place->device ? GPU_SHARE : CORE_SHARE));
    size_t in_flight[3], rounds[3];

    mf_recon_slices(w, place, settings, in_flight, rounds);
    mf_plan_pay(cost, "memory", slices + vectors);
    mf_plan_pay(cost, "arithmetic", arithmetic);
    mf_plan_pay(cost, "exchange",
                offload && place->device ? streaming(w, rates, voxels, slices + arithmetic)
                                         : exchange(place, rank, rates, fact, voxels));
    mf_plan_pay(cost, "waiting",
                waiting(place, rank, place->nccl && !offload, fact[MF_RECON_PLANES] > 0,
                        (double)((rounds[1] + rounds[2] + (offload ? rounds[0] : 0)) * w->fields)));
    cost->tried = cost->total - vectors;
}
