/* Memory that all ranks of a node see. A rank writes straight into its neighbour's buffer: one copy instead of the two
 * or three of a message. Inner header of this folder. */
#ifndef MF_MPI_SHARE_H
#define MF_MPI_SHARE_H

#include <stddef.h>

#include "mpi/card.h"
#include "mpi/comm.h"

struct mf_share {
    char *own;
    char **at;       /* [size] every rank's memory, at[rank] == own; NULL: on another node */
    size_t *bytes;   /* [size] */
    size_t borrowed; /* bytes of all other ranks (src/base/resident.h) */
    int size;
};

/**
 * Opens @p bytes (may differ, may be 0) of cleared, 64-byte aligned memory per rank to all ranks of its node. If one of
 * them cannot share memory, *share is NULL on all ranks. That is so where its node has several containers or no /proc,
 * or where MF_SHARE=0 is set. Collective.
 */
void mf_share_new(const struct mf_comm *comm, size_t bytes, struct mf_share **share);

/** Are there several ranks, and does MF_SHARE allow sharing? Not collective. */
int mf_share_wanted(const struct mf_comm *comm);

/** Frees the memory; NULL is allowed. The memory lives until the last rank frees it. Not collective. */
void mf_share_free(struct mf_share *share);

#endif
