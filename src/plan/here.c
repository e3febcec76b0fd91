/* See here.h. */
#include "src/plan/here.h"

#include <stdint.h>
#include <stdlib.h>

#include "src/base/err.h"

int mf_plan_here(const struct mf_comm *comm, size_t threads, size_t in_use, struct mf_plan_here *here)
{
    const size_t ranks = (size_t)comm->size, mine[2] = {threads, in_use};
    size_t *offset = MF_MUST(calloc(ranks + 1, sizeof *offset), "a plan"), *has = NULL;
    int *node = MF_MUST(calloc(ranks, sizeof *node), "a plan");
    size_t *each = MF_MUST(calloc(2 * ranks, sizeof *each), "a plan");
    void *all = NULL;
    int rc = mf_comm_gather(comm, mine, sizeof mine, &all, offset);

    *here = (struct mf_plan_here){.world = {ranks, node, each, each + ranks}};
    if (rc == MF_OK) rc = mf_probe_run(comm, &here->probe);
    has = all;
    for (size_t r = 0; rc == MF_OK && r < ranks; ++r) {
        node[r] = here->probe.rank[r].node;
        each[r] = has[2 * r];
        each[ranks + r] = has[2 * r + 1];
    }
    free(all);
    free(offset);
    return rc;
}

void mf_plan_here_free(struct mf_plan_here *here)
{
    mf_probe_free(&here->probe);
    free((void *)(uintptr_t)here->world.node);
    free((void *)(uintptr_t)here->world.threads);
    *here = (struct mf_plan_here){.world = {.ranks = 0}};
}

int mf_plan_here_gpus(const struct mf_plan_here *here)
{
    for (size_t r = 0; r < here->probe.ranks; ++r)
        if (here->probe.rank[r].gpus == 0) return 0;
    return 1;
}
