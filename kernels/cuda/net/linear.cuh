/* linear, also for convolutions that are products: weights [m] and as many axes as together have k numbers. */
#ifndef MF_KERNELS_CUDA_NET_LINEAR_CUH
#define MF_KERNELS_CUDA_NET_LINEAR_CUH

#include "kernels/cuda/queue.cuh"

int mf_linear_plan(struct mf_queue *q, const struct mf_call *call, int back, void **plan, size_t *work);
void mf_linear_release(void *plan);
void mf_linear_forward(struct mf_queue *q, const struct mf_call *call);
void mf_linear_backward(struct mf_queue *q, const struct mf_call *call);

#endif
