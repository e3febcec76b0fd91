/* --mask: what of an input is not counted. */
#ifndef MF_CMD_MASK_H
#define MF_CMD_MASK_H

#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"

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

#endif
