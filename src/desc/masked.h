/* Descriptors of a labelled field with a mask. Voxels under the mask do not count, nor do pairs that contain one. The
 * masked voxels become a phase of their own. Its descriptors divided by those of the counted voxels are means over
 * counted pairs. */
#ifndef MF_DESC_MASKED_H
#define MF_DESC_MASKED_H

#include "src/desc/characterize.h"

/** Can all descriptors called @p names be measured with a mask? MF_USAGE names the first that cannot. Not
 * collective. */
int mf_mask_known(size_t count, const char *const *names);

/**
 * Voxels under micro->mask become an additional phase; the mask becomes 1 where a voxel counts, else 0. Not collective;
 * all ranks refuse alike. MF_INPUT: a grey field. MF_USAGE: too many phases.
 */
int mf_mask_apply(struct mf_micro *micro);

/** The options to characterise both fields with, given @p opts. */
struct mf_characterize_opts mf_mask_opts(const struct mf_characterize_opts *opts);

/**
 * Combines the descriptors of both fields to those of @p opts: one level, without the phase of the mask. Results of
 * transforms are rounded to the exact numbers of pairs. Refuses with MF_USAGE if no two counted voxels, or too few to
 * be certain, are some lag apart; with MF_MEMORY. Not collective.
 */
int mf_mask_divide(struct mf_target *all, struct mf_target *counted, const struct mf_characterize_opts *opts,
                   struct mf_target *out);

#endif
