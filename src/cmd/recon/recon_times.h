/* Times of bench reconstruct, in place of those of the planner's model (option --measured). They are of S2 and
 * Variation with the defaults, so they replace nothing in a plan of anything else. */
#ifndef MF_CMD_RECON_RECON_TIMES_H
#define MF_CMD_RECON_RECON_TIMES_H

#include "src/cmd/cmd.h"
#include "src/recon/workload.h"

/** Reads the times of @p files that are of the extents of @p work, after mf_recon_work_look(). Warns where there are
 * none. MF_INPUT: a file cannot be read. Not collective. */
int mf_recon_times_read(const struct mf_texts *files, const struct mf_recon_work *work, struct mf_recon_times *times);

#endif
