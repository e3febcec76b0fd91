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

/* The ranks of two stages that pass the same samples, and have the same part of their layers. */
static int split_link(struct mf_rank_groups *groups, const struct mf_comm *comm, int tensor, int stages, int a, int b,
                      int *colour)
{
    for (int r = 0; r < comm->size; ++r) {
        const int stage = mf_stage_of((size_t)tensor, (size_t)stages, r);

        colour[r] = stage == a || stage == b ? r / (tensor * stages) * tensor + r % tensor : -1;
    }
    return mf_rank_groups_split(groups, comm, mf_link_group(a, b), colour, "stages");
}

static int split(struct mf_rank_groups *groups, const struct mf_comm *comm, int tensor, int stages,
                 const unsigned char *link, int *colour)
{
    for (int r = 0; r < comm->size; ++r) colour[r] = r / tensor;
    if (tensor > 1) MF_TRY(mf_rank_groups_split(groups, comm, MF_GROUP_TENSOR, colour, "layer"));
    for (int a = 0; a < stages; ++a)
        for (int b = a + 1; b < stages; ++b)
            if (link ? link[a * stages + b] : b == a + 1)
                MF_TRY(split_link(groups, comm, tensor, stages, a, b, colour));
    return MF_OK;
}

int mf_stages_split(struct mf_rank_groups *groups, const struct mf_comm *comm, size_t tensor, size_t stages,
                    const unsigned char *link)
{
    int *colour = MF_MUST(malloc((size_t)comm->size * sizeof *colour), "groups of ranks");
    const int rc = split(groups, comm, (int)tensor, (int)stages, link, colour);

    free(colour);
    return rc;
}

/* A group may be one rank: all hear of its refusal. */
static int join(struct mf_stages *s, const struct mf_net *net)
{
    for (int k = MF_GROUP_ALL + 1; k < s->groups.count; ++k) {
        const struct mf_comm *group = mf_rank_groups_find(&s->groups, k);

        MF_TRY(mf_agree(s->comm, group ? mf_arrays_join(s->arrays, k, group, largest_of(net, k)) : MF_OK));
    }
    return MF_OK;
}

int mf_stages_open(struct mf_stages *s, const struct mf_comm *comm, size_t tensor, size_t count,
                   const unsigned char *link, const struct mf_net *net, struct mf_queue *queue,
                   struct mf_walk_memory *memory)
{
    *s = (struct mf_stages){.comm = comm, .tensor = tensor, .stages = count};
    *memory = (struct mf_walk_memory){.lasting = {NULL}};
    if (!comm || comm->size == 1) return MF_OK;
    MF_TRY(mf_arrays_open(comm, queue, net->room[MF_PLACE_DEVICE], largest_of(net, MF_GROUP_ALL), &s->arrays));
    memory->room[MF_PLACE_DEVICE] = mf_arrays_memory(s->arrays);
    MF_TRY(mf_stages_split(&s->groups, comm, tensor, count, link));
    return join(s, net);
}

void mf_stages_close(struct mf_stages *s)
{
    mf_arrays_close(s->arrays);
    mf_rank_groups_close(&s->groups);
    *s = (struct mf_stages){.comm = NULL};
}
