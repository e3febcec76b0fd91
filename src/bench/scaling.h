/* Times on several numbers of ranks: speedup, efficiency, serial share. */
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
    double speedup;    /* relative to one rank; weak: of work that grows with the ranks */
    double efficiency; /* speedup / ranks */
    double serial;     /* serial fraction (Karp and Flatt 1990); strong, from two ranks on */
};

/**
 * Sets medians, speedups, efficiencies and serial fractions of points [n] from their samples. The first point is the
 * reference: its own speedup counts as its number of ranks. With @p weak the extents grew with the ranks.
 */
void mf_bench_scaling(struct mf_bench_point *points, size_t n, int weak);

#endif
