/* Correlations of maps at given lags by sums, and their gradients: D(r) = mean over p of a(p) b(p + r). A type Lags
 * names the lags: int count is their number. Its void operator()(int i, int *du, int *dv) returns the i-th. Maps of a
 * level are contiguous, [map][slice][nu][nv]; entries of map m are m * count + i. */
#ifndef MF_KERNELS_CUDA_LAGS_CUH
#define MF_KERNELS_CUDA_LAGS_CUH

#include "kernels/cuda/slices/packed.cuh"
#include "kernels/form/lag.h"

constexpr unsigned MF_LAGS_WIDE = 32, MF_LAGS_HIGH = 4, MF_LAGS_THREADS = MF_LAGS_WIDE * MF_LAGS_HIGH;

template <class Lags> struct mf_lags {
    Lags lags;
    int nu, nv, periodic;
    size_t count; /* slices */
    const float *a, *b;
    double *value; /* of slice 0: D, or slopes */
    size_t stride;
};

/** One over the pairs at a lag; 0: there are none. */
template <class Lags> __device__ inline double mf_lags_share(const mf_lags<Lags> &w, int du, int dv)
{
    const int u = du < 0 ? -du : du, v = dv < 0 ? -dv : dv;

    return w.periodic || (u < w.nu && v < w.nv)
               ? mf_lag_norm(w.periodic, size_t(w.nu), size_t(w.nv), size_t(u), size_t(v))
               : 0.0;
}

/** Offset of pixel (u, v); false: outside of a slice that is not periodic. */
template <class Lags> __device__ inline bool mf_lags_at(const mf_lags<Lags> &w, int u, int v, size_t *at)
{
    if (w.periodic) {
        u += u < 0 ? w.nu : u >= w.nu ? -w.nu : 0;
        v += v < 0 ? w.nv : v >= w.nv ? -w.nv : 0;
    } else if (u < 0 || u >= w.nu || v < 0 || v >= w.nv) {
        return false;
    }
    *at = size_t(u) * size_t(w.nv) + size_t(v);
    return true;
}

/* Block (lag, slice, map), WIDE x HIGH threads. */
template <class Lags> __global__ void __launch_bounds__(MF_LAGS_THREADS) mf_lags_sums(mf_lags<Lags> w)
{
    MF_SHARED(double, shared);
    const size_t slice = blockIdx.y, from = (blockIdx.z * w.count + slice) * size_t(w.nu) * size_t(w.nv);
    const int lanes = int(MF_LAGS_WIDE), rows = int(MF_LAGS_HIGH);
    const int v0 = int(threadIdx.x) % lanes, u0 = int(threadIdx.x) / lanes;
    double sum = 0.0;
    int du, dv;

    w.lags(int(blockIdx.x), &du, &dv);
    for (int u = u0; u < w.nu; u += rows) {
        float row = 0.0f;

        for (int v = v0; v < w.nv; v += lanes) {
            size_t at;

            if (mf_lags_at(w, u + du, v + dv, &at))
                row += w.a[from + size_t(u) * size_t(w.nv) + size_t(v)] * w.b[from + at];
        }
        sum += double(row);
    }
    sum = mf_block_sum(sum, shared);
    if (threadIdx.x == 0)
        w.value[slice * w.stride + blockIdx.z * size_t(w.lags.count) + blockIdx.x] = mf_lags_share(w, du, dv) * sum;
}

/* Block (pixels, slice, map): g += sum over lags of slope share (b(p + r), where FORWARD, + a(p - r), where BACK). */
template <bool FORWARD, bool BACK, class Lags>
__global__ void __launch_bounds__(MF_LAGS_THREADS) mf_lags_gather(mf_lags<Lags> w, float *g)
{
    MF_SHARED(float, weight); /* of as many lags as there are threads */
    const size_t pixels = size_t(w.nu) * size_t(w.nv), i = blockIdx.x * size_t(MF_LAGS_THREADS) + threadIdx.x;
    const size_t slice = blockIdx.y, from = (blockIdx.z * w.count + slice) * pixels;
    const double *slope = w.value + slice * w.stride + blockIdx.z * size_t(w.lags.count);
    const int u = int(i / size_t(w.nv)), v = int(i % size_t(w.nv)), threads = int(MF_LAGS_THREADS);
    float sum = 0.0f;

    for (int first = 0; first < w.lags.count; first += threads) {
        const int own = first + int(threadIdx.x), end = w.lags.count - first < threads ? w.lags.count - first : threads;
        int du, dv;

        __syncthreads();
        if (own < w.lags.count) {
            w.lags(own, &du, &dv);
            weight[threadIdx.x] = float(slope[own] * mf_lags_share(w, du, dv));
        }
        __syncthreads();
        for (int k = 0; k < end && i < pixels; ++k) {
            float both = 0.0f;
            size_t at;

            w.lags(first + k, &du, &dv);
            if (FORWARD && mf_lags_at(w, u + du, v + dv, &at)) both += w.b[from + at];
            if (BACK && mf_lags_at(w, u - du, v - dv, &at)) both += w.a[from + at];
            sum += weight[k] * both;
        }
    }
    if (i < pixels) g[from + i] += sum;
}

template <class Lags> void mf_lags_values(struct mf_queue *q, const mf_lags<Lags> &w, unsigned maps)
{
    MF_RUN(mf_lags_sums<Lags>, dim3(unsigned(w.lags.count), unsigned(w.count), maps), MF_LAGS_THREADS,
           sizeof(double) * MF_LAGS_THREADS, q, w);
}

template <bool FORWARD, bool BACK, class Lags>
void mf_lags_gradient(struct mf_queue *q, const mf_lags<Lags> &w, unsigned maps, float *g)
{
    const size_t pixels = size_t(w.nu) * size_t(w.nv);
    const unsigned blocks = unsigned((pixels + MF_LAGS_THREADS - 1) / MF_LAGS_THREADS);

    MF_RUN((mf_lags_gather<FORWARD, BACK, Lags>), dim3(blocks, unsigned(w.count), maps), MF_LAGS_THREADS,
           sizeof(float) * MF_LAGS_THREADS, q, w, g);
}

#endif
