/* --gram_weights_filename and --nl_method: the network of the descriptors that need one. */
#ifndef MF_CMD_NETWORK_H
#define MF_CMD_NETWORK_H

#include "io/target.h"
#include "kernels/slices/vgg.h"
#include "src/cmd/cmd.h"

#define MF_UNIT_CHOICES "relu|gelu|silu|elu|leaky_relu"

/** Does one of the further descriptors @p more (bits 1 << enum mf_more) need a network? */
int mf_network_wanted(unsigned more);

/** Is there a file of weights, @p file or by rank 0's environment? Collective, the same on all ranks. */
int mf_network_named(const struct mf_session *session, const char *file);

/** Are slices of @p micro large enough for it, on all pyramid levels that L = @p lag leaves (0: full resolution alone),
 * and, of all phases @p together, these few enough to be its colours? */
int mf_network_feeds(const struct mf_micro *micro, size_t lag, int together);

/** The unit that was asked for (NULL, "": none), else that of @p target (the first word of its network's name; NULL: a
 * target that is yet to be measured), else the standard one. */
const char *mf_network_unit(const char *asked, const struct mf_target *target);

/** Is it the network that a target was made with, if it says which? MF_INPUT. Not collective. */
int mf_network_same(const struct mf_target *target, const struct mf_vgg *vgg);

/** Says of the two options that they have no effect where no descriptor needs them. */
void mf_network_unused(const struct mf_options *options, unsigned more);

/**
 * Loads it from @p file, or where that is NULL from the file that MESOFORGE_GRAM_WEIGHTS names; *vgg is NULL where none
 * of @p more needs one. Collective; refuses (agreed) with MF_USAGE (no file is named), MF_INPUT, MF_MEMORY.
 */
int mf_network_open(const struct mf_session *session, const char *file, const char *unit, unsigned more,
                    struct mf_vgg **vgg);

#endif
