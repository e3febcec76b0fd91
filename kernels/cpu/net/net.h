/* Shared by the operations of networks on cpu: rows over threads, exponentials, matrix products.
 * Rule: results do not depend on the number of threads. */
#ifndef MF_KERNELS_CPU_NET_NET_H
#define MF_KERNELS_CPU_NET_NET_H

#include <stdint.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cpu/cpu.h"
#include "kernels/net/ops.h"

#define MF_OP_CALLS(NAME, name) extern const struct mf_op_calls mf_op_##name##_cpu;
MF_OP_LIST(MF_OP_CALLS)
#undef MF_OP_CALLS

/** Does work(call, from, to) for parts of the rows [0, @p rows), side by side. @p cost: numbers that a row touches. A
 * row's results must not depend on the part. */
void mf_cpu_rows(const struct mf_queue *queue, size_t rows, size_t cost,
                 void (*work)(const struct mf_call *call, size_t from, size_t to), const struct mf_call *call);

/** C = A B, or C += A B, row by row. op(A): [m][k], op(B): [k][n]; @p ta, @p tb: the memory holds the transpose. lda,
 * ldb, ldc: numbers from row to row of the memory. */
struct mf_gemm {
    int ta, tb, add;
    size_t m, n, k;
    const float *a, *b;
    size_t lda, ldb;
    float *c;
    size_t ldc;
};
void mf_cpu_gemm(const struct mf_queue *queue, const struct mf_gemm *gemm);

/** exp(x) to 2 units in the last place; the same bits in vectors and single numbers. Clamped to [-87.3, 88.7]. */
static inline float mf_exp(float x)
{
    const float rounded = 12582912.0F; /* 1.5 * 2^23: the sum with it is a whole number */
    float n, r, p, scale;
    int32_t bits;
    uint32_t exponent;

    x = x < -87.3F ? -87.3F : x > 88.7F ? 88.7F : x;
    n = x * 1.44269504F + rounded;
    memcpy(&bits, &n, sizeof bits);
    n -= rounded;
    r = x - n * 0.693359375F + n * 2.12194440e-4F;
    p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1;
    exponent = ((uint32_t)bits << 23) + 0x3f800000U;
    memcpy(&scale, &exponent, sizeof scale);
    return p * scale;
}

#endif
