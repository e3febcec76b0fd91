/* A crew is the ranks that run one of our networks together, as stages of a pipeline. Crews share the samples. Or each
 * rank walks the whole network, and all cut its weights. */
#ifndef MF_CMD_LEARN_CREW_H
#define MF_CMD_LEARN_CREW_H

#include "mpi/comm.h"
#include "src/model/model.h"

/** Says how ranks become crews. */
struct mf_crew_wish {
    size_t stages;   /* of a pipeline; 0: as many as the map names, or 1 */
    const char *map; /* which stage has which part; NULL: free */
    int zero;        /* 3: all ranks cut every weight, and there are no stages; 0: they do not */
};

struct mf_crew {
    struct mf_crew_wish wish;
    size_t stages, streamed;       /* streamed: parts whose weights stand in host memory, which the owner may set */
    struct mf_comm own, others;    /* where stages > 1: ranks of this crew; one rank of each crew */
    const struct mf_comm *sharers; /* those that share samples with this rank: others, or all */
};

/** Makes crews of ranks that follow each other. Collective over @p all, which outlives the crew; refuses (agreed) with
 * MF_USAGE. mf_crew_close() in any case. */
int mf_crew_open(const struct mf_comm *all, const struct mf_crew_wish *wish, struct mf_crew *crew);
void mf_crew_close(struct mf_crew *crew);

/** Opens a model for the crew. Refuses as mf_model_open_as() and mf_place_stages(). Collective. */
int mf_crew_model(const struct mf_crew *crew, const char *path, size_t batch, struct mf_queue *queue,
                  struct mf_model **model);

/** Finds what mf_crew_model() takes. Queue and communicators are dry. Refuses as it does, not for want of memory. */
int mf_crew_foresee(const struct mf_crew *crew, const struct mf_model_card *card, size_t batch, struct mf_queue *queue,
                    struct mf_model_needs *needs);

/** An object of parts and their places: "rank:1" of a pipeline's, else the back end. The caller frees. Local. */
struct mf_json *mf_crew_map(const struct mf_crew *crew, const struct mf_model_card *card, size_t batch,
                            struct mf_queue *queue);

/** The weights of a network of the crew that are not on the device. */
struct mf_model_stream mf_crew_stream(const struct mf_crew *crew);

/** Ranks that cut weights walk equally often. With @p walks: this one is about to. Without: it has no samples left, and
 * walks along as long as the answer is 1. 0: all are ready. Collective over all ranks; at once 1 or 0 without zero. */
int mf_crew_walks(const struct mf_crew *crew, int walks);

#endif
