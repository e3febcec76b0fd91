/* --slice_mode: characterises one slice per direction of a volume instead of all slices.
 * Rule: in the mode "average" every function passes the field on unchanged. */
#ifndef MF_CMD_SLICE_MODE_H
#define MF_CMD_SLICE_MODE_H

#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"

/** The row of --slice_mode in the options of a verb; @p name as the verb spells it. */
#define MF_SLICE_MODE_ROW(type, name)                                             \
    MF_CHOICE(type, name, slice_mode, "average", "average|sample|sample_surface", \
              "volumes: mean of all slices, one random slice per direction, or slice 0")

/** Refuses (MF_USAGE) options that need all slices: a mask, the symmetry of a cube, and descriptors of whole volumes
 * (@p more: mf_descriptors_want()). Local. */
int mf_slice_mode_check(const char *mode, const char *symmetry, unsigned more, int is_masked);

/** Compares the options with the field. Refuses (MF_USAGE) single slices of an image. Warns where --isotropic,
 * --grey_values (@p grey) or --symmetry has no effect or another meaning for this field. Local. */
int mf_slice_mode_fits(const char *mode, const char *symmetry, int isotropic, int grey, const struct mf_micro *micro);

/**
 * mf_reside_characterize() of one slice per direction; the seed chooses the slice. Each slice is an image and gives one
 * side of the target. With opts->isotropic the target holds their mean. Collective.
 */
int mf_slice_mode_characterize(struct mf_session *session, const char *residency, const char *mode,
                               struct mf_micro *micro, const struct mf_characterize_opts *opts, struct mf_target *out);

/** mf_characterize_measure() of these slices. Collective. */
int mf_slice_mode_measure(const struct mf_session *session, const char *mode, const struct mf_micro *micro,
                          const struct mf_characterize_opts *opts);

#endif
