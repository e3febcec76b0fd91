/* --gram_weights_filename and --nl_method: the VGG-19 of descriptors that need it. */
#ifndef MF_CMD_GRAM_WEIGHTS_H
#define MF_CMD_GRAM_WEIGHTS_H

#include "io/target.h"
#include "kernels/slices/vgg.h"
#include "src/cmd/session.h"
#include "src/desc/vgg_weights.h"

#define MF_UNIT_CHOICES "relu|gelu|silu|elu|leaky_relu"

/** Is there a file of weights, @p file or by rank 0's environment? Collective, the same on all ranks. */
int mf_gram_weights_named(const struct mf_session *session, const char *file);

/** Says of the two options that they have no effect where no descriptor needs them. */
void mf_gram_weights_unused(const struct mf_options *options, unsigned more);

/**
 * Loads it from @p file, or where that is NULL from the file that MESOFORGE_GRAM_WEIGHTS names; *vgg is NULL where none
 * of @p more needs one. Collective; refuses (agreed) with MF_USAGE (no file is named), MF_INPUT, MF_MEMORY.
 */
int mf_gram_weights_open(const struct mf_session *session, const char *file, const char *unit, unsigned more,
                         struct mf_vgg **vgg);

#endif
