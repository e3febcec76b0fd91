/* The ranks of a running program as input of the planner: their machines, and the memory that each rank holds. */
#ifndef MF_PLAN_HERE_H
#define MF_PLAN_HERE_H

#include "src/plan/plan.h"
#include "src/plan/probe.h"

struct mf_plan_here {
    struct mf_probe probe;
    struct mf_plan_world world; /* of all ranks, the same on every rank */
};

/**
 * Probes the machines and gathers every rank's threads and the bytes of arrays that it will keep holding. Collective;
 * refuses (agreed) with MF_MEMORY. Call mf_plan_here_free(), also after a refusal.
 */
int mf_plan_here(const struct mf_comm *comm, size_t threads, size_t in_use, struct mf_plan_here *here);
void mf_plan_here_free(struct mf_plan_here *here);

/** Does every rank see a GPU? A back end may find GPUs where the driver's library finds none. */
int mf_plan_here_gpus(const struct mf_plan_here *here);

#endif
