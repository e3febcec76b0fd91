/* report --follow: the rows of a run's metrics as they come, until the run ends. On a terminal it is a table that
 * refreshes, else a line for each row. */
#ifndef MF_CMD_HOST_REPORT_FOLLOW_H
#define MF_CMD_HOST_REPORT_FOLLOW_H

#include "src/cmd/common.h"

/**
 * Follows the metrics file @p file. The run lasts while it holds the lock of its output (io/lock.h). Where locks cannot
 * be seen it has ended 20 s after its last row. Rank 0 prints, with --json the rows as they stand. Then it says whether
 * the run ended, left a checkpoint, or is gone. Collective; refuses (agreed) with MF_INPUT, MF_OUTPUT.
 */
int mf_report_follow(const struct mf_session *session, const char *file);

#endif
