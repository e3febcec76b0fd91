/* Measures how long a call takes on the slowest rank, repeating it until the result is precise. */
#ifndef MF_BENCH_CLOCK_H
#define MF_BENCH_CLOCK_H

#include <stddef.h>

#include "mpi/comm.h"

/** Seconds of one call, over samples of several calls each. */
struct mf_bench_time {
    double least, median, most;
    long samples, calls; /* calls per sample */
};

/** When there are enough samples. */
struct mf_bench_enough {
    double share;   /* half the 95 % interval of the median, relative to the median; 0.02 */
    double seconds; /* limit for one measurement */
};

struct mf_bench_call {
    void (*call)(void *context);
    void *context;
    const char *inside; /* name of the collective around the calls, for the watch; NULL: each call enters its own */
};

/** Makes one such call. Collective. */
void mf_bench_once(const struct mf_comm *comm, const struct mf_bench_call *call);

/**
 * Measures @p n calls (at most 4) in turn, so that other load affects all alike: times [n]. A sample is the time of the
 * slowest rank after a barrier. Collective: every rank takes the same number of samples.
 */
void mf_bench_measure(const struct mf_comm *comm, const struct mf_bench_enough *enough, size_t n,
                      const struct mf_bench_call *calls, struct mf_bench_time *times);

#endif
