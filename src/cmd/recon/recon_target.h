/* Makes targets from micrographs. */
#ifndef MF_CMD_RECON_RECON_TARGET_H
#define MF_CMD_RECON_RECON_TARGET_H

#include "src/cmd/recon/recon_opts.h"

/**
 * Measures o->files (one or three) and makes their targets, with all descriptors of the run. If the program chooses
 * descriptors, the first file decides. @p dims: extents of the micrographs, {0, ny, nx} for an image. Collective;
 * refuses (agreed), and then there is nothing to free.
 */
int mf_recon_measure(struct mf_session *s, struct mf_recon_cmd *o, struct mf_target *target, size_t (*dims)[3]);

/** Is there anything to reconstruct? MF_INPUT: one phase fills everything. Not collective. */
int mf_recon_worth(const struct mf_target *target);

#endif
