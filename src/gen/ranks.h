/* Ranks that run a model together. They are stages of a pipeline, and the ranks of a stage share its layers. Rank r is
 * in stage r / tensor ranks. All ranks take the same turns, so none tells another what to do. The ranks of one stage
 * pick tokens. The teller is one of them, and sends the tokens to the ranks of other stages. Such a message that is on
 * its way is a letter (mf_comm_begin_send()). */
#ifndef MF_GEN_RANKS_H
#define MF_GEN_RANKS_H

#include "src/gen/lists.h"
#include "src/model/stages.h"
#include "src/place/device_map.h"

/** How many ranks of each kind; 1, 1: one rank alone. */
struct mf_gen_grid {
    const struct mf_comm *comm; /* NULL: of one rank */
    size_t tensor, stages;      /* their product is the number of ranks */
    const char *map;            /* which stage has which part (mf_map_read()); devices are stages; NULL: free */
    int zero;                   /* 3: all ranks cut the weights. Each walks the whole model; 0: they do not */
    size_t streamed;            /* parts of each rank whose weights stand in host memory */
};

/** Refuses with MF_USAGE numbers that do not fit the ranks or the model. Local. */
int mf_gen_grid_check(const struct mf_language *model, const struct mf_gen_grid *grid);

/** Which rank has what. */
struct mf_gen_cut {
    struct mf_gen_ways ways;
    struct mf_parts parts;
    struct mf_device_map placement;
};

/** Cuts a model for the ranks of @p grid. Without a map each stage gets parts that follow each other. The largest
 * memory of a stage is then the least possible. Refuses as mf_gen_grid_check(), mf_gen_lists_make() and mf_map_place().
 * mf_gen_cut_free() in any case. Local. */
int mf_gen_cut_find(const struct mf_language *model, const struct mf_gen_size *size, const struct mf_gen_grid *grid,
                    struct mf_queue *queue, struct mf_gen_cut *cut);
void mf_gen_cut_free(struct mf_gen_cut *cut);

/** Exchanges among the ranks. */
struct mf_gen_ranks {
    struct mf_gen_grid grid;
    struct mf_stages stages;
    int answers;               /* this rank picks tokens */
    int teller;                /* a rank; -1: there are no other stages */
    struct mf_letter **letter; /* [stages][ranks] messages on their way: those of the last `stages` answers */
    size_t told;               /* answers so far */
};

/** Opens groups, and the memory of the activations of @p lists, which other ranks reach. One rank alone needs none.
 * Collective; refuses (agreed) with MF_MEMORY and as mf_rank_groups_split(). mf_gen_ranks_close() in any case. */
int mf_gen_ranks_open(struct mf_gen_ranks *ranks, const struct mf_gen_grid *grid, const struct mf_gen_ways *ways,
                      const struct mf_gen_lists *lists, struct mf_queue *queue, struct mf_walk_memory *memory);

/** Finishes exchanges and frees, before the walk is closed. Collective. */
void mf_gen_ranks_close(struct mf_gen_ranks *ranks);

/** Brings the bytes of the ranks that answer to all others. These wait in mf_gen_ranks_hear(). */
void mf_gen_ranks_tell(struct mf_gen_ranks *ranks, const void *data, size_t bytes);
void mf_gen_ranks_hear(struct mf_gen_ranks *ranks, void *data, size_t bytes);

#endif
