/* Groups of ranks by number, each with a communicator. Exchanges name a group by its number (kernels/exchange.h). */
#ifndef MF_MPI_RANK_GROUPS_H
#define MF_MPI_RANK_GROUPS_H

#include "kernels/exchange.h"
#include "mpi/comm.h"

struct mf_rank_groups {
    int count;             /* numbers below it may be taken */
    struct mf_comm **comm; /* [count]; NULL: this rank is in no group of this number */
};

/** Makes the group @p number of each rank. It is the ranks of @p all that have its colour (mf_comm_split()), with a
 * transport where @p all has one. One that had the number ends. A rank with a negative colour gets none.
 * mf_rank_groups_close() ends all, before @p all. Collective over @p all; refuses (agreed) as mf_comm_split() and
 * mf_transport_split(). */
int mf_rank_groups_split(struct mf_rank_groups *groups, const struct mf_comm *all, int number, const int *colour,
                         const char *name);
void mf_rank_groups_close(struct mf_rank_groups *groups);

/** This rank's group of a number; NULL: it has none. Local. */
const struct mf_comm *mf_rank_groups_find(const struct mf_rank_groups *groups, int number);

/* -- groups of a mixture of experts. Each `ways` ranks that follow each other share the experts of a layer. They are on
 * one node where `ways` divides its ranks. Links within a node are fast, and rows travel often. -- */

/** The most parts, at most @p wish, among which @p ranks can share @p experts (at least 1). It divides the ranks, and
 * no part is empty. Local. */
int mf_ways_fit(int ranks, size_t experts, int wish);

/** Makes two groups. MF_GROUP_EXPERTS is `ways` ranks that have all experts together, of which the r-th has part r.
 * MF_GROUP_REPLICAS is the ranks that have the same part. With @p ways 0 these groups end. Each @p crew ranks that
 * follow each other pass the same samples. So ranks are of one group that have the same place in their crew, and crews
 * count as ranks. Collective; refuses (agreed) with MF_USAGE where @p ways does not divide the crews, and as
 * mf_rank_groups_split(). */
int mf_rank_groups_share_experts(struct mf_rank_groups *groups, const struct mf_comm *all, int ways, int crew);

#endif
