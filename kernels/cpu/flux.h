/* Shared by flux.c and flux_grid.c, the passes over a grid of conduction.
 * Rule: the number of threads does not change a result. */
#ifndef MF_KERNELS_CPU_FLUX_H
#define MF_KERNELS_CPU_FLUX_H

#include "kernels/cpu/cpu.h"
#include "kernels/flux.h"

/** Threads for the own cells of a grid; one for the many small volumes of a dataset. */
static inline int mf_cpu_flux_threads(const struct mf_queue *q, const struct mf_flux_grid *g)
{
    const size_t cells = g->n[0] * g->n[1] * g->n[2];

    return cells <= MF_CPU_SERIAL ? 1 : mf_cpu_threads(q, cells);
}

/* flux_grid.c, as struct mf_flux_ops says */
void mf_cpu_flux_wrap(struct mf_queue *q, const struct mf_flux_grid *g, int axis, float jump, float *x);
void mf_cpu_flux_lift(struct mf_queue *q, const struct mf_flux_grid *g, ptrdiff_t z, float jump, float *x);
void mf_cpu_flux_coarsen(struct mf_queue *q, const struct mf_flux_grid *g, struct mf_flux_step by,
                         const struct mf_flux_grid *coarse);
void mf_cpu_flux_finish(struct mf_queue *q, const struct mf_flux_grid *g);
void mf_cpu_flux_energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out);
void mf_cpu_flux_through(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out);

#endif
