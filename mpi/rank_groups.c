/* See rank_groups.h. */
#include "mpi/rank_groups.h"

#include <stdlib.h>

#include "mpi/nccl_transport.h"
#include "src/base/err.h"

/* -- the table -- */

const struct mf_comm *mf_rank_groups_find(const struct mf_rank_groups *groups, int number)
{
    return number < groups->count ? groups->comm[number] : NULL;
}

static void end(struct mf_rank_groups *groups, int number)
{
    if (!groups->comm[number]) return;
    if (groups->comm[number]->size) mf_comm_free(groups->comm[number]);
    free(groups->comm[number]);
    groups->comm[number] = NULL;
}

static void make_room(struct mf_rank_groups *groups, int number)
{
    if (number < groups->count) {
        end(groups, number);
        return;
    }
    groups->comm = MF_MUST(realloc(groups->comm, (size_t)(number + 1) * sizeof(struct mf_comm *)), "groups of ranks");
    while (groups->count <= number) groups->comm[groups->count++] = NULL;
}

int mf_rank_groups_split(struct mf_rank_groups *groups, const struct mf_comm *all, int number, const int *colour,
                         const char *name)
{
    struct mf_comm *comm = MF_MUST(calloc(1, sizeof *comm), "a group of ranks");
    int rc;

    make_room(groups, number);
    groups->comm[number] = comm;
    rc = mf_comm_split(all, colour, NULL, name, comm);
    if (rc == MF_OK) rc = mf_transport_split(all, comm);
    if (rc != MF_OK || comm->size == 0) end(groups, number);
    return rc;
}

void mf_rank_groups_close(struct mf_rank_groups *groups)
{
    for (int k = groups->count; k-- > 0;) end(groups, k);
    free(groups->comm);
    *groups = (struct mf_rank_groups){0};
}

/* -- experts -- */

int mf_ways_fit(int ranks, size_t experts, int wish)
{
    int ways = ranks < wish ? ranks : wish;

    while (ways > 1 && (ranks % ways || (size_t)ways > experts)) --ways;
    return ways;
}

static int split_both(struct mf_rank_groups *groups, const struct mf_comm *all, int ways, int crew, int *colour)
{
    for (int r = 0; r < all->size; ++r) colour[r] = ways ? r / crew / ways * crew + r % crew : -1;
    MF_TRY(mf_rank_groups_split(groups, all, MF_GROUP_EXPERTS, colour, "expert"));
    for (int r = 0; r < all->size; ++r) colour[r] = ways ? r / crew % ways * crew + r % crew : -1;
    return mf_rank_groups_split(groups, all, MF_GROUP_REPLICAS, colour, "replica");
}

int mf_rank_groups_share_experts(struct mf_rank_groups *groups, const struct mf_comm *all, int ways, int crew)
{
    int *colour, rc;

    if (ways < 0 || (ways && all->size % (ways * crew)))
        return mf_fail(MF_USAGE, "%d ranks cannot share experts in groups of %d", all->size / crew, ways);
    colour = MF_MUST(malloc((size_t)all->size * sizeof *colour), "groups of ranks");
    rc = split_both(groups, all, ways, crew, colour);
    free(colour);
    return rc;
}
