/* Measures what ranks exchange: this program's way and MPI's plain call, in the columns of nccl-tests. */
#ifndef MF_BENCH_NET_H
#define MF_BENCH_NET_H

#include "kernels/backend.h"
#include "src/bench/clock.h"

/** One size of one exchange. Bandwidths [bytes per second] are of the medians. */
struct mf_bench_row {
    size_t bytes, count; /* of one rank's buffer; floats in it */
    struct mf_bench_time own, bare;
    int has_own; /* 0: the program uses MPI's call, and own is MPI's */
    double algorithm, bus;
    size_t wrong; /* wrong elements, over all ranks */
};

struct mf_bench_net {
    const char *name;    /* "allreduce" */
    const char *summary; /* what it represents */
    const char *redop;   /* "sum", "none" */
    int (*measure)(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough,
                   size_t bytes, struct mf_bench_row *row);
    double (*share)(
        int ranks); /* bus = algorithm bandwidth times this: the load of a rank's link (nccl-tests, PERFORMANCE.md) */
};

/** Ends with a row without a name. */
extern const struct mf_bench_net mf_bench_nets[];

/** NULL: no such name. */
const struct mf_bench_net *mf_bench_net_find(const char *name);

/**
 * Measures one size, rounded up so that ranks can share it. Buffers come from the queue's arena. Collective; refuses
 * (agreed) with MF_MEMORY.
 */
int mf_bench_net_measure(const struct mf_bench_net *net, const struct mf_comm *comm, struct mf_queue *queue,
                         const struct mf_bench_enough *enough, size_t bytes, struct mf_bench_row *row);

#endif
