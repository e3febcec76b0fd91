/* See plan.h: what an evaluation costs. The formulas and where their numbers come from: docs/PLANNER.md. */
#include <math.h>

#include "src/plan/plan.h"

/* Share of the peak rate of 32-bit arithmetic that the transforms reach, on cores and on GPUs. */
static const double CORE_SHARE = 0.50, GPU_SHARE = 0.20;

/* Where a machine does not say: bytes per second of a core and a NUMA node, flops of a core by its vectors, a
 * network, a GPU's memory, arithmetic and way to the host. */
static const double CORE_RATE = 8e9, NUMA_RATE = 80e9, NETWORK_RATE = 1.25e9, GPU_RATE = 300e9, GPU_FLOPS = 8e12,
                    GPU_HOST_RATE = 12e9;

/* Seconds of a barrier among neighbours, of a message to each rank of an exchange, of a start of a kernel, of a group
 * of NCCL. */
static const double MEET = 4e-6, MESSAGE = 6e-6, LAUNCH = 8e-6, GROUP = 20e-6;

/* Operations of an evaluation that are worth a thread: with less of them it takes longer to call it than it works. Two
 * threads are as fast as one at 8e6 (192 x 192 pixels, 16 lags; docs/PLANNER.md). */
static const double THREAD_WORK = 4e6;

enum { WORD = 4 };

struct rates {
    double memory, flops, network, to_host, link, home; /* of one rank, per second; home: memory of the host */
};

static double known(double value, double unit, double standard) { return value > 0 ? value * unit : standard; }

static double core_flops(const struct mf_host *host)
{
    double lanes = host->simd[0] == 'a' ? (host->simd[3] == '5' ? 16 : 8) : 4;

    return lanes * 2 * 3.2e9;
}

static size_t on_node(const struct mf_placement *place, int node)
{
    size_t n = 0;

    for (size_t r = 0; r < place->ranks; ++r) n += place->node[r] == node;
    return n;
}

static size_t on_gpu(const struct mf_placement *place, size_t rank)
{
    size_t n = 0;

    for (size_t r = 0; r < place->ranks; ++r)
        n += place->node[r] == place->node[rank] && place->gpu[r] == place->gpu[rank];
    return n;
}

/* The slowest link from a rank's GPU to one that another rank of its node has: all of them are used at once. */
static double link_rate(const struct mf_host *host, const struct mf_placement *place, size_t rank)
{
    const struct mf_gpu *gpu = &host->gpu[place->gpu[rank]];
    double least = INFINITY;

    for (size_t r = 0; r < place->ranks; ++r) {
        const struct mf_link *link = &host->link[(size_t)place->gpu[rank] * host->gpus + (size_t)place->gpu[r]];

        if (place->node[r] != place->node[rank] || place->gpu[r] == place->gpu[rank]) continue;
        least = fmin(least, known(link->rate, 1e9, known(gpu->host_rate, 1e9, GPU_HOST_RATE)));
    }
    return least;
}

static struct rates rates_of(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank)
{
    const struct mf_host *host = mf_plan_node(hardware, (size_t)place->node[rank]);
    double ranks = (double)on_node(place, place->node[rank]), cores = (double)host->cores, numa, rate;
    double used = fmin(cores, (double)place->threads * ranks);
    struct rates r;

    numa = NUMA_RATE * (host->numa_nodes > 0 ? (double)host->numa_nodes : 1);
    rate = known(host->memory_rate, 1e9, fmin(CORE_RATE * cores, numa));
    r.memory = r.home = fmin(rate, CORE_RATE * 2 * used) / ranks; /* a few cores do not fill a node's channels */
    r.flops = known(host->fp32_rate, 1e12, core_flops(host) * cores) * used / cores / ranks * CORE_SHARE;
    r.network = known(host->network_rate, 1e9, NETWORK_RATE) / ranks;
    r.to_host = r.link = 0;
    if (place->device) {
        const struct mf_gpu *gpu = &host->gpu[place->gpu[rank]];
        double share = (double)on_gpu(place, rank);

        r.memory = known(gpu->memory_rate, 1e9, GPU_RATE) / share;
        r.flops = known(gpu->fp32_rate, 1e12, GPU_FLOPS) * GPU_SHARE / share;
        r.to_host = fmin(known(gpu->host_rate, 1e9, GPU_HOST_RATE) / share, rate / ranks);
        r.link = place->wired ? link_rate(host, place, rank) : 0;
    }
    return r;
}

/* Transforms of one slice's plane, non-periodic slices with room for their zeros. */
static double plane_flops(const struct mf_plan_problem *p, double nu, double nv)
{
    double pad = p->periodic ? 0 : (double)p->lag - 1, mu = nu + pad, mv = nv + pad;

    return 4 * 2.5 * mu * mv * log2(mu * mv + 1);
}

/* Per voxel and field: flops of all directions and levels. */
static double flops(const struct mf_plan_problem *p, int device)
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
static double voxels_of(const struct mf_plan_problem *p, size_t ranks)
{
    double voxels = (double)p->dims[0] * (double)p->dims[1] * (double)p->dims[2] * (double)p->fields;
    size_t planes = (p->dims[0] + 1) / 2 * 2, share = ((planes / 2 + ranks - 1) / ranks) * 2;

    return p->dims[0] > 1 ? voxels * (double)share / (double)p->dims[0] : voxels;
}

size_t mf_plan_threads(const struct mf_plan_problem *p, size_t ranks, size_t most)
{
    double worth = floor(voxels_of(p, ranks) * flops(p, 0) / THREAD_WORK);

    if (worth >= (double)most) return most;
    return worth > 1 ? (size_t)worth : 1;
}

static double sides_of(const struct mf_plan_problem *p) { return p->dims[0] > 1 ? 3 : 1; }

/* Per voxel and field: bytes that pass between memory and processor for slices. */
static double slices_traffic(const struct mf_plan_problem *p, int device)
{
    double terms = p->s2 + p->variation + p->fraction + p->further, slices = terms * 3 * WORD;

    if (p->twice) slices += terms * WORD;
    if (device && p->s2) slices += 80 * (p->levels > 1 ? 4.0 / 3 : 1); /* transforms that leave the chip */
    return slices * sides_of(p);
}

/* The same for the optimiser's vectors. */
static double vectors_traffic(const struct mf_plan_problem *p, size_t history)
{
    double pairs = p->remembers ? 4 * WORD * (double)history : 0;

    return p->traffic + pairs + 20; /* mean, clear, guide, projection */
}

/* Per voxel and field: bytes that an exchange of both directions, forth and back, sends, and over the bus of a device.
 */
enum { SENT = 16, STAGED = 32 };

/* Slices that pass through a device: per voxel, field and direction bytes over the bus (as many each way, at once), and
 * through the host's memory (packed, unpacked, added). Both run beside the work on the device; what it does not cover
 * is waited for. */
enum { PASSED = WORD, HANDLED = 5 * WORD };

static double passing(const struct mf_plan_problem *p, const struct rates *r, double voxels, double work)
{
    double bytes = voxels * sides_of(p);

    return fmax(0, fmax(bytes * PASSED / r->to_host, bytes * HANDLED / r->home) - work);
}

struct mf_plan_moved mf_plan_strips(double planes, double sums)
{
    const double all = planes + 2 * sums;

    return (struct mf_plan_moved){3 * all, all};
}

static double by_strips(const struct mf_placement *place, const struct rates *r, const struct mf_plan_candidate *c,
                        size_t rank)
{
    const struct mf_plan_moved moved = mf_plan_strips(c->planes, c->sums);

    return moved.memory / r->memory + moved.network / (double)on_node(place, place->node[rank]) / r->network;
}

static double exchange(const struct mf_placement *place, const struct rates *r, const struct mf_plan_candidate *c,
                       double voxels, size_t rank)
{
    double here = (double)on_node(place, place->node[rank]), ranks = (double)place->ranks, seconds;

    if (place->ranks == 1) return 0;
    if (c->planes > 0) return by_strips(place, r, c, rank);
    seconds = voxels * (place->device && !place->wired ? STAGED / r->to_host : MF_PLAN_COPIED / r->memory);
    if (place->wired) seconds += voxels * SENT * (here - 1) / ranks / r->link;
    if (here < ranks) seconds += voxels * SENT * (1 - here / ranks) / r->network;
    return seconds;
}

/* Ranks of a node meet, and send to those of other nodes; by strips to two neighbours, and all meet for the sums. */
static double waiting(const struct mf_placement *place, const struct mf_plan_candidate *c, size_t rounds, size_t fields,
                      size_t rank)
{
    const int wired = place->wired && !c->passes;
    double here = (double)on_node(place, place->node[rank]), ranks = (double)place->ranks;
    double meetings = (double)(rounds * fields), seconds;

    seconds = place->device ? LAUNCH * 20 * (meetings + 3) : 0;
    if (place->ranks == 1) return seconds;
    seconds += 6 * MEET * (log2(ranks) + 1); /* reductions */
    if (wired) return seconds + meetings * 2 * GROUP;
    if (c->planes > 0) return seconds + 4 * MESSAGE + 2 * MESSAGE * log2(ranks / here) + 5 * MEET * (log2(here) + 1);
    return seconds + meetings * (2 * MESSAGE * (ranks - here) + (here > 1 ? 5 * MEET * (log2(here) + 1) : 0));
}

struct mf_plan_cost mf_plan_price(const struct mf_hardware *hardware, const struct mf_plan_problem *p,
                                  const struct mf_placement *place, const struct mf_plan_candidate *candidate,
                                  size_t rounds)
{
    const int passes = candidate->passes;
    const double voxels = voxels_of(p, place->ranks);
    struct mf_plan_cost worst = {.total = -1};

    for (size_t r = 0; r < place->ranks; ++r) {
        struct rates rate;
        struct mf_plan_cost c;
        double vectors;

        if (r > 0 && place->node[r] == place->node[r - 1] && (!place->device || place->gpu[r] == place->gpu[r - 1]))
            continue;
        rate = rates_of(hardware, place, r);
        c.memory = voxels * slices_traffic(p, place->device) / rate.memory;
        c.arithmetic = voxels * flops(p, place->device != 0) / rate.flops;
        c.exchange = exchange(place, &rate, candidate, voxels, r);
        if (passes && place->device) c.exchange = passing(p, &rate, voxels, c.memory + c.arithmetic);
        vectors = voxels * vectors_traffic(p, candidate->history) / (passes ? rate.home : rate.memory);
        c.memory += vectors;
        c.waiting = waiting(place, candidate, rounds, p->fields, r);
        c.total = c.memory + c.arithmetic + c.exchange + c.waiting;
        c.objective = c.total - vectors;
        if (c.total > worst.total) worst = c;
    }
    return worst;
}
