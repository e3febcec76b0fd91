/* Shared by flux.cu and flux_sums.cu: one cell of a grid of conduction.
 * Rule: the bits are those of cpu. No product is joined with a sum (CMakeLists.txt). */
#ifndef MF_KERNELS_CUDA_FLUX_CUH
#define MF_KERNELS_CUDA_FLUX_CUH

#include "kernels/cuda/pass.cuh"

extern "C" {
#include "kernels/form/flux.h"
}

__device__ inline size_t mf_cell_at(const mf_flux_grid &g, unsigned z, unsigned y, unsigned k)
{
    return mf_flux_at(&g, z, y, k);
}

/* Sum over the neighbours: c x, or x where conductances are 0 and 1. */
__device__ inline float mf_cell_around(const mf_flux_grid &g, size_t i, const float *x)
{
    const size_t sy = mf_flux_row(&g), sz = mf_flux_plane(&g);
    const float *v = x + i;

    if (g.count) return mf_flux_six(*(v - 1), v[1], *(v - sy), v[sy], *(v - sz), v[sz]);
    const float *cx = g.c[2] + i, *cy = g.c[1] + i, *cz = g.c[0] + i;

    return mf_flux_six(cx[0] * *(v - 1), cx[1] * v[1], cy[0] * *(v - sy), cy[sy] * v[sy], cz[0] * *(v - sz),
                       cz[sz] * v[sz]);
}

/* A x */
__device__ inline float mf_cell_operate(const mf_flux_grid &g, size_t i, const float *x)
{
    const size_t sy = mf_flux_row(&g), sz = mf_flux_plane(&g);
    const float *v = x + i;

    if (g.count) return g.count[i] ? float(g.count[i]) * *v - mf_cell_around(g, i, x) : 0.0f;
    const float *cx = g.c[2] + i, *cy = g.c[1] + i, *cz = g.c[0] + i;

    return mf_flux_six(cx[0] * (v[0] - *(v - 1)), cx[1] * (v[0] - v[1]), cy[0] * (v[0] - *(v - sy)),
                       cy[sy] * (v[0] - v[sy]), cz[0] * (v[0] - *(v - sz)), cz[sz] * (v[0] - v[sz]));
}

/* flux_sums.cu, as struct mf_flux_ops says */
void mf_cuda_flux_apply(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, float *y, double *out);
void mf_cuda_flux_dot(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, const float *y, double *out);
void mf_cuda_flux_energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out);
void mf_cuda_flux_through(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out);

#endif
