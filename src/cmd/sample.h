/* --slice_mode: one slice of each direction of a volume instead of all. */
#ifndef MF_CMD_SAMPLE_H
#define MF_CMD_SAMPLE_H

#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"

/** The row of --slice_mode in the options of a verb; @p name as the verb spells it. */
#define MF_SLICE_MODE_ROW(type, name)                                             \
    MF_CHOICE(type, name, slice_mode, "average", "average|sample|sample_surface", \
              "volumes: mean of all slices, one random slice per direction, or slice 0")

/** Refuses (MF_USAGE) what knows no single slices: a mask, turns of a cube (@p symmetry: its word), descriptors of
 * whole volumes (@p more: mf_descriptors_want()). Not collective. */
int mf_sample_check(const char *mode, const char *symmetry, unsigned more, int is_masked);

/** Refuses (MF_USAGE) to take slices of an image; says that --isotropic is nothing there, or means over lags of
 * different lengths, that --grey_values (@p grey) finds labels, and what a symmetry of volumes is of an image, or the
 * other way round. Not collective. */
int mf_sample_fits(const char *mode, const char *symmetry, int isotropic, int grey, const struct mf_micro *micro);

/**
 * mf_reside_characterize() of one slice of each direction of a volume, by the seed; each an image, its side a side of
 * the target; with opts->isotropic their mean. Any field in the mode "average", as it is. Collective.
 */
int mf_sample_characterize(struct mf_session *session, const char *residency, const char *mode, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_characterize_measure(). */
int mf_sample_measure(const struct mf_session *session, const char *mode, const struct mf_micro *micro,
                      const struct mf_characterize_opts *opts);

#endif
