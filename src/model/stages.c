/* See stages.h. */
#include "src/model/stages.h"

#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

static size_t largest_of(const struct mf_net *net, int group)
{
    size_t most = 0;

    for (size_t k = 0; k < net->lists; ++k) most = mf_max(most, mf_list_largest(net->list[k], group));
    return most;
}

static int open_group(struct mf_stages *s, int number, const int *colour, const char *name, const struct mf_net *net)
{
    const struct mf_comm *group;

    MF_TRY(mf_rank_groups_split(&s->groups, s->comm, number, colour, name));
    group = mf_rank_groups_find(&s->groups, number);
    return mf_agree(s->comm, group ? mf_arrays_join(s->arrays, number, group, largest_of(net, number)) : MF_OK);
}

static int open_tensor(struct mf_stages *s, const struct mf_net *net, int *colour)
{
    if (s->tensor == 1) return MF_OK;
    for (int k = 0; k < s->comm->size; ++k) colour[k] = mf_stage_of(s->tensor, k);
    return open_group(s, MF_GROUP_TENSOR, colour, "tensor", net);
}

/* The ranks of two stages that have the same part of their layers. */
static int open_link(struct mf_stages *s, const struct mf_net *net, int a, int b, int *colour)
{
    for (int k = 0; k < s->comm->size; ++k)
        colour[k] = mf_stage_of(s->tensor, k) == a || mf_stage_of(s->tensor, k) == b ? k % (int)s->tensor : -1;
    return open_group(s, mf_link_group(a, b), colour, "stages", net);
}

static int open_groups(struct mf_stages *s, const unsigned char *link, const struct mf_net *net, int *colour)
{
    const int stages = (int)s->stages;

    MF_TRY(open_tensor(s, net, colour));
    for (int a = 0; link && a < stages; ++a)
        for (int b = a + 1; b < stages; ++b)
            if (link[a * stages + b]) MF_TRY(open_link(s, net, a, b, colour));
    return MF_OK;
}

int mf_stages_open(struct mf_stages *s, const struct mf_comm *comm, size_t tensor, size_t count,
                   const unsigned char *link, const struct mf_net *net, struct mf_queue *queue,
                   struct mf_walk_memory *memory)
{
    int *colour, rc;

    *s = (struct mf_stages){.comm = comm, .tensor = tensor, .stages = count};
    *memory = (struct mf_walk_memory){.lasting = {NULL}};
    if (!comm || comm->size == 1) return MF_OK;
    MF_TRY(mf_arrays_open(comm, queue, net->room[MF_PLACE_DEVICE], largest_of(net, MF_GROUP_ALL), &s->arrays));
    memory->room[MF_PLACE_DEVICE] = mf_arrays_memory(s->arrays);
    colour = MF_MUST(malloc((size_t)comm->size * sizeof *colour), "groups of ranks");
    rc = open_groups(s, link, net, colour);
    free(colour);
    return rc;
}

void mf_stages_close(struct mf_stages *s)
{
    mf_arrays_close(s->arrays);
    mf_rank_groups_close(&s->groups);
    *s = (struct mf_stages){.comm = NULL};
}
