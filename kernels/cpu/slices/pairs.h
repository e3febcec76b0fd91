/* Soft two-point correlations through correlations of a few fields. */
#ifndef MF_KERNELS_CPU_PAIRS_H
#define MF_KERNELS_CPU_PAIRS_H

#include "kernels/cpu/slices/packed.h"

/** One lag after the other (masks.c): what a plan becomes where that is faster, or alone exact. */
extern const struct mf_cpu_family mf_cpu_pair_masks;

#endif
