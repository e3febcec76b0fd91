/* Memory that all ranks of a node see. A rank writes straight into its neighbour's buffer: one copy instead of the two
 * or three of a message. Inner header of this room. */
#ifndef MF_MPI_SHARE_H
#define MF_MPI_SHARE_H

#include <stddef.h>

#include "mpi/card.h"
#include "mpi/comm.h"

struct mf_share {
    char *own;
    char **at;       /* [size] every rank's memory, at[rank] == own; NULL: it is on another node */
    size_t *bytes;   /* [size] */
    size_t borrowed; /* of all but this rank (src/base/resident.h) */
    int size;
};

/**
 * Opens @p bytes (may differ, may be 0) of cleared, 64-byte aligned memory per rank to all ranks of its node. *share is
 * NULL on all ranks where that is not possible on one of them: ranks of a node in several containers, no /proc, or
 * MF_SHARE=0 in its environment. Collective.
 */
void mf_share_new(const struct mf_comm *comm, size_t bytes, struct mf_share **share);

/** Are there several ranks, and is it not forbidden? Not collective. */
int mf_share_wanted(const struct mf_comm *comm);

/** Accepts NULL. Not collective: the memory lives until the last rank frees it. */
void mf_share_free(struct mf_share *share);

#endif
