/* One voxel with its phases: a point of the box [0,1] (one phase) or of the simplex (several). */
#ifndef MF_KERNELS_CUDA_VOXEL_CUH
#define MF_KERNELS_CUDA_VOXEL_CUH

#include "kernels/form/box.h"
#include "kernels/form/rules.h"
#include "kernels/form/simplex.h"

/** v [n] = x[p * stride] */
__device__ inline void mf_voxel_load(int n, size_t stride, const float *x, float *v)
{
    for (int p = 0; p < n; ++p) v[p] = x[size_t(p) * stride];
}

__device__ inline void mf_voxel_store(int n, size_t stride, const float *v, float *x)
{
    for (int p = 0; p < n; ++p) x[size_t(p) * stride] = v[p];
}

__device__ inline void mf_voxel_project(int n, float *v)
{
    if (n == 1)
        v[0] = mf_clamp(v[0], 0.0f, 1.0f);
    else
        mf_simplex_project(n, 1, v);
}

/** The free gradient r at x, and keep = 1 where a phase may move. */
__device__ inline void mf_voxel_free(int n, const float *x, const float *g, float *r, float *keep)
{
    if (n == 1) {
        r[0] = mf_box_free(x[0], g[0]);
        keep[0] = mf_box_held(x[0], g[0]) ? 0.0f : 1.0f;
    } else {
        mf_simplex_free(n, 1, x, g, r, keep);
    }
}

#endif
