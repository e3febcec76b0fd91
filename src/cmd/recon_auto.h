/* --descriptor_types auto: a recipe (src/recon/recipe.h) in place of the options that were not given. */
#ifndef MF_CMD_RECON_AUTO_H
#define MF_CMD_RECON_AUTO_H

#include "src/cmd/recon_opts.h"

/** Where the user names no descriptors: auto if there is a micrograph (@p micrograph), or a file that may know what was
 * seen of one, and nothing else is said of what is compared, else S2 and Variation. */
void mf_recon_default(struct mf_recon_cmd *o, int micrograph);

/** MF_USAGE where --explain is given and nothing is chosen. Not collective. */
int mf_recon_may_explain(const struct mf_session *session, const struct mf_recon_cmd *o);

/** What was seen, on one line. */
void mf_auto_explain(const struct mf_target_look *look);

/** "FFTCorrelations 7.6, Variation 3.2, .." */
void mf_auto_list(const struct mf_recipe *recipe, char *text, size_t size);

/**
 * Looks at the target of a micrograph and fills in descriptors, weights and what else a recipe names and the user does
 * not; says which it is and why. @p volume: extents of the micrograph, NULL where it is an image. Collective; refuses
 * (agreed) with MF_USAGE (extents), MF_INPUT, MF_MEMORY.
 */
int mf_recon_choose(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_target *target,
                    const size_t *volume);

/**
 * The same by what a descriptor @p file says was seen of its micrograph; what is measured there stays, but examples are
 * cut as match does. Where the file does not say it, S2 and Variation, if nobody asked for auto. Collective; refuses
 * with MF_USAGE (extents; agreed), MF_INPUT.
 */
int mf_recon_recall(const struct mf_session *session, struct mf_recon_cmd *o, struct mf_target *target,
                    const char *file);

/** Says that L was not asked for and why it is not the standard one. */
void mf_auto_lag(long lag);

/** Where nobody said what L is: at most half of the shortest edge of the micrograph and of the result. Not under
 * --compat mcrpy. Not collective. */
void mf_recon_fit(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_micro *micro);

#endif
