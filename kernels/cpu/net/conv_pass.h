/* One pass of a convolution by oneDNN: forward, the gradient of the images, or that of the weights.
 *
 * Rule: the images are cut into pieces whose size follows from the shapes. One thread computes a piece, because the
 * library's sums depend on the number of its threads. It may want images in a layout of its own; a piece is reordered
 * in work memory. */
#ifndef MF_KERNELS_CPU_NET_CONV_PASS_H
#define MF_KERNELS_CPU_NET_CONV_PASS_H

#include "kernels/op.h"

enum mf_conv_kind { MF_CONV_FORWARD, MF_CONV_DATA, MF_CONV_WEIGHTS };

struct mf_conv_pass;

/** Makes the handles for the shapes of @p call, for @p threads threads. Inputs x, y and weights are f32, or bf16 where
 * mf_dnnl_has_bf16(). The gradient of weights is f32. Forward includes the bias and relu, if @p call has them. Refuses
 * with MF_DEVICE where the library cannot. */
int mf_conv_pass_open(struct mf_conv_pass **pass, enum mf_conv_kind kind, const struct mf_call *call, int threads);
void mf_conv_pass_close(struct mf_conv_pass *pass);

/** Bytes of work memory. */
size_t mf_conv_pass_work(const struct mf_conv_pass *pass);

/**
 * Computes y from x and w, x from w and y, or w from x and y (the call's shapes; w as PyTorch has it). A call without a
 * bias has @p bias NULL. The gradient of the weights is added to @p w, if the call's bit 1 of add is set.
 */
void mf_conv_pass_run(struct mf_conv_pass *pass, void *x, void *w, void *y, const float *bias, void *work);

#endif
