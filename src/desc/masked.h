/* Descriptors of a labelled field that has a mask. Voxels under the mask count nowhere, nor does any pair that contains
 * one. The masked voxels become a phase of their own; its descriptors divided by those of the counted voxels are means
 * over counted pairs. */
#ifndef MF_DESC_MASKED_H
#define MF_DESC_MASKED_H

#include "src/desc/characterize.h"

/** Have all descriptors called @p names a masked form? MF_USAGE names the first that has none. Not collective. */
int mf_mask_known(size_t count, const char *const *names);

/**
 * Voxels under micro->mask become one phase more; the mask becomes 1 where a voxel counts, else 0. Not collective; all
 * ranks refuse alike, with MF_INPUT: a grey field; MF_USAGE: too many phases.
 */
int mf_mask_apply(struct mf_micro *micro);

/** What both fields are to be characterised with, for @p opts. */
struct mf_characterize_opts mf_mask_opts(const struct mf_characterize_opts *opts);

/**
 * From the descriptors of both fields to those of @p opts: one level, without the phase of the mask. What transforms
 * made of both becomes what whole numbers of pairs make. Refuses with MF_USAGE where no two counted voxels are some lag
 * apart, or too few to be told from none, MF_MEMORY. Not collective.
 */
int mf_mask_divide(struct mf_target *all, struct mf_target *counted, const struct mf_characterize_opts *opts,
                   struct mf_target *out);

#endif
