/* Products with weights of few rows, straight from memory. Packing the weights, as libraries do, would cost more than
 * the product. */
#ifndef MF_KERNELS_CPU_NET_FEW_ROWS_H
#define MF_KERNELS_CPU_NET_FEW_ROWS_H

#include "kernels/cpu/net/net.h"

/** Computes c = a b of few rows of a, where the memory holds the transpose of b. Returns 0, and does nothing, where a
 * library is faster. */
int mf_few_rows(const struct mf_gemm *gemm);

#endif
