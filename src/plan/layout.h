/* Private to the planner: the layouts of ranks on a machine that a plan tries. */
#ifndef MF_PLAN_LAYOUT_H
#define MF_PLAN_LAYOUT_H

#include "src/plan/plan.h"

enum { MF_LAYOUTS = 64 };

struct mf_layouts {
    size_t count;
    struct mf_placement at[MF_LAYOUTS];
};

/**
 * All layouts worth a look, fewest ranks first: of GPUs (@p device) or of cores; on options->ranks ranks, or on a
 * world's. Refuses with MF_DEVICE what the machine has not. mf_layouts_free() it, also after a refusal.
 */
int mf_layouts_make(const struct mf_plan_ask *ask, int device, struct mf_layouts *layouts);
void mf_layouts_free(struct mf_layouts *layouts);

/** GPUs of a node that may be used: not hidden, not older than the kernels need and, where --gpu_ids says which, among
 * those. place may be NULL. */
size_t mf_layout_gpus(const struct mf_host *host, const struct mf_plan_options *options, int *place);

/** The first GPU of the machine that may not be used for its age alone, or NULL. */
const struct mf_gpu *mf_layout_old(const struct mf_hardware *hardware, const struct mf_plan_options *options);

#endif
