/* Matrix products in tiles of 64 columns. A block of 16 x 16 threads computes a tile. Shared memory holds DEPTH
 * products of each of its numbers at a time. Factors are computed as they are loaded. */
#ifndef MF_KERNELS_CUDA_TILE_CUH
#define MF_KERNELS_CUDA_TILE_CUH

#include "kernels/cuda/queue.cuh"

constexpr int MF_TILE_DEPTH = 16, MF_TILE_SIDE = 16, MF_TILE_EACH = 4;
constexpr int MF_TILE_THREADS = MF_TILE_SIDE * MF_TILE_SIDE, MF_TILE_WIDTH = MF_TILE_SIDE * MF_TILE_EACH;
constexpr int MF_TILE_FOLD = 8; /* products that are summed in float */

/** A thread's numbers: G times four neighbouring rows of a group of 64, and four neighbouring columns. */
template <int G> struct mf_tile {
    float at[G * MF_TILE_EACH][MF_TILE_EACH];
};

/** The tile's row of a thread's i-th number, and its first column. */
__device__ inline int mf_tile_row(int i)
{
    return i / MF_TILE_EACH * MF_TILE_WIDTH + int(threadIdx.x) / MF_TILE_SIDE * MF_TILE_EACH + i % MF_TILE_EACH;
}

__device__ inline int mf_tile_column() { return int(threadIdx.x) % MF_TILE_SIDE * MF_TILE_EACH; }

/** += products of a [DEPTH][pitch] for the rows and b [DEPTH][WIDTH] for the columns, in shared memory. The pitch is a
 * multiple of 4. */
template <int G> __device__ inline void mf_tile_multiply(const float *a, int pitch, const float *b, mf_tile<G> *sum)
{
    a += mf_tile_row(0);
    b += mf_tile_column();
    MF_UNROLL
    for (int k = 0; k < MF_TILE_DEPTH; ++k) {
        float p[G * MF_TILE_EACH], q[MF_TILE_EACH];

        MF_UNROLL
        for (int i = 0; i < G * MF_TILE_EACH; ++i)
            p[i] = a[k * pitch + i / MF_TILE_EACH * MF_TILE_WIDTH + i % MF_TILE_EACH];
        MF_UNROLL
        for (int j = 0; j < MF_TILE_EACH; ++j) q[j] = b[k * MF_TILE_WIDTH + j];
        MF_UNROLL
        for (int i = 0; i < G * MF_TILE_EACH; ++i) {
            MF_UNROLL
            for (int j = 0; j < MF_TILE_EACH; ++j) sum->at[i][j] += p[i] * q[j];
        }
    }
}

/* -- Gram matrices: F^T F of F [rows][channels] -- */

/**
 * Defines F:
 *   size_t rows, channels
 *   at(size_t row)                                          what all channels of a row have in common
 *   float operator()(size_t slice, at(row), size_t channel)
 */
template <class Matrix> struct mf_tile_gram {
    Matrix f;
    double each, *value; /* value[slice * stride + r * channels + s] = each * sum over rows */
    size_t stride;
};

/* DEPTH rows of the channels from i0 and from j0 on, [DEPTH][WIDTH], neighbouring threads neighbouring channels. */
template <class Matrix>
__device__ void mf_tile_gram_load(const Matrix &f, size_t slice, size_t row, size_t i0, size_t j0, float *a, float *b)
{
    for (int i = int(threadIdx.x); i < MF_TILE_DEPTH * MF_TILE_WIDTH; i += MF_TILE_THREADS) {
        const size_t at = row + size_t(i / MF_TILE_WIDTH), c = i0 + size_t(i % MF_TILE_WIDTH),
                     d = j0 + size_t(i % MF_TILE_WIDTH);
        const bool is = at < f.rows;
        const auto p = f.at(is ? at : 0);

        a[i] = is && c < f.channels ? f(slice, p, c) : 0.0f;
        b[i] = is && d < f.channels ? f(slice, p, d) : 0.0f;
    }
}

/* Block (tile, slice): tiles (0, 0), (0, 1), (1, 1), (0, 2), .. */
template <class Matrix> __global__ void __launch_bounds__(MF_TILE_THREADS) mf_tile_gram_kernel(mf_tile_gram<Matrix> w)
{
    MF_SHARED(float, a);
    float *b = a + MF_TILE_DEPTH * MF_TILE_WIDTH;
    int column = 0, row = int(blockIdx.x);
    const size_t slice = blockIdx.y;
    double sum[MF_TILE_EACH][MF_TILE_EACH] = {};

    for (; row > column; ++column) row -= column + 1;
    const size_t i0 = size_t(row) * MF_TILE_WIDTH, j0 = size_t(column) * MF_TILE_WIDTH;

    for (size_t at = 0; at < w.f.rows;) {
        mf_tile<1> part = {};

        for (int fold = 0; fold < MF_TILE_FOLD && at < w.f.rows; ++fold, at += MF_TILE_DEPTH) {
            __syncthreads();
            mf_tile_gram_load(w.f, slice, at, i0, j0, a, b);
            __syncthreads();
            mf_tile_multiply(a, MF_TILE_WIDTH, b, &part);
        }
        MF_UNROLL
        for (int i = 0; i < MF_TILE_EACH; ++i) {
            MF_UNROLL
            for (int j = 0; j < MF_TILE_EACH; ++j) sum[i][j] += double(part.at[i][j]);
        }
    }
    for (int i = 0; i < MF_TILE_EACH; ++i)
        for (int j = 0; j < MF_TILE_EACH; ++j) {
            const size_t r = i0 + size_t(mf_tile_row(i)), s = j0 + size_t(mf_tile_column() + j);
            double *to = w.value + slice * w.stride;

            if (r > s || s >= w.f.channels) continue;
            to[r * w.f.channels + s] = to[s * w.f.channels + r] = w.each * sum[i][j];
        }
}

/** The Gram matrices of @p count slices. */
template <class Matrix> void mf_tile_gram_run(struct mf_queue *q, const mf_tile_gram<Matrix> &w, size_t count)
{
    const size_t tiles = (w.f.channels + MF_TILE_WIDTH - 1) / MF_TILE_WIDTH;

    MF_RUN(mf_tile_gram_kernel<Matrix>, dim3(unsigned(tiles * (tiles + 1) / 2), unsigned(count)), MF_TILE_THREADS,
           sizeof(float) * 2 * MF_TILE_DEPTH * MF_TILE_WIDTH, q, w);
}

#endif
