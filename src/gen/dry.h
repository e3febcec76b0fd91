/* A rank of an engine on a machine that need not be there. It has lists, and exchanges with other ranks. Arrays are
 * counted, in memory that nobody touches. All functions are local. */
#ifndef MF_GEN_DRY_H
#define MF_GEN_DRY_H

#include "kernels/dry.h"
#include "src/gen/ranks.h"
#include "src/plan/workload.h"

struct mf_gen_dry {
    struct mf_backend_dry backend;
    struct mf_arena *arena, *host; /* of the device, of its host: the same where there is one memory */
    size_t before, before_host;    /* bytes of them that exchanges do not take */
    struct mf_queue *queue;
    struct mf_comm comm;
    struct mf_gen_cut cut;
    struct mf_gen_lists lists;
    struct mf_gen_ranks ranks;
};

/** Opens rank @p rank of @p ways, whose comm is left out. Refuses as mf_gen_cut_find() and mf_gen_lists_make().
 * mf_gen_dry_close() in any case. */
int mf_gen_dry_open(struct mf_gen_dry *dry, const struct mf_language *model, const struct mf_gen_size *size,
                    const struct mf_gen_grid *ways, const struct mf_plan_rank *rank, int deterministic);
void mf_gen_dry_close(struct mf_gen_dry *dry);

/** Bytes of the device and of host memory that exchanges take beside the activations. */
size_t mf_gen_dry_exchange(const struct mf_gen_dry *dry, int host);

#endif
