/* The part of cuBLASLt's interface that the cuda back end uses. Names, argument types and numbers follow cublasLt.h;
 * they are the same in versions 12 and 13. Matrices are column by column. */
#ifndef MF_KERNELS_CUDA_NET_CUBLASLT_ABI_H
#define MF_KERNELS_CUDA_NET_CUBLASLT_ABI_H

#include <stdint.h>

#include "kernels/cuda/net/library.h"

enum { MF_LT_F32 = 0, MF_LT_F16 = 2, MF_LT_BF16 = 14 }; /* cudaDataType */
enum { MF_LT_NOT_SUPPORTED = 15 };                      /* cublasStatus_t */
enum { MF_LT_COMPUTE_F32 = 68 };                        /* cublasComputeType_t */
enum { MF_LT_AS_IT_IS = 0, MF_LT_TRANSPOSED = 1 };      /* cublasOperation_t */

/* cublasLtMatmulDescAttributes_t */
enum { MF_LT_OPERATION_A = 3, MF_LT_OPERATION_B = 4, MF_LT_EPILOGUE = 7 };
enum { MF_LT_BIAS_POINTER = 8, MF_LT_AUX_POINTER = 11, MF_LT_AUX_LD = 12 };

/* cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t */
enum { MF_LT_BATCH_COUNT = 5, MF_LT_BATCH_OFFSET = 6 };
enum { MF_LT_MOST_WORK = 1, MF_LT_ALIGNMENT_A = 5, MF_LT_ALIGNMENT_D = 8 };

/* cublasLtEpilogue_t: sums of these */
enum {
    MF_LT_DEFAULT = 1,    /* alone */
    MF_LT_RELU = 2,       /* d = max(d, 0) */
    MF_LT_BIAS = 4,       /* first: a number for each row of D is added */
    MF_LT_GELU = 32,      /* the approximation by tanh */
    MF_LT_AUX = 128,      /* what gelu gets is stored, too */
    MF_LT_BIAS_GRAD = 512 /* a number for each column of D: the sum of a column of op(B) */
};

struct mf_lt_algorithm { /* cublasLtMatmulAlgo_t */
    uint64_t data[8];
};

struct mf_lt_found { /* cublasLtMatmulHeuristicResult_t */
    struct mf_lt_algorithm algorithm;
    size_t work;
    int status;
    float waves;
    int reserved[4];
};

/* Descriptors and handles are pointers to what the library knows. */
/* clang-format off */
#define MF_LT_LIST(X) \
    X(open, "cublasLtCreate", (void **handle)) \
    X(close, "cublasLtDestroy", (void *handle)) \
    X(product_new, "cublasLtMatmulDescCreate", (void **product, int compute, int scale)) \
    X(product_set, "cublasLtMatmulDescSetAttribute", (void *product, int attribute, const void *value, size_t bytes)) \
    X(product_free, "cublasLtMatmulDescDestroy", (void *product)) \
    X(layout_new, "cublasLtMatrixLayoutCreate", (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)) \
    X(layout_set, "cublasLtMatrixLayoutSetAttribute", (void *layout, int attribute, const void *value, size_t bytes)) \
    X(layout_free, "cublasLtMatrixLayoutDestroy", (void *layout)) \
    X(wish_new, "cublasLtMatmulPreferenceCreate", (void **wish)) \
    X(wish_set, "cublasLtMatmulPreferenceSetAttribute", (void *wish, int attribute, const void *value, size_t bytes)) \
    X(wish_free, "cublasLtMatmulPreferenceDestroy", (void *wish)) \
    X(find, "cublasLtMatmulAlgoGetHeuristic", (void *handle, void *product, void *a, void *b, void *c, void *d, \
                                               void *wish, int most, struct mf_lt_found *found, int *count)) \
    X(check, "cublasLtMatmulAlgoCheck", (void *handle, void *product, void *a, void *b, void *c, void *d, \
                                         const struct mf_lt_algorithm *algorithm, struct mf_lt_found *result)) \
    X(property, "cublasLtGetProperty", (int part, int *value)) \
    X(run, "cublasLtMatmul", (void *handle, void *product, const void *alpha, const void *a, void *la, const void *b, \
                              void *lb, const void *beta, const void *c, void *lc, void *d, void *ld, \
                              const struct mf_lt_algorithm *algorithm, void *work, size_t bytes, void *stream))
/* clang-format on */

struct mf_lt {
    MF_LT_LIST(MF_LIBRARY_MEMBER) //
};

#endif
