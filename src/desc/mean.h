/* Means of descriptors: over directions, over images. */
#ifndef MF_DESC_MEAN_H
#define MF_DESC_MEAN_H

#include "io/target.h"

/**
 * The mean of @p count sides (same phases and lag), each with the same weight, on the levels that all have; extents are
 * the smallest, slices the sum, the example the first one's. MF_MEMORY.
 */
int mf_side_mean(const struct mf_target_side *const *sides, size_t count, int phases, size_t lag,
                 struct mf_target_side *mean);

/** Three sides become one, their mean. One side stays. MF_MEMORY. */
int mf_target_isotropic(struct mf_target *target);

/**
 * The mean of @p count targets, side by side. Refuses with MF_INPUT when their labels, lags or numbers of sides differ.
 * Spacing, unit and hash are those of the first.
 */
int mf_target_mean(const struct mf_target *targets, size_t count, struct mf_target *mean);

#endif
