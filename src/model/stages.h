/* Ranks that walk lists together: stages of a pipeline, and in each stage ranks that share its layers. These follow
 * each other, then come those of the next stage, then ranks with other samples. */
#ifndef MF_MODEL_STAGES_H
#define MF_MODEL_STAGES_H

#include "mpi/arrays.h"
#include "mpi/rank_groups.h"
#include "src/net/walk.h"

struct mf_stages {
    const struct mf_comm *comm;
    size_t tensor, stages; /* their product is the number of ranks; 1, 1: all walk the whole lists, and cut weights */
    struct mf_rank_groups groups;
    struct mf_arrays *arrays; /* NULL: one rank is alone */
};

/** The stage of a rank. */
static inline int mf_stage_of(size_t tensor, size_t stages, int rank) { return rank / (int)tensor % (int)stages; }

/** Makes MF_GROUP_TENSOR, the ranks that share layers, and a group of each two stages that exchange. These are in @p
 * link [stages][stages], as mf_pass_stage() fills it. Without it, stages do that follow each other. Collective; refuses
 * (agreed) as mf_rank_groups_split(). */
int mf_stages_split(struct mf_rank_groups *groups, const struct mf_comm *comm, size_t tensor, size_t stages,
                    const unsigned char *link);

/** Opens groups for the exchanges of this rank's lists of @p net, and the memory of their activations. The walk is
 * opened with @p memory. @p link: as of mf_stages_split(). Collective; refuses
 * (agreed) with MF_MEMORY and as mf_rank_groups_split(). mf_stages_close() in any case. */
int mf_stages_open(struct mf_stages *stages, const struct mf_comm *comm, size_t tensor, size_t count,
                   const unsigned char *link, const struct mf_net *net, struct mf_queue *queue,
                   struct mf_walk_memory *memory);

/** Before the walk is closed: finishes exchanges, and frees. Collective. */
void mf_stages_close(struct mf_stages *stages);

#endif
