/* Means of descriptors over directions and over images. */
#ifndef MF_DESC_MEAN_H
#define MF_DESC_MEAN_H

#include "io/target.h"

/**
 * The mean of @p count sides (same phases and lag), with weights that add up to 1 (NULL: all alike), of the levels and
 * descriptors that all have; extents are the smallest, slices the sum of those that weigh, the example the first one's.
 * MF_MEMORY.
 */
int mf_side_mean(const struct mf_target_side *const *sides, size_t count, const double *weight, int phases, size_t lag,
                 struct mf_target_side *mean);

/** Three sides become one, their mean. One side stays. MF_MEMORY. */
int mf_target_isotropic(struct mf_target *target);

/**
 * The mean of @p count targets, side by side. Refuses with MF_INPUT when their labels, lags or numbers of sides differ.
 * Spacing, unit and hash are those of the first.
 */
int mf_target_mean(const struct mf_target *targets, size_t count, struct mf_target *mean);

/**
 * sum += weight target, so that a mean need not hold all it is of: of fields of one kind and size, so of the same
 * levels and descriptors. A @p sum of zeros becomes weight times the first one; its spacing, unit, hash and example
 * stay. mf_target_free() it. MF_MEMORY (then the sum is as empty as before).
 */
int mf_target_add(const struct mf_target *target, double weight, struct mf_target *sum);

/**
 * (1-t) a + t b, value by value, 0 <= t <= 1: of two targets of the same phases, lag and kind (mf_join_alike()). Has
 * three sides where one of them has; an example only at t = 0 and t = 1; all else is that of the end, or of a. Not
 * collective; mf_target_free() it. MF_MEMORY: nothing is left.
 */
int mf_target_between(const struct mf_target *a, const struct mf_target *b, double t, struct mf_target *to);

#endif
