/* How a micrograph is measured: where its fields stay, what part counts, and which slices are looked at. Also how long
 * a voxel is, and which network is asked. */
#ifndef MF_RECON_MICROGRAPH_H
#define MF_RECON_MICROGRAPH_H

#include "io/crop.h"
#include "io/target.h"
#include "kernels/slices/vgg.h"
#include "src/base/lists.h"
#include "src/desc/characterize.h"
#include "src/desc/vgg_weights.h"
#include "src/recon/workload.h"
#include "src/session/session.h"

/** Defaults of numbers by which it is measured: X(field, value). */
#define MF_MEASURE_DEFAULTS(X) X(lag, 16) X(soft, 0.75) X(steepness, 10)

/* -- how it is read -- */

/** mf_micro_read() of @p read, and with these values. Refuses as that does, and as mf_spacing_fits(). Collective. */
int mf_micrograph_read(const struct mf_session *session, const char *file, const struct mf_reals *spacing,
                       const struct mf_longs *crop, struct mf_micro_read read, struct mf_micro *micro);

/* -- residency -- */

/** Fields stay there until something else decides. Collective; refuses (agreed) with MF_MEMORY. */
int mf_reside(struct mf_session *session, enum mf_residency residency);

/**
 * mf_characterize(). If @p residency leaves it open and the device has not the memory, once more with fields
 * in host memory. They then stay there. The target has the checksum of the field. Collective; refuses (agreed) as that
 * does, and as mf_micro_hash().
 */
int mf_reside_characterize(struct mf_session *session, enum mf_residency residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_solve(), as long as it has not begun; then with @p batch slices in flight. */
int mf_reside_solve(struct mf_session *session, enum mf_residency residency, const size_t dims[3],
                    const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                    struct mf_solve_result *result);

/* -- masks -- */

/** Have all descriptors called @p names a masked form, with lags below @p lag? MF_USAGE. Not collective. */
int mf_mask_check(size_t count, const char *const *names, long lag);

/**
 * mf_reside_characterize() of what counts of @p micro, which has a mask and becomes a field of one phase more.
 * Collective; refuses (agreed) as mf_mask_apply() and mf_mask_divide() do.
 */
int mf_masked_characterize(struct mf_session *session, enum mf_residency residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/* -- slice modes, symmetries -- */

/** Slices of a volume that are looked at: all, a random one of each direction, or the first. */
enum mf_slice_mode { MF_SLICES_ALL, MF_SLICES_SAMPLE, MF_SLICES_SURFACE };

/** Refuses (MF_USAGE) what knows no single slices: a mask, turns of a cube, descriptors of whole volumes. The turns
 * are @p symmetry, and the descriptors are @p more: mf_descriptors_want(). Not collective. */
int mf_sample_check(enum mf_slice_mode mode, enum mf_symmetry symmetry, unsigned more, int is_masked);

/** Refuses (MF_USAGE) to take slices of an image. Says that --isotropic is nothing there, or means over lags of
 * different lengths. Says that --grey_values (@p grey) finds labels. Says what a symmetry of volumes is of an image, or
 * the other way round. Not collective. */
int mf_sample_fits(enum mf_slice_mode mode, enum mf_symmetry symmetry, int isotropic, int grey,
                   const struct mf_micro *micro);

/**
 * mf_reside_characterize() of one slice of each direction of a volume, by the seed. Each is an image, and its side is a
 * side of the target; with opts->isotropic their mean. With MF_SLICES_ALL any field, as it is. Collective.
 */
int mf_sample_characterize(struct mf_session *session, enum mf_residency residency, enum mf_slice_mode mode,
                           struct mf_micro *micro, const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_characterize_measure(). */
int mf_sample_measure(const struct mf_session *session, enum mf_slice_mode mode, const struct mf_micro *micro,
                      const struct mf_characterize_opts *opts);

/* -- crops -- */

/** Refuses values that no part of an image has, and both options: MF_USAGE. Local. */
int mf_crop_check(const struct mf_longs *crop, int crop_bar);

/** That part, in @p room; NULL: it was not given. */
const struct mf_crop *mf_crop_of(const struct mf_longs *crop, struct mf_crop *room);

/* -- spacings -- */

/** Refuses values that none can be: MF_USAGE. Local. */
int mf_spacing_check(const struct mf_reals *given);

/** Refuses values that an array of @p ndim axes does not take. An image has no z, a volume needs it. MF_USAGE. Local.
 */
int mf_spacing_fits(const struct mf_reals *given, int ndim);

/** Spreads them over z, y, x; an axis without a value gets 1. */
void mf_spacing_spread(const struct mf_reals *given, double spacing[3]);

/* -- VGG-19 -- */

/** Is there a file of weights, @p file or by rank 0's environment? Collective, the same on all ranks. */
int mf_gram_weights_named(const struct mf_session *session, const char *file);

/**
 * Loads it from @p file, or where that is NULL from the file that MESOFORGE_GRAM_WEIGHTS names. Where none of @p more
 * needs one, *vgg is NULL. Collective; refuses (agreed) with MF_USAGE (no file is named), MF_INPUT, MF_MEMORY.
 */
int mf_gram_weights_open(const struct mf_session *session, const char *file, enum mf_unit unit, unsigned more,
                         struct mf_vgg **vgg);

#endif
