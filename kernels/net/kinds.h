/* The operations one by one, for kernels/net and the back ends' tables alone; others use mf_ops[]. */
#ifndef MF_KERNELS_NET_KINDS_H
#define MF_KERNELS_NET_KINDS_H

#include "kernels/net/ops.h"

#define MF_OP_KIND(NAME, name) extern const struct mf_op mf_op_##name;
MF_OP_LIST(MF_OP_KIND)
#undef MF_OP_KIND
extern const struct mf_op mf_op_start, mf_op_finish;

#endif
