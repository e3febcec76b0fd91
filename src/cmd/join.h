/* Descriptors of images as the sides of one target: what merge writes and what match of three images aims at. */
#ifndef MF_CMD_JOIN_H
#define MF_CMD_JOIN_H

#include "io/target.h"

/**
 * Refuses (MF_INPUT, naming both files) targets that cannot become one: other lags, labels, periodicity, soft
 * thresholds, size or unit of pixels. Not collective.
 */
int mf_join_alike(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second);

/** The same for the sides of one target: which have not three sides already. Not collective. */
int mf_join_check(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second);

/**
 * Sides z, y, x of *to from the only sides of from[0..2], which move; everything else is that of the first. The hash is
 * that of the three hashes. Cross-correlations stay where all have them. Not collective; cannot fail.
 */
void mf_join(struct mf_target from[3], const char *const file[3], struct mf_target *to);

/**
 * Slices of one volume have one volume fraction in the mean, whatever their direction: one warning where those of the
 * sides of @p t differ by more than images of one material do, with the two sides' @p file names, NULL: directions. Not
 * collective.
 */
void mf_join_compare(const struct mf_target *t, const char *const file[3]);

#endif
