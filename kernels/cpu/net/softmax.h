/* Rows of probabilities, shared by softmax and attention. */
#ifndef MF_KERNELS_CPU_NET_SOFTMAX_H
#define MF_KERNELS_CPU_NET_SOFTMAX_H

#include <stddef.h>

/** x becomes softmax(scale x) over the numbers that are seen (@p seen NULL: all). Others become 0, and all do where
 * none is seen. Returns log(sum of exp(scale x)). */
float mf_softmax_row(float *x, const unsigned char *seen, size_t n, float scale);

/** dx = p (dp - sum of p dp) scale, or dx += it: the gradient by the input of mf_softmax_row(). Both dp and dx may be
 * one array. */
void mf_softmax_row_back(const float *p, const float *dp, float *dx, size_t n, float scale, int add);

#endif
