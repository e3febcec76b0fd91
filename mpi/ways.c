/* See ways.h. */
#include "mpi/ways.h"

#include <stdlib.h>

#include "mpi/nccl_transport.h"
#include "src/base/err.h"

int mf_ways_fit(int ranks, size_t experts, int wish)
{
    int ways = ranks < wish ? ranks : wish;

    while (ways > 1 && (ranks % ways || (size_t)ways > experts)) --ways;
    return ways;
}

static int split(const struct mf_comm *comm, const int *colour, const char *name, struct mf_comm *group)
{
    MF_TRY(mf_comm_split(comm, colour, NULL, name, group));
    return mf_transport_split(comm, group);
}

static int split_both(const struct mf_comm *comm, struct mf_ways *w, int *colour)
{
    for (int r = 0; r < comm->size; ++r) colour[r] = r / w->ways;
    MF_TRY(split(comm, colour, "expert", &w->experts));
    for (int r = 0; r < comm->size; ++r) colour[r] = r % w->ways;
    return split(comm, colour, "replica", &w->replicas);
}

int mf_ways_open(const struct mf_comm *comm, int ways, struct mf_ways *w)
{
    int *colour, rc;

    *w = (struct mf_ways){.ways = ways};
    if (ways < 1 || comm->size % ways)
        return mf_fail(MF_USAGE, "%d ranks cannot share experts in groups of %d", comm->size, ways);
    w->way = comm->rank % ways;
    colour = MF_MUST(malloc((size_t)comm->size * sizeof *colour), "groups of ranks");
    rc = split_both(comm, w, colour);
    free(colour);
    return rc;
}

void mf_ways_close(struct mf_ways *w)
{
    if (w->replicas.size) mf_comm_free(&w->replicas);
    if (w->experts.size) mf_comm_free(&w->experts);
    *w = (struct mf_ways){0};
}
