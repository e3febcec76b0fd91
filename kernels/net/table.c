/* See ops.h. */
#include "kernels/net/ops.h"

#include "kernels/net/kinds.h"

const struct mf_op *const mf_ops[] = {
#define MF_OP_ROW(NAME, name) [MF_OP_##NAME] = &mf_op_##name,
    MF_OP_LIST(MF_OP_ROW)
#undef MF_OP_ROW
        [MF_OP_START] = &mf_op_start,
    [MF_OP_FINISH] = &mf_op_finish,
    [MF_OP_COPY] = &mf_op_copy,
    [MF_OP_COPIED] = &mf_op_copied,
    [MF_OP_TRADE] = &mf_op_trade,
    [MF_OP_TRADE_BACK] = &mf_op_trade_back,
};
