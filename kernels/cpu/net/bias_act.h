/* The step behind linear and convolutions: y = act(sum + b), and backward of that. The sums are in out[1], if the call
 * has it, else in out[0]. Types: f32 or bf16; the bias and its gradient are f32. */
#ifndef MF_KERNELS_CPU_NET_BIAS_ACT_H
#define MF_KERNELS_CPU_NET_BIAS_ACT_H

#include "kernels/cpu/net/net.h"

/** @p bias: NULL: none, or the sums have it. */
void mf_bias_act_forward(const struct mf_queue *queue, const struct mf_call *call, const float *bias);

/** Bytes of the work memory that mf_bias_act_backward() takes at the beginning of call->work. */
size_t mf_bias_act_work(const struct mf_call *call);

/** The gradient of the sums: dout through the activation, in the memory of dout, or else in work memory. */
void *mf_bias_act_backward(const struct mf_queue *queue, const struct mf_call *call);

/** The gradient of the bias from @p slope, that of the sums; nothing, if the call does not want it. */
void mf_bias_backward(const struct mf_queue *queue, const struct mf_call *call, const void *slope);

#endif
