/* Products of matrices of bf16 by oneDNN, on cores that multiply bf16. Sums are f32.
 * Rule: one thread computes a tile of the output, as in gemm.c. So bits do not depend on the number of threads. */
#ifndef MF_KERNELS_CPU_NET_PRODUCT_H
#define MF_KERNELS_CPU_NET_PRODUCT_H

#include "kernels/backend.h"

/** c = a b, c = a b + bias, relu of that, or c += a b. Inputs a [m][k] and b [k][n] are bf16, and memory may hold their
 * transposes. Outputs c [m][n] are bf16 or f32, and bias [n] is f32. The numbers from row to row of the memory are lda,
 * ldb, ldc. */
struct mf_product_wish {
    int ta, tb, add, bias, relu;
    size_t m, n, k, lda, ldb, ldc;
    enum mf_type type; /* of c */
};

struct mf_product;

/** Refuses with MF_DEVICE where the library cannot. @p count: so many products, side by side. */
int mf_product_open(struct mf_product **product, const struct mf_product_wish *wish, size_t count, int threads);
void mf_product_close(struct mf_product *product);

/** Bytes of work memory. */
size_t mf_product_work(const struct mf_product *product);

/** Computes all of them. a, b, c: [count], each one behind the other. */
void mf_product_run(const struct mf_product *product, const void *a, const void *b, void *c, const float *bias,
                    void *work);

#endif
