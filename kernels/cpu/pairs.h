/* Soft two-point correlations through correlations of a few fields. */
#ifndef MF_KERNELS_CPU_PAIRS_H
#define MF_KERNELS_CPU_PAIRS_H

#include "kernels/cpu/dense.h"
#include "kernels/cpu/terms.h"

enum { MF_PAIRS_LAG = 8 /* L from which on a transform for each field is faster than a pass for each lag */ };

/** Fills the products that a plan of the description takes. 0: a pass for every lag, as few lags are faster so, and a
 * steep threshold is exact only so. */
int mf_pairs_terms(const struct mf_slice_desc *desc, struct mf_terms *terms);

/** A plan without products takes the second family by itself. */
extern const struct mf_cpu_family mf_cpu_pairs, mf_cpu_pair_masks;

#endif
