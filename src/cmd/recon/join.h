/* Combines descriptors of images as the sides of one target, for merge and for match of three images. */
#ifndef MF_CMD_RECON_JOIN_H
#define MF_CMD_RECON_JOIN_H

#include "io/target.h"
#include "src/base/opt.h"

/** For merge and interpolate, whose options struct has `long lag`. */
#define MF_JOIN_LAG_ROW(type)                   \
    MF_OPT(type, "limit_to", lag, MF_LONG, "0", \
           "lags of .npy files of S2 (numpy.fft.fftshift: zero lag in the middle); 0: as many as they have")

/** Is --limit_to valid, and not given for descriptor files only, which have a lag of their own? @p files [n]. MF_USAGE.
 * Local. */
int mf_join_lag(const struct mf_options *options, long lag, size_t n, const char *const *files);

/** Loads a descriptor file, or an array of S2 (.npy) with @p lag lags (0: all). Collective; as mf_target_load(),
 * _import(). */
int mf_join_load(const struct mf_comm *comm, const char *file, long lag, struct mf_target *target);

/**
 * Refuses (MF_INPUT, naming both files) targets that cannot become one. They have other lags, labels, periodicity, soft
 * thresholds, size or unit of pixels. Not collective.
 */
int mf_join_alike(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second);

/** The same for sides of one target, which must not have three sides already. Not collective. */
int mf_join_check(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second);

/**
 * Makes sides z, y, x of *to from the only sides of from[0..2], which are moved. Everything else is that of the first.
 * The hash is that of the three hashes. Cross-correlations are kept if all have them. Not collective; cannot fail.
 */
void mf_join(struct mf_target from[3], const char *const file[3], struct mf_target *to);

/**
 * Slices of one volume have the same mean volume fraction in every direction. Warns once if the sides of @p t differ by
 * more than images of one material do. It names the two sides by @p file (NULL: directions). Not collective.
 */
void mf_join_compare(const struct mf_target *t, const char *const file[3]);

#endif
