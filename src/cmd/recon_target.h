/* From micrographs to what is aimed at. */
#ifndef MF_CMD_RECON_TARGET_H
#define MF_CMD_RECON_TARGET_H

#include "src/cmd/recon_opts.h"

/**
 * The targets of o->files (one or three), all for what is aimed at: where that is left to the program it is chosen by
 * the first. @p dims: extents of the micrographs, {0, ny, nx} of an image. Collective; refuses (agreed), and then there
 * is nothing to free.
 */
int mf_recon_measure(struct mf_session *s, struct mf_recon_cmd *o, struct mf_target *target, size_t (*dims)[3]);

#endif
