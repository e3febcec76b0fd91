/* A crew is the ranks that run one of our networks together, as stages of a pipeline. Crews share the samples. */
#ifndef MF_CMD_LEARN_CREW_H
#define MF_CMD_LEARN_CREW_H

#include "mpi/comm.h"
#include "src/model/model.h"

struct mf_crew {
    const char *map;
    size_t stages;
    struct mf_comm own, others;    /* where stages > 1: ranks of this crew; one rank of each crew */
    const struct mf_comm *sharers; /* those that share samples with this rank: others, or all */
};

/** Makes crews of @p stages ranks that follow each other. Where that is 0, there are as many as @p map names. Without a
 * map (NULL) there is one. Collective over @p all, which outlives the crew; refuses (agreed) with MF_USAGE.
 * mf_crew_close() in any case. */
int mf_crew_open(const struct mf_comm *all, long stages, const char *map, struct mf_crew *crew);
void mf_crew_close(struct mf_crew *crew);

/** Opens a model for the crew. Refuses as mf_model_open_as() and mf_place_stages(). Collective. */
int mf_crew_model(const struct mf_crew *crew, const char *path, size_t batch, struct mf_queue *queue,
                  struct mf_model **model);

#endif
