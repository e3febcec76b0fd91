/* Peak rates of the cores of this run, measured by all ranks at the same time. */
#ifndef MF_CMD_CEILING_H
#define MF_CMD_CEILING_H

#include "src/cmd/cmd.h"
#include "src/plan/probe.h"

/**
 * Rates of this rank in windows that are the same on all ranks, for about 0.2 s. Arrays larger than the caches of @p
 * host come from the session's arena. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_ceiling_run(const struct mf_session *session, const struct mf_host *host, struct mf_probe_rates *rates);

#endif
