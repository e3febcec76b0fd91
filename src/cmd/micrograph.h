/* How verbs measure a micrograph, by the options that several of them have. They say where its fields stay, what part
 * counts, and which slices are looked at. They also say how long a voxel is, and which network is asked. */
#ifndef MF_CMD_MICROGRAPH_H
#define MF_CMD_MICROGRAPH_H

#include "io/crop.h"
#include "io/target.h"
#include "kernels/slices/vgg.h"
#include "src/base/opt.h"
#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"
#include "src/desc/vgg_weights.h"
#include "src/recon/workload.h"

/* -- how a micrograph is read -- */

/** Rows in the options of a verb. They are the array of a file, the part of it that counts, and the length of a
 * voxel. */
#define MF_ARRAY_ROWS(type)                                                                                         \
    MF_OPT(type, "dataset", dataset, MF_TEXT, NULL,                                                                 \
           "which array of an HDF5, DREAM.3D or VTK file, where it is not given as FILE:ARRAY"),                    \
        MF_OPT(type, "crop", crop, MF_LONGS, NULL, "Y X HEIGHT WIDTH [pixels]: the part of an image that is read"), \
        MF_OPT(type, "crop-bar", crop_bar, MF_FLAG, NULL,                                                           \
               "finds the data bar at the bottom or the top of an image, and cuts it off"),                         \
        MF_OPT(type, "spacing", spacing, MF_REALS, NULL, "edge of a voxel [unit]: one value, or z y x (2-D: y x)"), \
        MF_OPT(type, "unit", unit, MF_TEXT, NULL, "unit of the spacing, as um")

/** Which of its values are phases (of reconstruct: those of the initial field and of fixed voxels). */
#define MF_LABEL_ROWS(type)                                                                                        \
    MF_OPT(type, "threshold", threshold, MF_TEXT, NULL, "binarise grey input: otsu, or phase 1 above this value"), \
        MF_OPT(type, "labels", labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as 0,128,255")
#define MF_PHASES_ROWS(type)                                                     \
    MF_LABEL_ROWS(type), MF_OPT(type, "grey-values", grey_values, MF_FLAG, NULL, \
                                "real values in [0,1] are an indicator, not binarised")

/** mf_micro_read() with --spacing, --crop and the command that was typed. Refuses as that does, and as
 * mf_spacing_fits(). Collective. */
int mf_micrograph_read(const struct mf_session *session, const char *file, const struct mf_reals *spacing,
                       const struct mf_longs *crop, struct mf_micro_read read, struct mf_micro *micro);

/* -- where fields stay: --residency -- */

/** The row of --residency in the options of a verb. */
#define MF_RESIDENCY_ROW(type)                                                                                       \
    MF_CHOICE(type, "residency", residency, "auto", "auto|device|host",                                              \
              "where what is as large as the volume stays: on the device, or in host memory from where slices pass " \
              "through it; auto: on the device if it fits")

/** The same in the planner's words. */
enum mf_residency mf_residency_of(const char *residency);

/** Fields stay where the word says until something else decides. Collective; refuses (agreed) with MF_MEMORY. */
int mf_reside(struct mf_session *session, const char *residency);

/**
 * mf_characterize(). If the word leaves it open and the device has not the memory, once more with fields in host
 * memory. They then stay there. The target has the checksum of the field. Collective; refuses (agreed) as that does,
 * and as mf_micro_hash().
 */
int mf_reside_characterize(struct mf_session *session, const char *residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_solve(), as long as it has not begun; then with @p batch slices in flight. */
int mf_reside_solve(struct mf_session *session, const char *residency, const size_t dims[3],
                    const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                    struct mf_solve_result *result);

/* -- --mask -- */

/** The row of --mask in the options of a verb. */
#define MF_MASK_ROW(type)                                                                                          \
    MF_OPT(type, "mask", mask, MF_TEXT, NULL,                                                                      \
           "leaves out the voxels where this file (or FILE:ARRAY), as large as the input, is above 0; pairs that " \
           "one of them is in "                                                                                    \
           "do not count")

/** Have all descriptors called @p names a masked form, with lags below @p lag? MF_USAGE. Not collective. */
int mf_mask_check(size_t count, const char *const *names, long lag);

/**
 * mf_reside_characterize() of what counts of @p micro, which has a mask and becomes a field of one phase more.
 * Collective; refuses (agreed) as mf_mask_apply() and mf_mask_divide() do.
 */
int mf_masked_characterize(struct mf_session *session, const char *residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/* -- --slice_mode, --symmetry -- */

/** The row of --slice_mode in the options of a verb; @p name as the verb spells it. */
#define MF_SLICE_MODE_ROW(type, name)                                             \
    MF_CHOICE(type, name, slice_mode, "average", "average|sample|sample_surface", \
              "volumes: mean of all slices, one random slice per direction, or slice 0")

/** Refuses (MF_USAGE) what knows no single slices: a mask, turns of a cube, descriptors of whole volumes. The word of
 * the turns is @p symmetry, and the descriptors are @p more: mf_descriptors_want(). Not collective. */
int mf_sample_check(const char *mode, const char *symmetry, unsigned more, int is_masked);

/** Refuses (MF_USAGE) to take slices of an image. Says that --isotropic is nothing there, or means over lags of
 * different lengths. Says that --grey_values (@p grey) finds labels. Says what a symmetry of volumes is of an image, or
 * the other way round. Not collective. */
int mf_sample_fits(const char *mode, const char *symmetry, int isotropic, int grey, const struct mf_micro *micro);

/**
 * mf_reside_characterize() of one slice of each direction of a volume, by the seed. Each is an image, and its side is a
 * side of the target; with opts->isotropic their mean. Any field in the mode "average", as it is. Collective.
 */
int mf_sample_characterize(struct mf_session *session, const char *residency, const char *mode, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_characterize_measure(). */
int mf_sample_measure(const struct mf_session *session, const char *mode, const struct mf_micro *micro,
                      const struct mf_characterize_opts *opts);

/* -- --crop, --crop-bar -- */

/** Refuses values that no part of an image has, and both options: MF_USAGE. Local. */
int mf_crop_check(const struct mf_longs *crop, int crop_bar);

/** That part, in @p room; NULL: it was not given. */
const struct mf_crop *mf_crop_of(const struct mf_longs *crop, struct mf_crop *room);

/** The command that was typed, for hints; the caller frees. */
char *mf_command_typed(const struct mf_session *session);

/* -- --spacing -- */

/** Refuses values that none can be: MF_USAGE. Local. */
int mf_spacing_check(const struct mf_reals *given);

/** Refuses values that an array of @p ndim axes does not take. An image has no z, a volume needs it. MF_USAGE. Local.
 */
int mf_spacing_fits(const struct mf_reals *given, int ndim);

/** Spreads them over z, y, x; an axis without a value gets 1. */
void mf_spacing_spread(const struct mf_reals *given, double spacing[3]);

/* -- --gram_weights_filename, --nl_method -- */

#define MF_UNIT_CHOICES "relu|gelu|silu|elu|leaky_relu"

/** Is there a file of weights, @p file or by rank 0's environment? Collective, the same on all ranks. */
int mf_gram_weights_named(const struct mf_session *session, const char *file);

/** Says of the two options that they have no effect where no descriptor needs them. */
void mf_gram_weights_unused(const struct mf_options *options, unsigned more);

/**
 * Loads it from @p file, or where that is NULL from the file that MESOFORGE_GRAM_WEIGHTS names. Where none of @p more
 * needs one, *vgg is NULL. Collective; refuses (agreed) with MF_USAGE (no file is named), MF_INPUT, MF_MEMORY.
 */
int mf_gram_weights_open(const struct mf_session *session, const char *file, const char *unit, unsigned more,
                         struct mf_vgg **vgg);

#endif
