/* See rates.h. Where the numbers come from: docs/PLANNER.md. */
#include "src/plan/rates.h"

#include <math.h>

/* Defaults for machines that do not state them. They are bytes per second of a core and a NUMA node; flops of a core by
 * its vectors; a network; a GPU's memory, arithmetic and link to the host. */
static const double CORE_RATE = 8e9, NUMA_RATE = 80e9, NETWORK_RATE = 1.25e9, GPU_RATE = 300e9, GPU_FLOPS = 8e12,
                    GPU_HOST_RATE = 12e9;

static double known(double value, double unit, double standard) { return value > 0 ? value * unit : standard; }

static double core_flops(const struct mf_host *host)
{
    double lanes = host->simd[0] == 'a' ? (host->simd[3] == '5' ? 16 : 8) : 4;

    return lanes * 2 * 3.2e9;
}

/* The slowest link from a rank's GPU to the GPU of another rank on its node. All are used at once. */
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

struct mf_rates mf_rates_of(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank)
{
    const struct mf_host *host = mf_plan_node(hardware, (size_t)place->node[rank]);
    double ranks = (double)mf_plan_sharers(place, rank, 0), cores = (double)host->cores, numa, rate;
    double used = fmin(cores, (double)place->threads * ranks);
    struct mf_rates r;

    numa = NUMA_RATE * (host->numa_nodes > 0 ? (double)host->numa_nodes : 1);
    rate = known(host->memory_rate, 1e9, fmin(CORE_RATE * cores, numa));
    r.memory = r.home = fmin(rate, CORE_RATE * 2 * used) / ranks; /* a few cores do not fill a node's channels */
    r.flops = known(host->fp32_rate, 1e12, core_flops(host) * cores) * used / cores / ranks;
    r.products = known(host->fp32_rate, 1e12, 2 * core_flops(host) * cores) * used / cores / ranks;
    r.network = known(host->network_rate, 1e9, NETWORK_RATE) / ranks;
    r.to_host = r.link = 0;
    r.capability = 0;
    if (place->device) {
        const struct mf_gpu *gpu = &host->gpu[place->gpu[rank]];
        double share = (double)mf_plan_sharers(place, rank, 1);

        r.memory = known(gpu->memory_rate, 1e9, GPU_RATE) / share;
        r.flops = r.products = known(gpu->fp32_rate, 1e12, GPU_FLOPS) / share;
        r.to_host = fmin(known(gpu->host_rate, 1e9, GPU_HOST_RATE) / share, rate / ranks);
        r.capability = (int)(10 * gpu->major + gpu->minor);
        r.link = place->nccl ? link_rate(host, place, rank) : 0;
    }
    return r;
}

const char *mf_plan_exchange(const struct mf_placement *place, int nccl)
{
    if (nccl) return "nccl";
    if (place->ranks == 1) return "none";
    if (place->nodes == 1) return "shared memory";
    return place->per_node > 1 ? "shared memory and messages" : "messages";
}
