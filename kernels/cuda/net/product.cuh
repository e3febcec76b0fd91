/* Matrix products by cuBLASLt. Descriptors and algorithms are chosen when a call is planned.
 * Rule: an epilogue is an offer. Where the library refuses these shapes, the caller does the step itself. */
#ifndef MF_KERNELS_CUDA_NET_PRODUCT_CUH
#define MF_KERNELS_CUDA_NET_PRODUCT_CUH

#include "kernels/cuda/net/cublaslt_abi.h"
#include "kernels/cuda/queue.cuh"

/** C = A B, or C += A B, row by row, of packed matrices, op(A): [m][k], op(B): [k][n]. Where @p ta or @p tb, the memory
 * holds the transpose. */
struct mf_product_of {
    bool ta, tb, add;
    size_t m, n, k;
    size_t batch; /* so many products, one behind another */
    enum mf_type type, result;
    int epilogue; /* sum of MF_LT_RELU, MF_LT_BIAS, ..., of C's columns; MF_LT_BIAS_GRAD: sums of the columns of A' */
};

struct mf_product;

/** Refuses with MF_DEVICE where the library is not here or has no algorithm. */
int mf_product_new(struct mf_queue *q, const struct mf_product_of *of, struct mf_product **product);
void mf_product_free(struct mf_product *product);

/** Bytes of work memory. NULL: 0. */
size_t mf_product_work(const struct mf_product *product);

/** The part of the epilogue that it does. */
int mf_product_epilogue(const struct mf_product *product);

/** @p bias: [n], added or, for MF_LT_BIAS_GRAD, [m], written; @p aux: as c. */
struct mf_product_with {
    void *bias, *aux;
};
void mf_product_run(struct mf_queue *q, const struct mf_product *product, const void *a, const void *b, void *c,
                    const struct mf_product_with &with, void *work);

#endif
