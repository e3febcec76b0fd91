/* Node all-reduce: sums over ranks through memory that the ranks of a node share. Every rank adds its part of a large
 * vector, or all of a short one. With several nodes, each part is then added across nodes by MPI. Inner header of this
 * room. */
#ifndef MF_MPI_NODE_REDUCE_H
#define MF_MPI_NODE_REDUCE_H

#include <stddef.h>

#include "mpi/comm.h"

enum mf_reduce_type { MF_REDUCE_DOUBLE, MF_REDUCE_FLOAT, MF_REDUCE_INT };

struct mf_node_reduce;

/** Takes a few MiB of shared memory per node. NULL, and sums are left to MPI: where ranks share no memory (share.h), or
 * nodes do not all hold the same number of ranks, at least two. Collective. */
struct mf_node_reduce *mf_node_reduce_new(const struct mf_comm *comm);
void mf_node_reduce_free(struct mf_node_reduce *reduce);

/** Is a sum of so many bytes faster here than by MPI? The same answer on all ranks. NULL: never. Not collective. */
int mf_node_reduce_wants(const struct mf_node_reduce *reduce, size_t bytes);

/** Replaces @p values [n] by their sums over ranks. On one node they are added in the order of the ranks. Every rank
 * gets the same bits. Collective. */
void mf_node_reduce_sum(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, void *values);

/** Everything written by any rank of this node before is seen by every one of them after. Collective. */
void mf_node_reduce_meet(struct mf_node_reduce *reduce);

#endif
