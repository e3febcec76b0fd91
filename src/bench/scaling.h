/* Times on several numbers of ranks, and what they say. */
#ifndef MF_BENCH_SCALING_H
#define MF_BENCH_SCALING_H

#include <stddef.h>

enum { MF_BENCH_TURNS = 99 };

/** One number of ranks. */
struct mf_bench_point {
    long ranks;
    size_t dims[3]; /* z y x */
    double sample[MF_BENCH_TURNS];
    size_t samples;
    double seconds;    /* median of the samples */
    double speedup;    /* of one rank; weak: of the work that grows with the ranks */
    double efficiency; /* speedup / ranks */
    double serial; /* Karp and Flatt's (1990) share of the work that is as slow as on one rank; strong, from two ranks
                      on */
};

/**
 * Fills in medians, speedups, efficiencies and serial shares of points [n] with samples: against the first, whose own
 * speedup counts as its number of ranks. @p weak: extents grew with the ranks.
 */
void mf_bench_scaling(struct mf_bench_point *points, size_t n, int weak);

#endif
