/* Node all-reduce: sums over ranks through memory that the ranks of a node share. Every rank adds its part of a large
 * vector, or all of a short one. With several nodes, MPI then adds each part across nodes. Inner header of this
 * folder. */
#ifndef MF_MPI_NODE_REDUCE_H
#define MF_MPI_NODE_REDUCE_H

#include <stddef.h>

#include "mpi/comm.h"

enum mf_reduce_type { MF_REDUCE_DOUBLE, MF_REDUCE_FLOAT, MF_REDUCE_INT };

struct mf_node_reduce;

/** Takes a few MiB of shared memory per node. Returns NULL, and leaves sums to MPI, where ranks share no memory
 * (share.h). The same where nodes have different numbers of ranks, or only one each. Collective. */
struct mf_node_reduce *mf_node_reduce_new(const struct mf_comm *comm);
void mf_node_reduce_free(struct mf_node_reduce *reduce);

/** Frees the memory where ranks do not meet again. MPI keeps its communicator. Local. */
void mf_node_reduce_drop(struct mf_node_reduce *reduce);

/** Is a sum of so many bytes faster here than by MPI? The same answer on all ranks. No for NULL. Not collective. */
int mf_node_reduce_wants(const struct mf_node_reduce *reduce, size_t bytes);

/** Replaces @p values [n] by their sums over ranks. On one node they are added in the order of the ranks. Every rank
 * gets the same bits. Collective. */
void mf_node_reduce_sum(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, void *values);

/** A barrier and memory fence of one node. All its ranks see after it what one of them wrote before. Collective. */
void mf_node_reduce_meet(struct mf_node_reduce *reduce);

#endif
