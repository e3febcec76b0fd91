/* Sums over ranks in memory that those of a node see: every rank adds up its part of a piece, or all of a few numbers,
 * and where there are several nodes its part over them. Inner header of this room. */
#ifndef MF_MPI_NEAR_H
#define MF_MPI_NEAR_H

#include <stddef.h>

#include "mpi/comm.h"

enum mf_near_type { MF_NEAR_DOUBLE, MF_NEAR_FLOAT, MF_NEAR_INT };

struct mf_near;

/** Memory for it, a few MiB per node; NULL where ranks do not share memory (share.h), there is one, or nodes have not
 * all as many, two at least. Collective. */
struct mf_near *mf_near_new(const struct mf_comm *comm);
void mf_near_free(struct mf_near *near);

/** Is a sum of so many bytes worth it? The same on all ranks. Not collective; NULL: never. */
int mf_near_wants(const struct mf_near *near, size_t bytes);

/** @p values [n] become their sums, on one node added in the order of the ranks: the same bits on all of them.
 * Collective. */
void mf_near_sum(struct mf_near *near, enum mf_near_type type, size_t n, void *values);

/** Everything written by any rank of this node before is seen by every one of them after. Collective. */
void mf_near_meet(struct mf_near *near);

#endif
