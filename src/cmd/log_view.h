/* --log-view: where a run spent its time, on all ranks, compared with peak rates of its cores. Names: src/base/phase.h;
 * bytes and operations: kernels/cost.h. */
#ifndef MF_CMD_LOG_VIEW_H
#define MF_CMD_LOG_VIEW_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"

/** The row of the option, for verbs that have it. */
extern const struct mf_opt mf_log_view_rows[];

/**
 * Prints the table on rank 0's standard output, unless --json was given or nothing was run. Measures the peak rates
 * first. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_log_view_print(const struct mf_session *session);

/** The same as a member "log_view" of @p at (rank 0's; others' are ignored), if --log-view and --json were given. */
int mf_log_view_json(const struct mf_session *session, struct mf_json *at);

#endif
