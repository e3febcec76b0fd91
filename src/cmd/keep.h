/* When a run saves itself and when it leaves, from the options --checkpoint-every, --max-hours and --restart. */
#ifndef MF_CMD_KEEP_H
#define MF_CMD_KEEP_H

#include "src/cmd/cmd.h"
#include "src/run/keeper.h"

/** Checks @p every and @p hours: MF_USAGE. Not collective: rank 0 alone must know when its job ends. */
int mf_keep_check(const struct mf_session *session, const char *every, const char *hours);

/** What they say, once they were checked; the names of files are left to the run (src/run/run.h). */
struct mf_keeper_opts mf_keep_opts(const struct mf_session *session, const char *every, const char *hours,
                                   const char *restart);

#endif
