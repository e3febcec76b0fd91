/* Where every rank runs: host, GPU, cores, network adapter. */
#ifndef MF_SESSION_WHERE_H
#define MF_SESSION_WHERE_H

#include <stdio.h>

#include "src/plan/probe.h"
#include "src/session/session.h"

/** The location of a rank. */
struct mf_where {
    char cores[512], numa[128]; /* "0-3,8"; their NUMA nodes, "": not known */
    char nic[48];               /* the nearest network adapter, "": none */
    double share;               /* number of these cores for this rank, if ranks that may use them share equally */
};

/** gpu [ranks]: index of each rank's GPU among those that it sees, -1: none. Collective; the caller frees *all
 * [ranks]. */
int mf_where_find(const struct mf_session *session, const struct mf_probe *probe, const int *gpu,
                  struct mf_where **all);

/** Prints a table with one line per rank. */
void mf_where_print(FILE *to, const struct mf_probe *probe, const int *gpu, const struct mf_where *all);

/** The NUMA node of this rank's GPU; -1: it has none, or the node is not known. */
int mf_where_near(const struct mf_session *session, const struct mf_probe *probe, const int *gpu);

/**
 * At the start of a run with GPU number @p device of its back end: binds cores (mf_session_pin()). With --verbose it
 * logs the table. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_where_settle(const struct mf_session *session, int device);

#endif
