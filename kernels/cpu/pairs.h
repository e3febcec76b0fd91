/* Soft two-point correlations through correlations of a few fields. */
#ifndef MF_KERNELS_CPU_PAIRS_H
#define MF_KERNELS_CPU_PAIRS_H

#include "kernels/cpu/dense.h"

/** Is it faster than a pass for every lag, and as exact? Of the description alone. */
int mf_pairs_win(const struct mf_slice_desc *desc);

extern const struct mf_cpu_family mf_cpu_pairs;

#endif
