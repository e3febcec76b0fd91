/* Sums over ranks in memory that those of a node see: every rank adds up its part of a piece, or all of a few numbers,
 * and where there are several nodes its part over them. Inner header of this room. */
#ifndef MF_MPI_NODE_REDUCE_H
#define MF_MPI_NODE_REDUCE_H

#include <stddef.h>

#include "mpi/comm.h"

enum mf_reduce_type { MF_REDUCE_DOUBLE, MF_REDUCE_FLOAT, MF_REDUCE_INT };

struct mf_node_reduce;

/** Memory for it, a few MiB per node; NULL where ranks do not share memory (share.h), there is one, or nodes have not
 * all as many, two at least. Collective. */
struct mf_node_reduce *mf_node_reduce_new(const struct mf_comm *comm);
void mf_node_reduce_free(struct mf_node_reduce *reduce);

/** Is a sum of so many bytes worth it? The same on all ranks. Not collective; NULL: never. */
int mf_node_reduce_wants(const struct mf_node_reduce *reduce, size_t bytes);

/** @p values [n] become their sums, on one node added in the order of the ranks: the same bits on all of them.
 * Collective. */
void mf_node_reduce_sum(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, void *values);

/** Everything written by any rank of this node before is seen by every one of them after. Collective. */
void mf_node_reduce_meet(struct mf_node_reduce *reduce);

#endif
