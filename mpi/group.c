/* See comm.h: groups of the ranks of a communicator. Every rank knows all colours. So the same code also splits a dry
 * communicator, which has no other ranks to ask. */
#include <stdio.h>
#include <stdlib.h>

#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"

/* Lists the ranks of one colour in member [size], in order of key, equal keys in order of rank. Returns their
 * number. */
static int list_members(int size, const int *colour, const int *key, int wanted, int *member)
{
    int n = 0;

    for (int r = 0; r < size; ++r) {
        int at = n;

        if (colour[r] != wanted) continue;
        for (; key && at > 0 && key[member[at - 1]] > key[r]; --at) member[at] = member[at - 1];
        member[at] = r;
        ++n;
    }
    return n;
}

/* This rank's place among the members, and among those of its node where nodes hold consecutive ranks. */
static struct mf_comm lay_out(const struct mf_comm *comm, const int *member, int n)
{
    struct mf_comm group = {.size = n};
    int node = comm->rank / comm->local_size;

    for (int i = 0; i < n; ++i) {
        if (member[i] == comm->rank) group.rank = i;
        if (member[i] == comm->rank) group.local_rank = group.local_size;
        group.local_size += member[i] / comm->local_size == node;
    }
    return group;
}

static void name_group(const struct mf_comm *group, const char *name, int colour)
{
    struct mf_watch_group *own = &group->impl->group;

    snprintf(own->name, sizeof own->name, "%.15s group %d", name, colour);
    if (group->rank == 0) own->id = mf_watch_new_id(group->impl->world_rank[0]);
    MPI_Bcast(&own->id, 1, MPI_UINT64_T, 0, group->impl->ranks);
    mf_watch_join(own);
}

/* Gives the group its own communicators. @p ranks: its ranks, in order. */
static void furnish(const struct mf_comm *comm, struct mf_comm *group, const int *member, MPI_Comm ranks)
{
    struct mf_comm_impl *impl = mf_impl_new(ranks);

    group->impl = impl;
    impl->world_rank = MF_MUST(malloc((size_t)group->size * sizeof(int)), "a group of ranks");
    for (int i = 0; i < group->size; ++i) impl->world_rank[i] = mf_world_rank(comm, member[i]);
    impl->node_leader = comm->impl->node_leader;
    impl->node_ranks = comm->impl->node_ranks;
    MPI_Comm_split(ranks, impl->node_leader, group->rank, &impl->node);
    mf_impl_on_node(group);
}

/* Ranks that are alone in their group, or in no group, only take part in the call of MPI. */
static void split(const struct mf_comm *comm, const int *member, int colour, const char *name, struct mf_comm *group)
{
    MPI_Errhandler handler;
    MPI_Comm ranks;

    mf_comm_enter(comm, "split into groups", 0);
    MPI_Comm_split(comm->impl->ranks, group->size > 1 ? colour : MPI_UNDEFINED, group->rank, &ranks);
    if (group->size > 1) {
        MPI_Comm_get_errhandler(comm->impl->ranks, &handler);
        MPI_Comm_set_errhandler(ranks, handler);
        MPI_Errhandler_free(&handler);
        furnish(comm, group, member, ranks);
        name_group(group, name, colour);
        group->impl->node_reduce = mf_node_reduce_new(group);
    }
    mf_comm_leave(comm);
}

/* Local: can the watch of this rank see to one group more? */
static int check_room(const struct mf_comm *comm, const char *name)
{
    if (!comm->impl || mf_watch_has_room()) return MF_OK;
    return mf_fail(MF_MEMORY, "rank %d is in %d groups already, %s would be one more", mf_world_rank(comm, comm->rank),
                   MF_GROUPS_MOST, name);
}

int mf_comm_split(const struct mf_comm *comm, const int *colour, const int *key, const char *name,
                  struct mf_comm *group)
{
    const int own = colour[comm->rank];
    int *member;

    MF_TRY(mf_agree(comm, check_room(comm, name)));
    *group = (struct mf_comm){.rank = -1};
    member = MF_MUST(malloc((size_t)comm->size * sizeof *member), "a group of ranks");
    if (own >= 0) *group = lay_out(comm, member, list_members(comm->size, colour, key, own, member));
    if (comm->impl && comm->size > 1) split(comm, member, own, name, group);
    if (group->size == 1) mf_comm_self(group);
    free(member);
    return MF_OK;
}

/* The barrier proves that no rank is still inside an earlier collective of the group. */
void mf_comm_free(struct mf_comm *group)
{
    struct mf_comm_impl *impl = group->impl;

    mf_transport_close(group);
    if (impl) {
        mf_comm_enter(group, "end of the group", 0);
        MPI_Barrier(impl->ranks);
        mf_impl_close(impl);
        mf_comm_leave(group);
        mf_watch_part(&impl->group);
        mf_impl_free(impl);
    }
    *group = (struct mf_comm){.rank = -1};
}
