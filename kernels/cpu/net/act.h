/* Activations on ranges of numbers: relu, silu = x / (1 + e^-x), gelu = x Phi(x), and its approximation
 * gelu_tanh. */
#ifndef MF_KERNELS_CPU_NET_ACT_H
#define MF_KERNELS_CPU_NET_ACT_H

#include <stddef.h>

/** y = act(x), @p act: enum mf_act; x and y may be one array. MF_ACT_NONE: nothing is done, x is y. */
void mf_act_forward(int act, const float *x, float *y, size_t n);

/** dx = slope * dy, or dx += it. @p seen: x, of relu y. dy and dx may be one array. */
void mf_act_backward(int act, const float *seen, const float *dy, float *dx, size_t n, int add);

#endif
