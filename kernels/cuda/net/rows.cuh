/* Work along rows, by a warp each, and sums along columns, in double.
 * Rule: rows of a column are cut into chunks by shapes alone, and chunks are added in order. */
#ifndef MF_KERNELS_CUDA_NET_ROWS_CUH
#define MF_KERNELS_CUDA_NET_ROWS_CUH

#include "kernels/cuda/net/net.cuh"

/* -- rows -- */

/** Adds what the lanes of a warp have; every lane gets the sum. */
template <class T> __device__ inline T mf_warp_sum(T value)
{
    for (int half = MF_CUDA_WARP / 2; half; half /= 2) value += __shfl_xor_sync(0xffffffffu, value, half);
    return value;
}

__device__ inline float mf_warp_max(float value)
{
    for (int half = MF_CUDA_WARP / 2; half; half /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, half);

        value = other > value ? other : value;
    }
    return value;
}

template <class Body> __global__ void __launch_bounds__(MF_CUDA_THREADS) mf_rows_kernel(size_t rows, Body body)
{
    const size_t warps = MF_CUDA_THREADS / MF_CUDA_WARP, step = gridDim.x * warps;

    for (size_t r = blockIdx.x * warps + threadIdx.x / MF_CUDA_WARP; r < rows; r += step)
        body(r, threadIdx.x % MF_CUDA_WARP);
}

/** Calls body(row, lane) by all lanes of a warp for every row. */
template <class Body> void mf_rows_run(struct mf_queue *q, size_t rows, const Body &body)
{
    const size_t warps = MF_CUDA_THREADS / MF_CUDA_WARP, blocks = (rows + warps - 1) / warps, most = size_t(1) << 20;

    if (rows > 0)
        MF_RUN(mf_rows_kernel<Body>, unsigned(blocks < most ? blocks : most), MF_CUDA_THREADS, 0, q, rows, body);
}

/** The numbers of a row that a lane has, W at a time. A row of n numbers holds whole loads. */
template <int W, class Work> __device__ inline void mf_lane(size_t n, unsigned lane, const Work &work)
{
    for (size_t i = size_t(lane) * W; i < n; i += size_t(MF_CUDA_WARP) * W) work(i);
}

/* -- columns -- */

constexpr size_t MF_COLUMN_ROWS = 256, MF_COLUMN_CHUNKS = 256; /* rows of a chunk at least; most chunks */

/*
 * A body defines what is summed along the columns of one or several matrices:
 *   enum { SUMS }
 *   void operator()(size_t row, size_t column, double *value)         adds to value [SUMS]; row: of all matrices
 *   void store(size_t matrix, size_t column, int v, double sum)       receives a sum
 */
template <class Body> struct mf_columns {
    Body body;
    size_t matrices, rows, columns, chunk, tiles; /* rows of a matrix, of a chunk; tiles side by side */
    unsigned width;                               /* columns of a tile */
    double *part;                                 /* [chunk][matrix][column][value] */
};

/* Block (x, y): chunk y of tile x. Threads side by side have neighbouring columns. */
template <class Body> __global__ void __launch_bounds__(MF_CUDA_THREADS) mf_columns_chunks(mf_columns<Body> all)
{
    MF_SHARED(double, shared);
    const unsigned t = threadIdx.x;
    const size_t matrix = blockIdx.x / all.tiles, column = blockIdx.x % all.tiles * all.width + t % all.width;
    const size_t from = blockIdx.y * all.chunk, to = all.rows - from < all.chunk ? all.rows : from + all.chunk;
    double value[Body::SUMS] = {0};

    for (size_t r = from + t / all.width; column < all.columns && r < to; r += MF_CUDA_THREADS / all.width)
        all.body(matrix * all.rows + r, column, value);
    for (unsigned v = 0; v < Body::SUMS; ++v) shared[v * MF_CUDA_THREADS + t] = value[v];
    for (unsigned half = MF_CUDA_THREADS / 2; half >= all.width; half /= 2) {
        __syncthreads();
        for (unsigned v = 0; t < half && v < Body::SUMS; ++v)
            shared[v * MF_CUDA_THREADS + t] += shared[v * MF_CUDA_THREADS + t + half];
    }
    if (t >= all.width || column >= all.columns) return;
    for (unsigned v = 0; v < Body::SUMS; ++v) {
        const double sum = shared[v * MF_CUDA_THREADS + t];

        if (gridDim.y == 1)
            all.body.store(matrix, column, int(v), sum);
        else
            all.part[((blockIdx.y * all.matrices + matrix) * all.columns + column) * Body::SUMS + v] = sum;
    }
}

/* Adds the chunks of sum i. */
template <class Body> struct mf_columns_join {
    mf_columns<Body> all;
    size_t chunks;
    __device__ void operator()(size_t i) const
    {
        const size_t step = all.matrices * all.columns * Body::SUMS, column = i / Body::SUMS;
        double sum = 0;

        for (size_t c = 0; c < chunks; ++c) sum += all.part[c * step + i];
        all.body.store(column / all.columns, column % all.columns, int(i % Body::SUMS), sum);
    }
};

/** Sums along the columns of @p matrices matrices. */
template <class Body>
void mf_columns_run(struct mf_queue *q, size_t matrices, size_t rows, size_t columns, const Body &body)
{
    const size_t sums = matrices * columns * Body::SUMS;
    mf_columns<Body> all = {body, matrices, rows, columns, 0, 0, 1, mf_cuda_of(q)->part};
    size_t most = sums > 0 ? MF_PASS_PARTS / sums : 0, chunks = (rows + MF_COLUMN_ROWS - 1) / MF_COLUMN_ROWS;

    if (sums == 0 || rows == 0) return;
    while (all.width < MF_CUDA_WARP && all.width < columns) all.width *= 2;
    all.tiles = (columns + all.width - 1) / all.width;
    most = most < MF_COLUMN_CHUNKS ? most : MF_COLUMN_CHUNKS;
    chunks = most < 2 ? 1 : chunks < most ? chunks : most;
    all.chunk = (rows + chunks - 1) / chunks;
    chunks = (rows + all.chunk - 1) / all.chunk;
    MF_RUN(mf_columns_chunks<Body>, dim3(unsigned(matrices * all.tiles), unsigned(chunks)), MF_CUDA_THREADS,
           size_t(Body::SUMS) * MF_CUDA_THREADS * sizeof(double), q, all);
    if (chunks > 1) mf_each(q, sums, mf_columns_join<Body>{all, chunks});
}

#endif
