/* Products of small matrices in shared memory, by a warp: f32 by multiply and add, numbers of 16 bits by tensor cores
 * with sums in f32.
 * Rule: lane l holds, for all types, c[n] = columns 8 n + 2 (l % 4) and the next one, of row l / 4, then of row
 * l / 4 + 8. A row of a matrix begins at a multiple of 16 bytes. */
#ifndef MF_KERNELS_CUDA_NET_TILE_CUH
#define MF_KERNELS_CUDA_NET_TILE_CUH

#include "kernels/cuda/net/half.cuh"

/** A matrix in shared memory: @p step numbers from one row to the next. */
template <class T> struct mf_matrix {
    const T *at;
    unsigned step;
};

/** The row, less than 16, and the column of number j of c[n]. */
__device__ inline unsigned mf_tile_row(int j) { return threadIdx.x % MF_CUDA_WARP / 4 + (j < 2 ? 0 : 8); }
__device__ inline unsigned mf_tile_column(int n, int j)
{
    return 8 * unsigned(n) + threadIdx.x % 4 * 2 + unsigned(j & 1);
}

/* -- f32 -- */

/* Four numbers of the sums at a time: row i of a, for the lane's two rows, by the lane's columns of b. */
template <bool TURNED, int N>
__device__ inline void mf_tile_product(float (&c)[N][4], mf_matrix<float> a, mf_matrix<float> b, unsigned k)
{
    const float *upper = a.at + mf_tile_row(0) * a.step, *lower = a.at + mf_tile_row(2) * a.step;

    MF_NO_UNROLL
    for (unsigned i = 0; i < k; i += 4) {
        const float4 u = *reinterpret_cast<const float4 *>(upper + i);
        const float4 l = *reinterpret_cast<const float4 *>(lower + i);
        const float up[4] = {u.x, u.y, u.z, u.w}, low[4] = {l.x, l.y, l.z, l.w};

        MF_UNROLL
        for (int n = 0; n < N; ++n) {
            MF_UNROLL
            for (int j = 0; j < 2; ++j) {
                const unsigned column = mf_tile_column(n, j);
                float v[4];

                if constexpr (TURNED) {
                    const float4 four = *reinterpret_cast<const float4 *>(b.at + column * b.step + i);

                    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
                } else {
                    for (unsigned w = 0; w < 4; ++w) v[w] = b.at[(i + w) * b.step + column];
                }
                MF_UNROLL
                for (int w = 0; w < 4; ++w) {
                    c[n][j] += up[w] * v[w];
                    c[n][2 + j] += low[w] * v[w];
                }
            }
        }
    }
}

/* -- 16 bits -- */

/* Four matrices of 8 x 8 numbers; lane l says where row l % 8 of matrix l / 8 is. TURNED: each is transposed. */
template <bool TURNED> __device__ inline void mf_tile_load(uint32_t (&r)[4], const void *row)
{
#ifdef __CUDACC__
    const unsigned at = unsigned(__cvta_generic_to_shared(row));

    if constexpr (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
#else
    mf_emu_ldmatrix(r, row, TURNED);
#endif
}

/* c += a b: 16 x 16 by 16 x 8. */
#ifdef __CUDACC__
#define MF_TILE_MMA(type)                                                                                  \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
        "{%8, %9}, {%0, %1, %2, %3};"                                                                      \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                   \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define MF_TILE_MMA(type) mf_emu_mma(c, a, b, type)
#endif
__device__ inline void mf_tile_mma(float (&c)[4], const uint32_t *a, const uint32_t *b, mf_bf16)
{
    MF_TILE_MMA("bf16");
}
__device__ inline void mf_tile_mma(float (&c)[4], const uint32_t *a, const uint32_t *b, mf_f16) { MF_TILE_MMA("f16"); }
#undef MF_TILE_MMA

/** c += a b, where a has 16 rows of @p k numbers and b has k rows of 8 N; TURNED: b stands transposed. k is a multiple
 * of 16, N is even. All lanes of a warp call it. */
template <bool TURNED, int N, class T>
__device__ inline void mf_tile_product(float (&c)[N][4], mf_matrix<T> a, mf_matrix<T> b, unsigned k)
{
    static_assert(N % 2 == 0, "columns come in sixteens");
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, row = lane % 16, column = lane / 16 * 8;
    const unsigned across = lane % 8 + lane / 16 * 8, along = lane / 8 % 2 * 8; /* columns of b, and rows of it */
    const T *from = a.at + row * a.step + column;

    MF_UNROLL_FOUR
    for (unsigned i = 0; i < k; i += 16) {
        uint32_t left[4], right[4];

        mf_tile_load<false>(left, from + i);
        MF_UNROLL
        for (int n = 0; n < N; n += 2) {
            if constexpr (TURNED)
                mf_tile_load<false>(right, b.at + (8 * unsigned(n) + across) * b.step + along + i);
            else
                mf_tile_load<true>(right, b.at + (i + lane % 16) * b.step + 8 * unsigned(n) + column);
            mf_tile_mma(c[n], left, right, T());
            mf_tile_mma(c[n + 1], left, right + 2, T());
        }
    }
}

#endif
