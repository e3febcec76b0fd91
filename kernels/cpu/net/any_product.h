/* Products of matrices of bf16 by oneDNN, whose extents are known when they are computed: rows of an expert.
 * Rule: one thread computes one. */
#ifndef MF_KERNELS_CPU_NET_ANY_PRODUCT_H
#define MF_KERNELS_CPU_NET_ANY_PRODUCT_H

#include "kernels/cpu/net/product.h"

struct mf_any_product;

/** Refuses with MF_DEVICE where the library cannot. @p wish: ta, tb and add count. @p threads: that may compute. */
int mf_any_product_open(struct mf_any_product **product, const struct mf_product_wish *wish, int threads);
void mf_any_product_close(struct mf_any_product *product);

/** c = a b or c += a b, with the extents of @p wish, on the calling thread; c is f32. */
void mf_any_product_run(const struct mf_any_product *product, const struct mf_product_wish *wish, const void *a,
                        const void *b, float *c);

#endif
