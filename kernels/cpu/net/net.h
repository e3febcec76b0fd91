/* Shared by the operations of networks on cpu: rows over threads, matrix products.
 * Rule: results do not depend on the number of threads. */
#ifndef MF_KERNELS_CPU_NET_NET_H
#define MF_KERNELS_CPU_NET_NET_H

#include <string.h>

#include "kernels/backend.h"
#include "kernels/cpu/cpu.h"
#include "kernels/net/ops.h"

#define MF_OP_CALLS(NAME, name) extern const struct mf_op_calls mf_op_##name##_cpu;
MF_OP_LIST(MF_OP_CALLS)
#undef MF_OP_CALLS

/** Does work(call, from, to) for parts of the rows [0, @p rows), side by side. A row touches @p cost numbers. A row's
 * results must not depend on the part. */
void mf_cpu_rows(const struct mf_queue *queue, size_t rows, size_t cost,
                 void (*work)(const struct mf_call *call, size_t from, size_t to), const struct mf_call *call);

/** Sums of @p columns columns, at most MF_STRIP, of @p rows rows of @p m numbers of @p type. Sums over MF_BLOCK rows
 * are floats; doubles sum these. */
enum { MF_STRIP = 64, MF_BLOCK = 64 };
void mf_cpu_strip(enum mf_type type, const void *x, size_t rows, size_t m, size_t columns, double *sum);

/** to = from, or to += from. The two may be one. */
void mf_cpu_move(const float *from, float *to, size_t n, int add);

/** C = A B, or C += A B, row by row, op(A): [m][k], op(B): [k][n]. Where @p ta or @p tb, the memory holds the
 * transpose. The numbers from row to row of the memory are lda, ldb, ldc. */
struct mf_gemm {
    int ta, tb, add;
    size_t m, n, k;
    const float *a, *b;
    size_t lda, ldb;
    float *c;
    size_t ldc;
};
void mf_cpu_gemm(const struct mf_queue *queue, const struct mf_gemm *gemm);

/** The same on the calling thread, also within a parallel region. */
void mf_cpu_gemm_alone(const struct mf_gemm *gemm);

#endif
