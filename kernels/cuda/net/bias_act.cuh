/* The step behind linear and convolutions: y = act(sum + b), and backward of that. The sums are in out[1], if the call
 * has it, else in out[0]. */
#ifndef MF_KERNELS_CUDA_NET_BIAS_ACT_CUH
#define MF_KERNELS_CUDA_NET_BIAS_ACT_CUH

#include "kernels/cuda/queue.cuh"
#include "kernels/net/gpu_work.h"

static inline void *mf_sums(const struct mf_call *call) { return call->out[call->out[1].at ? 1 : 0].at; }

/** Adds the bias to the sums, if the call has one. */
void mf_bias_forward(struct mf_queue *q, const struct mf_call *call);

/** The activation of the sums; none: nothing. */
void mf_act_forward(struct mf_queue *q, const struct mf_call *call);

/** The gradient of the sums: dout through the activation. It stands in the memory of dout, or at the beginning of work
 * memory, in mf_gpu_act_work() bytes. */
void *mf_act_backward(struct mf_queue *q, const struct mf_call *call);

/** The gradient of the bias from @p slope, that of the sums; nothing, if the call does not want it. */
void mf_bias_backward(struct mf_queue *q, const struct mf_call *call, const void *slope);

#endif
