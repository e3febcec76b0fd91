/* The operations one by one, for kernels/net and the back ends' tables alone; others use mf_ops[]. */
#ifndef MF_KERNELS_NET_KINDS_H
#define MF_KERNELS_NET_KINDS_H

#include "kernels/net/ops.h"

#define MF_OP_KIND(NAME, name) extern const struct mf_op mf_op_##name;
MF_OP_LIST(MF_OP_KIND)
#undef MF_OP_KIND
extern const struct mf_op mf_op_start, mf_op_finish, mf_op_copy, mf_op_copied, mf_op_trade, mf_op_trade_back;

/** Does a fused activation keep what it got? The slope of relu is known from its output. */
static inline int mf_act_keeps(const struct mf_attr *attr)
{
    return attr->act != MF_ACT_NONE && attr->act != MF_ACT_RELU;
}

/** linear.c: what backward of a product of in[0] and in[1] reads: for each gradient the other factor; for a fused
 * activation what its slope follows from. */
void mf_product_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out);

/** linear.c: operations of linear and of convolutions: one output sums as many products as it has weights. */
double mf_linear_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out);

/** text.c: refuses weights whose type no product reads, and scales that are too few or not wanted. */
int mf_weights_fit(const struct mf_shape *weights, const struct mf_shape *scale);

#endif
