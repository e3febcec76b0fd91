/* What an evaluation of a reconstruction would take on machines that are not here: measured work of a rank, measured
 * exchanges of a node, a network of known bandwidth and latency. */
#ifndef MF_BENCH_REPLAY_H
#define MF_BENCH_REPLAY_H

#include <stddef.h>

enum { MF_REPLAY_ROWS = 64 };

/** A curve of times over sizes, ascending. */
struct mf_replay_curve {
    size_t count;
    double bytes[MF_REPLAY_ROWS], seconds[MF_REPLAY_ROWS];
};

struct mf_replay {
    double work;                 /* seconds of a rank per voxel of its own, all ranks of a node at work */
    struct mf_replay_curve turn; /* what an evaluation exchanges, by bytes of a slab: bench evaluation on a node */
    double sum;                  /* seconds of a small sum over sum_ranks ranks of a node: bench allreduce */
    long sum_ranks, ranks_per_node;
    double bandwidth, latency; /* of a node's network [bytes per second, seconds] */
};

/** An evaluation by strips: bytes of a slab whose exchange takes as long in memory, and bytes over a node's network;
 * 0: whole slices travel. */
struct mf_replay_strips {
    double slab, network;
};

struct mf_replay_time {
    double work, exchange, reduction, total; /* seconds of an evaluation */
    double sent;                             /* bytes over the network of a node */
};

/** Of a cube of @p n^3 voxels over @p ranks ranks. What the slab of the longest share holds decides. */
struct mf_replay_time mf_replay(const struct mf_replay *machine, size_t n, long ranks,
                                const struct mf_replay_strips *strips);

#endif
