/* See replay.h. The longest slab sets the time. An evaluation brings the slices of two directions together and takes
 * their gradients back (mpi/slab.h), which is measured as a whole on a node. Of the slabs that a rank sends in these
 * four ways, the part for ranks of other nodes passes the network, which the ranks of a node share. By strips less
 * travels, and in memory that takes as long as slabs do of which as many bytes are moved. A few
 * numbers are summed over all ranks after each stage: a tree within a node and one over nodes. */
#include "src/bench/replay.h"
#include "mpi/redistribute.h"

#include <math.h>

enum { WAYS = 4, SUMS = 6, WORD = 4, NEIGHBOURS = 4 /* messages to and from them */ };

/* Straight lines between measured points of log seconds over log bytes; beyond them the last rate, before them the
 * first time. */
static double seconds_at(const struct mf_replay_curve *c, double bytes)
{
    size_t i = 1;
    double share;

    if (bytes <= c->bytes[0]) return c->seconds[0];
    if (bytes >= c->bytes[c->count - 1]) return c->seconds[c->count - 1] * bytes / c->bytes[c->count - 1];
    while (c->bytes[i] < bytes) ++i;
    share = log(bytes / c->bytes[i - 1]) / log(c->bytes[i] / c->bytes[i - 1]);
    return c->seconds[i - 1] * pow(c->seconds[i] / c->seconds[i - 1], share);
}

/* Voxels of the longest slab: planes are dealt in pairs. */
static double slab_voxels(size_t n, long ranks)
{
    size_t pairs = (n + 1) / 2, most = (pairs + (size_t)ranks - 1) / (size_t)ranks;

    return fmin(2 * (double)most, (double)n) * (double)n * (double)n;
}

/* Rounds of an exchange of slices normal to y on so many ranks of several nodes. */
static double rounds_of(size_t n, long ranks, long here)
{
    const size_t dims[3] = {n, n, n};
    size_t batch, rounds;
    struct mf_comm comm;

    mf_comm_dry(&comm, 0, (int)ranks, (int)here);
    mf_redistribute_shape(&comm, dims, MF_Y, 0, 0, &batch, &rounds);
    return (double)rounds;
}

static long on_node(const struct mf_replay *m, long ranks)
{
    return ranks < m->ranks_per_node ? ranks : m->ranks_per_node;
}

static void by_slices(const struct mf_replay *m, size_t n, long ranks, double voxels, struct mf_replay_time *t)
{
    const long here = on_node(m, ranks);
    const double bytes = WORD * voxels;

    t->exchange = seconds_at(&m->turn, bytes);
    if (ranks == here) return;
    t->sent = WAYS * bytes * (1 - (double)here / (double)ranks) * (double)here;
    t->exchange += t->sent / m->bandwidth + WAYS * m->latency * rounds_of(n, ranks, here) * log2((double)ranks);
}

static void by_strips(const struct mf_replay *m, long ranks, const struct mf_replay_strips *strips,
                      struct mf_replay_time *t)
{
    const double nodes = (double)ranks / (double)on_node(m, ranks);

    t->sent = strips->network;
    t->exchange =
        seconds_at(&m->turn, strips->slab) + t->sent / m->bandwidth + m->latency * (NEIGHBOURS + 2 * log2(nodes));
}

static double reduction(const struct mf_replay *m, long ranks)
{
    long here = on_node(m, ranks);
    double seconds = here > 1 ? m->sum * log2((double)here) / log2((double)m->sum_ranks) : 0;

    if (ranks > here) seconds += 2 * m->latency * ceil(log2((double)ranks / (double)here));
    return SUMS * seconds;
}

struct mf_replay_time mf_replay(const struct mf_replay *machine, size_t n, long ranks,
                                const struct mf_replay_strips *strips)
{
    double voxels = slab_voxels(n, ranks);
    struct mf_replay_time t = {.work = machine->work * voxels};

    if (strips->slab > 0)
        by_strips(machine, ranks, strips, &t);
    else if (ranks > 1)
        by_slices(machine, n, ranks, voxels, &t);
    t.reduction = reduction(machine, ranks);
    t.total = t.work + t.exchange + t.reduction;
    return t;
}
