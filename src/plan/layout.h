/* The layouts of ranks on a machine that a plan tries. Private to the planner. */
#ifndef MF_PLAN_LAYOUT_H
#define MF_PLAN_LAYOUT_H

#include "src/plan/plan.h"

enum { MF_LAYOUTS = 64 };

struct mf_layouts {
    size_t count;
    struct mf_placement at[MF_LAYOUTS];
};

/**
 * Makes all layouts worth trying, fewest ranks first: on GPUs (@p device) or on cores. The ranks are options->ranks, or
 * those of a world. Refuses with MF_DEVICE what the machine does not have. Call mf_layouts_free(), also after a
 * refusal.
 */
int mf_layouts_make(const struct mf_plan_ask *ask, int device, struct mf_layouts *layouts);
void mf_layouts_free(struct mf_layouts *layouts);

/** Usable GPUs of a node: not hidden, not older than the kernels need and, with --gpu_ids, among those. The array place
 * may be NULL. */
size_t mf_layout_gpus(const struct mf_host *host, const struct mf_plan_options *options, int *place);

/** The first GPU of the machine that is unusable only because of its age, or NULL. */
const struct mf_gpu *mf_layout_old(const struct mf_hardware *hardware, const struct mf_plan_options *options);

#endif
