/* Shared by flux.c and flux_grid.c, the passes over a grid of conduction.
 * Rule: the number of threads does not change a result. */
#ifndef MF_KERNELS_CPU_FLUX_H
#define MF_KERNELS_CPU_FLUX_H

#include "kernels/cpu/cpu.h"
#include "kernels/flux.h"

/** Threads for the own cells of a grid. */
static inline int mf_cpu_flux_threads(const struct mf_queue *q, const struct mf_flux_grid *g)
{
    return mf_cpu_threads(q, g->n[0] * g->n[1] * g->n[2]);
}

#endif
