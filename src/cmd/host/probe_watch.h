/* probe --watch: use of cores, memory and GPUs of all nodes, again and again. On a terminal it is a table that
 * refreshes, else a line for each row. Rule: whoever ends the program ends it; nothing is left behind. */
#ifndef MF_CMD_HOST_PROBE_WATCH_H
#define MF_CMD_HOST_PROBE_WATCH_H

#include "src/cmd/common.h"
#include "src/plan/probe.h"

/** Reads "1s", "10min" or "0.5h" of --watch, from 0.1 s to an hour. Refuses others: MF_USAGE. Local. */
int mf_probe_period(const char *text, double *seconds);

/**
 * Looks every @p period seconds, from now on for @p limit seconds (0: until a signal ends the program). Rank 0 prints;
 * it ends also where nobody reads any more. Rows have the columns of docs/FILES.md: lines of CSV, or with --json of
 * JSON. Collective; refuses (agreed) with MF_MEMORY, MF_OUTPUT.
 */
int mf_probe_watch(const struct mf_session *session, const struct mf_probe *probe, double period, double limit);

#endif
