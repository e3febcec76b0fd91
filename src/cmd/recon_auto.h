/* --descriptor_types auto: a recipe (src/recon/recipe.h) in place of the options that were not given. */
#ifndef MF_CMD_RECON_AUTO_H
#define MF_CMD_RECON_AUTO_H

#include "src/cmd/recon_opts.h"

/**
 * Looks at the target of a micrograph and fills in descriptors, weights and what else a recipe names and the user does
 * not; says which it is and why. @p volume: the result, or the micrograph, has three axes. Collective; refuses (agreed)
 * with MF_INPUT, MF_MEMORY.
 */
int mf_recon_choose(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_target *target,
                    int volume);

/** Where nobody said what L is: at most half of the shortest edge of the micrograph and of the result. */
void mf_recon_fit(const struct mf_session *session, struct mf_recon_cmd *o, const struct mf_micro *micro);

#endif
