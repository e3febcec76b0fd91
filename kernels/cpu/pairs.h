/* Soft two-point correlations through correlations of a few fields. */
#ifndef MF_KERNELS_CPU_PAIRS_H
#define MF_KERNELS_CPU_PAIRS_H

#include "kernels/cpu/dense.h"

/** How many fields a plan of the description takes; 0: a pass for every lag, as few lags are faster so, and a steep
 * threshold is exact only so. */
int mf_pairs_terms(const struct mf_slice_desc *desc);

/** For L >= MF_COST_PAIRS_LAG; a plan whose threshold is too steep takes the second family by itself. */
extern const struct mf_cpu_family mf_cpu_pairs, mf_cpu_pair_masks;

#endif
