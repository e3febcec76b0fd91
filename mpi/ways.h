/* The groups of ranks of a mixture of experts. Each `ways` ranks that follow each other share the experts of a layer.
 * They are on one node where `ways` divides its ranks. Links within a node are fast, and rows travel often. Rank r has
 * part r % ways of the experts, and is in replica r / ways. */
#ifndef MF_MPI_WAYS_H
#define MF_MPI_WAYS_H

#include "mpi/comm.h"

struct mf_ways {
    int ways, way;           /* parts of the experts, and the number of this rank's */
    struct mf_comm experts;  /* MF_AMONG_EXPERTS: `ways` ranks that have all experts together */
    struct mf_comm replicas; /* MF_AMONG_REPLICAS: the ranks that have the same part */
};

/** The most parts, at most @p wish, among which @p ranks can share @p experts (at least 1). It divides the ranks, and
 * no part is empty. Local. */
int mf_ways_fit(int ranks, size_t experts, int wish);

/** Splits @p comm, with transports where it has one. Collective. Refuses (agreed) with MF_USAGE where @p ways does not
 * divide the ranks. Refuses also as mf_comm_split() and mf_transport_split(). Call mf_ways_close() to end them, also
 * after a refusal.
 */
int mf_ways_open(const struct mf_comm *comm, int ways, struct mf_ways *w);
void mf_ways_close(struct mf_ways *w);

#endif
