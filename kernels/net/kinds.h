/* The operations one by one, for kernels/net and the back ends' tables alone; others use mf_ops[]. */
#ifndef MF_KERNELS_NET_KINDS_H
#define MF_KERNELS_NET_KINDS_H

#include "kernels/net/ops.h"

#define MF_OP_KIND(NAME, name) extern const struct mf_op mf_op_##name;
MF_OP_LIST(MF_OP_KIND)
#undef MF_OP_KIND

/** The output has the shape of in[0]. */
int mf_shape_same(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[]);

#endif
