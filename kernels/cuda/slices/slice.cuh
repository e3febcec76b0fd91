/* Shared by the descriptors of slices: loops over the pixels of a view and the pyramid of coarser slices. Gradients use
 * the transposed operation.
 * Rule: neighbours in memory are neighbours in a warp. */
#ifndef MF_KERNELS_CUDA_SLICE_CUH
#define MF_KERNELS_CUDA_SLICE_CUH

#include "kernels/cuda/queue.cuh"
#include "kernels/form/compare.h"
#include "kernels/form/jump.h"

/** Index of pixel (s, u, v). */
__host__ __device__ inline size_t mf_at(const struct mf_view &x, size_t s, size_t u, size_t v)
{
    return s * x.ss + u * x.su + v * x.sv;
}

/** Slices that lie side by side, pixel by pixel. */
__host__ __device__ inline int mf_side_by_side(const struct mf_view *x) { return x->ss == 1 && x->sv != 1; }

constexpr size_t MF_TILE_FAST = 32, MF_TILE_MID = 8, MF_GRID_MOST = 65535;

template <class Body> __global__ void mf_pixels_kernel(struct mf_view x, int lanes, Body body)
{
    const size_t fast = blockIdx.x * MF_TILE_FAST + threadIdx.x;
    const size_t fasts = lanes ? x.count : x.nv, mids = lanes ? x.nv : x.nu, slows = lanes ? x.nu : x.count;

    for (size_t slow = blockIdx.z; slow < slows; slow += gridDim.z)
        for (size_t mid = blockIdx.y * MF_TILE_MID + threadIdx.y; mid < mids; mid += gridDim.y * MF_TILE_MID) {
            if (fast >= fasts) continue;
            if (lanes)
                body(fast, slow, mid);
            else
                body(slow, mid, fast);
        }
}

static inline unsigned mf_grid(size_t n, size_t each)
{
    const size_t blocks = (n + each - 1) / each;

    return unsigned(blocks < MF_GRID_MOST ? blocks : MF_GRID_MOST);
}

/** Calls body(s, u, v) for every pixel, in the memory order of @p x. */
template <class Body> void mf_pixels(struct mf_queue *q, const struct mf_view &x, const Body &body)
{
    const int lanes = mf_side_by_side(&x);
    const size_t fast = lanes ? x.count : x.nv, mid = lanes ? x.nv : x.nu, slow = lanes ? x.nu : x.count;

    if (!x.count || !x.nu || !x.nv) return;
    MF_RUN(mf_pixels_kernel<Body>,
           dim3(unsigned((fast + MF_TILE_FAST - 1) / MF_TILE_FAST), mf_grid(mid, MF_TILE_MID), mf_grid(slow, 1)),
           dim3(unsigned(MF_TILE_FAST), unsigned(MF_TILE_MID)), 0, q, x, lanes, body);
}

/** Slices and their pooled levels. */
struct mf_pool {
    int levels;              /* besides level 0 */
    struct mf_view level[4]; /* each has means of 2 x 2 pixels of the one before */
};

constexpr int MF_POOL_LEVELS = 3, MF_POOLS = 16; /* most levels that are pooled in one pass; most jobs */

/** Pools up to MF_POOL_LEVELS levels of up to MF_POOLS jobs in one launch. A last odd row or column is dropped. */
void mf_pool_run(struct mf_queue *q, const struct mf_pool *job, int count);

/** coarse: means of 2 x 2 pixels of @p fine. */
inline void mf_coarsen(struct mf_queue *q, const struct mf_view &fine, const struct mf_view &coarse)
{
    const struct mf_pool job = {1, {fine, coarse}};

    mf_pool_run(q, &job, 1);
}

/** The pooled slices of a plan and their gradients; their memory order is that of the original slices. */
struct mf_pyramid {
    size_t levels;
    struct mf_pyramid_areas areas;
    float *x, *g; /* device: levels 1 .. levels - 1, one after the other */
};

/** Takes its memory from the queue's arena, for @p slices slices. May refuse with MF_MEMORY. */
int mf_pyramid_open(struct mf_pyramid *p, struct mf_queue *q, const struct mf_slice_desc *desc, size_t slices);
void mf_pyramid_close(struct mf_pyramid *p, struct mf_queue *q);

/** Level @p l of @p x, or of its gradient: x itself on level 0. Its first slice is at the place @p slot. */
struct mf_view mf_pyramid_view(const struct mf_pyramid *p, const struct mf_view *x, size_t l, size_t slot);
struct mf_view mf_pyramid_gradient(const struct mf_pyramid *p, const struct mf_view *g, size_t l, size_t slot);

/** The job that pools the next levels above @p from; without levels if there are none. */
struct mf_pool mf_pyramid_pool(const struct mf_pyramid *p, const struct mf_view *x, size_t from, size_t slot);

/** Fills the levels of slices from 1 to the coarsest. */
void mf_pyramid_fill(const struct mf_pyramid *p, struct mf_queue *q, const struct mf_view *x);

/** Part of Variation that S2 needs beside it: the description of its plan. */
const struct mf_slice_desc *mf_single_desc(const struct mf_slice_plan *plan);

/** The part of pixel (s, u, v) in the gradient of the next coarser level; base NULL: none. */
__device__ inline float mf_from_coarse(const struct mf_view &coarse, size_t s, size_t u, size_t v)
{
    if (!coarse.base || u / 2 >= coarse.nu || v / 2 >= coarse.nv) return 0.0f;
    return 0.25f * coarse.base[mf_at(coarse, s, u / 2, v / 2)];
}

/** g = or += the part of the coarser level, for levels that take no part themselves. */
void mf_pyramid_pass(struct mf_queue *q, const struct mf_view &coarse, const struct mf_view &g, int add);

/** tally += value in grains. Integers: in any order. */
__device__ inline void mf_tally_add(int64_t *tally, double value)
{
    typedef unsigned long long integer; /* negative numbers too: sums are modulo 2^64 */

    atomicAdd(reinterpret_cast<integer *>(tally), integer(mf_compare_grains(double(float(value)))));
}

/** Sum of a block's values in a fixed order; every thread gets it. @p shared: [blockDim.x] doubles. The number of
 * threads must be a power of two. */
__device__ inline double mf_block_sum(double value, double *shared)
{
    __syncthreads();
    shared[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    return shared[0];
}

#endif
