/* Products of large matrices, by blocks of 128 x 128 sums. Tiles of both matrices come to shared memory while earlier
 * ones are multiplied; a warp has 64 x 64 sums.
 * Rule: the terms of a sum are added in their order. So a block has the same bits in every run. */
#ifndef MF_KERNELS_CUDA_NET_BLOCK_CUH
#define MF_KERNELS_CUDA_NET_BLOCK_CUH

#include "kernels/cuda/net/net.cuh"
#include "kernels/cuda/net/tile.cuh"

constexpr unsigned MF_BLOCK_LINES = 128, MF_BLOCK_THREADS = 128, MF_BLOCK_STAGES = 4;
constexpr unsigned MF_BLOCK_WARP = 64; /* rows, and columns, of a warp */

/** The sums of a lane. */
typedef float mf_block_sums[MF_BLOCK_WARP / 16][MF_BLOCK_WARP / 8][4];

/* -- copies to shared memory beside other work -- */

/** Begins a copy of 16 bytes; not @p there: of zeros, and @p from is not read. */
__device__ inline void mf_copy_begin(void *to, const void *from, bool there)
{
#ifdef __CUDACC__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
                 : "memory");
#else
    mf_emu_copy_begin(to, from, there ? 16 : 0, 16);
#endif
}

/** Ends a group of copies of this thread. */
__device__ inline void mf_copy_group()
{
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" : : : "memory");
#else
    mf_emu_copy_group();
#endif
}

/** Waits for all groups of this thread but the last @p GROUPS. */
template <int GROUPS> __device__ inline void mf_copy_wait()
{
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" : : "n"(GROUPS) : "memory");
#else
    mf_emu_copy_wait(GROUPS);
#endif
}

/* -- tiles -- */

/** Terms of a tile's lines. */
template <class T> constexpr unsigned mf_tile_depth = 64 / sizeof(T);

/** A piece of a matrix in global memory, from @p at on; beyond it are zeros. */
template <class T> struct mf_piece {
    const T *at;
    size_t step; /* from one row to the next */
    unsigned rows, columns;
};

/** A tile has MF_BLOCK_LINES lines. TURNED: its rows in memory lie across the lines. */
template <class T, bool TURNED> struct mf_tile_shape {
    static constexpr unsigned W = 16 / sizeof(T), DEPTH = mf_tile_depth<T>;
    static constexpr unsigned ROWS = TURNED ? DEPTH : MF_BLOCK_LINES, COLUMNS = TURNED ? MF_BLOCK_LINES : DEPTH;
    static constexpr unsigned STEP = COLUMNS + W;                  /* neighbouring rows begin in different banks */
    static constexpr unsigned ROOM = MF_BLOCK_LINES * (DEPTH + W); /* numbers; turned tiles need less */
};

/** Shared memory of a block. */
template <class T> constexpr size_t mf_block_bytes = MF_BLOCK_STAGES * 2 * mf_tile_shape<T, false>::ROOM * sizeof(T);

/** Begins to take a tile. @p wide: rows are whole loads of 16 bytes. */
template <bool TURNED, class T> __device__ inline void mf_tile_take(T *to, const mf_piece<T> &from, bool wide)
{
    using S = mf_tile_shape<T, TURNED>;
    constexpr unsigned ACROSS = S::COLUMNS / S::W, DOWN = MF_BLOCK_THREADS / ACROSS;
    const unsigned first = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * S::W;

    if (wide) {
        const unsigned rows = column < from.columns ? from.rows : 0;
        const T *at = from.at + first * from.step + column;

        MF_UNROLL
        for (unsigned row = 0; row < S::ROWS; row += DOWN, at += DOWN * from.step)
            mf_copy_begin(to + (first + row) * S::STEP + column, at, first + row < rows);
        return;
    }
    MF_NO_UNROLL
    for (unsigned i = threadIdx.x; i < S::ROWS * S::COLUMNS; i += MF_BLOCK_THREADS) {
        const unsigned row = i / S::COLUMNS, across = i % S::COLUMNS;
        const bool there = row < from.rows && across < from.columns;

        to[row * S::STEP + across] = there ? from.at[row * from.step + across] : mf_round<T>(0);
    }
}

/* -- blocks -- */

__device__ inline unsigned mf_block_row() { return threadIdx.x / MF_CUDA_WARP / 2 * MF_BLOCK_WARP; }
__device__ inline unsigned mf_block_column() { return threadIdx.x / MF_CUDA_WARP % 2 * MF_BLOCK_WARP; }

/** c = a b. The function @p next gives the pieces of the next tiles of a and b, @p tiles times. Only @p rows and @p
 * columns of the block count; the sums of others are not computed. The memory @p shared has mf_block_bytes. */
template <bool A_TURNED, bool B_TURNED, class T, class Next>
__device__ void mf_block_product(mf_block_sums &c, T *shared, unsigned tiles, unsigned rows, unsigned columns,
                                 bool wide, const Next &next)
{
    using A = mf_tile_shape<T, A_TURNED>;
    using B = mf_tile_shape<T, !B_TURNED>;
    const bool counts = mf_block_row() < rows && mf_block_column() < columns;
    const T *a_at = shared + mf_block_row() * (A_TURNED ? 1 : A::STEP);
    const T *b_at = shared + A::ROOM + mf_block_column() * (B_TURNED ? B::STEP : 1);
    const auto turn = [](unsigned stage) { return stage + 1 < MF_BLOCK_STAGES ? stage + 1 : 0; };
    unsigned taken = 0, stage = 0;
    const auto take = [&](unsigned i) {
        T *to = shared + taken * 2 * A::ROOM;
        mf_piece<T> a, b;

        if (i < tiles) {
            next(&a, &b);
            mf_tile_take<A_TURNED>(to, a, wide);
            mf_tile_take<!B_TURNED>(to + A::ROOM, b, wide);
        }
        mf_copy_group();
        taken = turn(taken);
    };

    for (unsigned i = 0; i < MF_BLOCK_STAGES - 1; ++i) take(i);
    MF_NO_UNROLL
    for (unsigned i = 0; i < tiles; ++i, stage = turn(stage)) {
        mf_copy_wait<int(MF_BLOCK_STAGES) - 2>();
        __syncthreads();
        take(i + MF_BLOCK_STAGES - 1);
        if (counts)
            mf_tile_products<A_TURNED, B_TURNED>(c, mf_matrix<T>{a_at + stage * 2 * A::ROOM, A::STEP},
                                                 mf_matrix<T>{b_at + stage * 2 * A::ROOM, B::STEP}, A::DEPTH);
    }
}

/** Calls give(row, column, v) for four neighbouring sums at a time, by way of @p shared. So arrays are written in
 * lines. */
template <class Give> __device__ void mf_block_give(const mf_block_sums &c, void *shared, const Give &give)
{
    constexpr unsigned STEP = MF_BLOCK_WARP + 8, FOURS = MF_BLOCK_WARP / 4;
    float *own = static_cast<float *>(shared) + threadIdx.x / MF_CUDA_WARP * 16 * STEP;

    __syncthreads();
    MF_UNROLL
    for (unsigned m = 0; m < MF_BLOCK_WARP / 16; ++m) {
        MF_UNROLL
        for (int n = 0; n < int(MF_BLOCK_WARP / 8); ++n)
            for (int j = 0; j < 4; ++j) own[mf_tile_row(j) * STEP + mf_tile_column(n, j)] = c[m][n][j];
        __syncwarp();
        MF_NO_UNROLL
        for (unsigned i = threadIdx.x % MF_CUDA_WARP; i < 16 * FOURS; i += MF_CUDA_WARP) {
            const unsigned row = i / FOURS, column = i % FOURS * 4;
            float v[4];

            mf_load<4>(own + row * STEP + column, v);
            give(mf_block_row() + 16 * m + row, mf_block_column() + column, v);
        }
        __syncwarp();
    }
}

#endif
