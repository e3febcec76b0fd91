/* Products of small matrices in shared memory, by a warp. For f32 it multiplies and adds; 16 bits go by tensor cores
 * with sums in f32.
 * Rule: for all types lane l holds c[n] = columns 8 n + 2 (l % 4) and the next one. They are of row l / 4, then of row
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

/* Terms [i, i + 4) of the sums, of @p L neighbouring lines. A line is a row of a or a column of b. ALONG: its terms
 * follow one another in memory. */
template <bool ALONG, int L>
__device__ inline void mf_tile_terms(float (&v)[L][4], mf_matrix<float> from, unsigned line, unsigned i)
{
    if constexpr (ALONG) {
        for (unsigned l = 0; l < L; ++l) {
            const float4 four = *reinterpret_cast<const float4 *>(from.at + (line + l) * from.step + i);

            v[l][0] = four.x, v[l][1] = four.y, v[l][2] = four.z, v[l][3] = four.w;
        }
    } else {
        for (unsigned w = 0; w < 4; ++w)
            for (unsigned l = 0; l < L; ++l) v[l][w] = from.at[(i + w) * from.step + line + l];
    }
}

/** c[m] += rows 16 m .. 16 m + 15 of a, by b, which has k rows of 8 N. A_TURNED, B_TURNED: a, b stands transposed. k is
 * a multiple of 16, N is even. All lanes of a warp call it. */
template <bool A_TURNED, bool B_TURNED, int M, int N>
__device__ inline void mf_tile_products(float (&c)[M][N][4], mf_matrix<float> a, mf_matrix<float> b, unsigned k)
{
    MF_NO_UNROLL
    for (unsigned i = 0; i < k; i += 4) {
        float left[M][2][1][4], right[2][4];

        MF_UNROLL
        for (int m = 0; m < M; ++m)
            for (int h = 0; h < 2; ++h)
                mf_tile_terms<!A_TURNED>(left[m][h], a, 16 * unsigned(m) + mf_tile_row(2 * h), i);
        MF_UNROLL
        for (int n = 0; n < N; ++n) {
            mf_tile_terms<B_TURNED>(right, b, mf_tile_column(n, 0), i);
            MF_UNROLL
            for (int m = 0; m < M; ++m)
                for (int w = 0; w < 4; ++w)
                    for (int j = 0; j < 4; ++j) c[m][n][j] += left[m][j / 2][0][w] * right[j % 2][w];
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

template <bool A_TURNED, bool B_TURNED, int M, int N, class T>
__device__ inline void mf_tile_products(float (&c)[M][N][4], mf_matrix<T> a, mf_matrix<T> b, unsigned k)
{
    static_assert(N % 2 == 0, "columns come in sixteens");
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, low = lane % 16, high = lane / 16 * 8;
    const unsigned line = lane % 8 + high, term = lane / 8 % 2 * 8; /* of b along the sums, of a across them */

    MF_UNROLL_FOUR
    for (unsigned i = 0; i < k; i += 16) {
        uint32_t left[M][4], right[4];

        MF_UNROLL
        for (int m = 0; m < M; ++m) {
            if constexpr (A_TURNED)
                mf_tile_load<true>(left[m], a.at + (i + line) * a.step + 16 * unsigned(m) + term);
            else
                mf_tile_load<false>(left[m], a.at + (16 * unsigned(m) + low) * a.step + i + high);
        }
        MF_UNROLL
        for (int n = 0; n < N; n += 2) {
            if constexpr (B_TURNED)
                mf_tile_load<false>(right, b.at + (8 * unsigned(n) + line) * b.step + i + term);
            else
                mf_tile_load<true>(right, b.at + (i + low) * b.step + 8 * unsigned(n) + high);
            MF_UNROLL
            for (int m = 0; m < M; ++m) {
                mf_tile_mma(c[m][n], left[m], right, T());
                mf_tile_mma(c[m][n + 1], left[m], right + 2, T());
            }
        }
    }
}

/* -- 16 rows -- */

/** c += a b; TURNED: b stands transposed. */
template <bool TURNED, int N, class T>
__device__ inline void mf_tile_product(float (&c)[N][4], mf_matrix<T> a, mf_matrix<T> b, unsigned k)
{
    mf_tile_products<false, TURNED>(reinterpret_cast<float(&)[1][N][4]>(c), a, b, k);
}

#endif
