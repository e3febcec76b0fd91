/* Shares the cores of a node among ranks that may all use the same cores. */
#ifndef MF_PLAN_PIN_H
#define MF_PLAN_PIN_H

#include <stddef.h>

#include "kernels/cores.h"

/**
 * Shares the cores of @p mask among @p ranks that may all use them. The share of local rank @p k goes to @p own. A
 * share is whole cores with their hardware threads, equal for all ranks, on as few NUMA nodes as possible. The NUMA
 * node of each rank's GPU is near [ranks], -1: none; shares are dealt in the order of these nodes. Returns 0, and sets
 * nothing, if there are fewer cores than ranks. The same holds if a rank's share would not meet its GPU's node. Tests
 * set @p root to the parent of sys/, else it is "". Not collective: the same arguments give the same shares.
 */
int mf_pin(const char *root, const struct mf_cores *mask, size_t ranks, const int *near, size_t k,
           struct mf_cores *own);

#endif
