/* Shares the cores of a node among ranks that may all use the same cores. */
#ifndef MF_PLAN_PIN_H
#define MF_PLAN_PIN_H

#include <stddef.h>

#include "kernels/cores.h"

/**
 * The cores @p own of local rank @p k of @p ranks that may all use @p mask: whole cores with their hardware threads, an
 * equal share of all, on as few NUMA nodes as can be. near [ranks]: the NUMA node of each rank's GPU, -1: it has none;
 * ranks are dealt out in this order. 0 and nothing set where there are fewer cores than ranks, and for
 * a rank whose share would not meet its GPU's node. @p root: "", or for
 * tests where sys/ is. Not collective: same arguments, same shares.
 */
int mf_pin(const char *root, const struct mf_cores *mask, size_t ranks, const int *near, size_t k,
           struct mf_cores *own);

#endif
