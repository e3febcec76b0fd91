/* The options by which several verbs read and measure a micrograph (src/recon/micrograph.h). */
#ifndef MF_CMD_MICROGRAPH_H
#define MF_CMD_MICROGRAPH_H

#include "src/base/opt.h"
#include "src/cmd/cmd.h"
#include "src/recon/micrograph.h"

/* -- how a micrograph is read -- */

/** Rows in the options of a verb. @p at: empty, or the member that has their fields, as "match.". They are the array of
 * a file, the part of it that counts, and the length of a voxel. */
#define MF_ARRAY_ROWS(type, at)                                                                                        \
    MF_OPT(type, "dataset", at dataset, MF_NAME, NULL,                                                                 \
           "which array of an HDF5, DREAM.3D or VTK file, where it is not given as FILE:ARRAY"),                       \
        MF_OPT(type, "crop", at crop, MF_LONGS, NULL, "Y X HEIGHT WIDTH [pixels]: the part of an image that is read"), \
        MF_OPT(type, "crop-bar", at crop_bar, MF_FLAG, NULL,                                                           \
               "finds the data bar at the bottom or the top of an image, and cuts it off"),                            \
        MF_OPT(type, "spacing", at spacing, MF_REALS, NULL, "edge of a voxel [unit]: one value, or z y x (2-D: y x)"), \
        MF_OPT(type, "unit", at unit, MF_NAME, NULL, "unit of the spacing, as um")

/** Which of its values are phases (of reconstruct: those of the initial field and of fixed voxels). */
#define MF_LABEL_ROWS(type, at)                                                                                       \
    MF_OPT(type, "threshold", at threshold, MF_NAME, NULL, "binarise grey input: otsu, or phase 1 above this value"), \
        MF_OPT(type, "labels", at labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as 0,128,255")
#define MF_PHASES_ROWS(type, at)                                                        \
    MF_LABEL_ROWS(type, at), MF_OPT(type, "grey-values", at grey_values, MF_FLAG, NULL, \
                                    "real values in [0,1] are an indicator, not binarised")

/* -- where fields stay: --residency -- */

/** The row of --residency in the options of a verb. */
#define MF_RESIDENCY_ROW(type, at)                                                                                   \
    MF_CHOICE(type, "residency", at residency, "auto", "auto|device|host",                                           \
              "where what is as large as the volume stays: on the device, or in host memory from where slices pass " \
              "through it; auto: on the device if it fits")

/* -- --mask -- */

/** The row of --mask in the options of a verb. */
#define MF_MASK_ROW(type, at)                                                                                      \
    MF_OPT(type, "mask", at mask, MF_NAME, NULL,                                                                   \
           "leaves out the voxels where this file (or FILE:ARRAY), as large as the input, is above 0; pairs that " \
           "one of them is in "                                                                                    \
           "do not count")

/* -- --slice_mode, --symmetry -- */

/** The row of --slice_mode in the options of a verb; @p name as the verb spells it. */
#define MF_SLICE_MODE_ROW(type, name, at)                                            \
    MF_CHOICE(type, name, at slice_mode, "average", "average|sample|sample_surface", \
              "volumes: mean of all slices, one random slice per direction, or slice 0")

/** The command that was typed, for hints; the caller frees. */
char *mf_command_typed(const struct mf_session *session);

/* -- --gram_weights_filename, --nl_method -- */

/** Says of the two options that they have no effect where no descriptor needs them. */
void mf_gram_weights_unused(const struct mf_options *options, unsigned more);

#endif
