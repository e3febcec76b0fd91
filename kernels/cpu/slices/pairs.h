/* Soft two-point correlations as a sum of ordinary correlations of a few fields (terms.h). */
#ifndef MF_KERNELS_CPU_PAIRS_H
#define MF_KERNELS_CPU_PAIRS_H

#include "kernels/cpu/slices/packed.h"

/** The same, lag by lag (masks.c). A plan uses it where it is faster, or where only it is exact. */
extern const struct mf_cpu_family mf_cpu_pair_masks;

#endif
