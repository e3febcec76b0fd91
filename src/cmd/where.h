/* Where every rank runs: on which host, with which GPU, on which cores, by which network adapter. */
#ifndef MF_CMD_WHERE_H
#define MF_CMD_WHERE_H

#include <stdio.h>

#include "src/cmd/cmd.h"
#include "src/plan/probe.h"

/** As a rank sees it of itself. */
struct mf_where {
    char cores[512], numa[128]; /* "0-3,8"; the NUMA nodes that these belong to, "": not known */
    char nic[48];               /* the nearest network adapter, "": none */
    double share;               /* of these cores, when the ranks that may use them share fairly */
};

/** gpu [ranks]: the place among its GPUs that each rank takes, -1: none. Collective; the caller frees *all [ranks]. */
int mf_where_find(const struct mf_session *session, const struct mf_probe *probe, const int *gpu,
                  struct mf_where **all);

/** A table, a line per rank. */
void mf_where_print(FILE *to, const struct mf_probe *probe, const int *gpu, const struct mf_where *all);

/** The NUMA node of the GPU that this rank takes; -1: it takes none, or nobody knows. */
int mf_where_near(const struct mf_session *session, const struct mf_probe *probe, const int *gpu);

/**
 * At the start of a run that has GPU number @p device of its back end: cores (mf_session_pin()) and, with --verbose,
 * the table in the log. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_where_settle(const struct mf_session *session, int device);

#endif
