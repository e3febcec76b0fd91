/* How long a call takes, on the slowest rank, as often as it takes to know. */
#ifndef MF_BENCH_CLOCK_H
#define MF_BENCH_CLOCK_H

#include <stddef.h>

#include "mpi/comm.h"

/** Seconds of one call: over samples of several calls each. */
struct mf_bench_time {
    double least, median, most;
    long samples, calls; /* calls per sample */
};

/** When there are samples enough. */
struct mf_bench_enough {
    double share;   /* half the 95 % interval of the median, of the median; 0.02 */
    double seconds; /* spent at most on one measurement */
};

struct mf_bench_call {
    void (*call)(void *context);
    void *context;
    const char *inside; /* the collective that the calls are together, for the watch; NULL: each says so itself */
};

/** One such call. Collective. */
void mf_bench_once(const struct mf_comm *comm, const struct mf_bench_call *call);

/**
 * Measures @p n calls (4 at most) by turns, so that what else the machine does falls on all alike: times [n]. Each
 * sample is the time of the slowest rank from a barrier on. Collective: every rank takes the same number of samples.
 */
void mf_bench_measure(const struct mf_comm *comm, const struct mf_bench_enough *enough, size_t n,
                      const struct mf_bench_call *calls, struct mf_bench_time *times);

#endif
