/* The median of a sample. Inner header of this folder. */
#ifndef MF_BENCH_MEDIAN_H
#define MF_BENCH_MEDIAN_H

#include <stddef.h>

/** Sorts @p sample [n], n > 0, and returns its median. */
double mf_bench_median(double *sample, size_t n);

#endif
