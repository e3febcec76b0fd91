/* Means of descriptors over directions and over images. */
#ifndef MF_DESC_MEAN_H
#define MF_DESC_MEAN_H

#include "io/target.h"

/**
 * The mean of @p count sides (same phases and lag), with weights that sum to 1 (NULL: equal). It has the levels and
 * descriptors that all sides have. Extents are the smallest; slices are the sum of those with a weight; the example is
 * the first one's. MF_MEMORY.
 */
int mf_side_mean(const struct mf_target_side *const *sides, size_t count, const double *weight, int phases, size_t lag,
                 struct mf_target_side *mean);

/** Replaces three sides by one, their mean. A single side stays. MF_MEMORY. */
int mf_target_isotropic(struct mf_target *target);

/**
 * The mean of @p count targets, with weights that sum to 1 (NULL: equal). Refuses with MF_INPUT when their labels, lags
 * or numbers of sides differ. Spacing, unit and hash are those of the first.
 */
int mf_target_mean(const struct mf_target *const *targets, size_t count, const double *weight, struct mf_target *mean);

/**
 * sum += weight * target: a mean computed one target at a time, to save memory. All targets are of fields of one kind
 * and size, so they have the same levels and descriptors. A @p sum of zeros becomes weight times the first target, and
 * keeps its spacing, unit, hash and example. Call mf_target_free(). MF_MEMORY: then the sum is empty again.
 */
int mf_target_add(const struct mf_target *target, double weight, struct mf_target *sum);

/**
 * (1-t) a + t b, value by value, 0 <= t <= 1, for targets of the same phases, lag and kind (mf_join_alike()). It has
 * three sides if one of them has. It has an example only at t = 0 and t = 1. Everything else is that of the end, or of
 * a. Call mf_target_free(). Not collective; MF_MEMORY: nothing is left.
 */
int mf_target_between(const struct mf_target *a, const struct mf_target *b, double t, struct mf_target *to);

#endif
