/* Operations of networks on a GPU that is not here: they take the same work memory, and cannot run. */
#include <stddef.h>

#include "kernels/dry.h"
#include "kernels/net/gpu_work.h"
#include "src/base/err.h"

/* An operation that has no handles, and this work memory. */
#define PLANS(name, WORK)                                                                                       \
    static int name##_plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work) \
    {                                                                                                           \
        (void)q;                                                                                                \
        (void)call;                                                                                             \
        (void)back;                                                                                             \
        *made = NULL;                                                                                           \
        *work = WORK;                                                                                           \
        return MF_OK;                                                                                           \
    }                                                                                                           \
    static const struct mf_op_calls name = {name##_plan, NULL, NULL, NULL};

PLANS(linear, mf_gpu_linear_front(call, back) + MF_TUNING_WORK)
PLANS(conv2d, mf_gpu_conv_front(call, back) + MF_TUNING_WORK)
PLANS(conv_depthwise, mf_gpu_depthwise_work(call))
PLANS(matmul, MF_TUNING_WORK)
PLANS(group_norm, mf_gpu_group_norm_work(call))
PLANS(attention, mf_gpu_attention_work(call, back))
PLANS(grouped_linear, mf_gpu_grouped_work(call, back))
PLANS(route_load, mf_gpu_route_load_work(call))
PLANS(permute, mf_gpu_permute_work(call, back))
PLANS(pick, mf_gpu_pick_work(call))

static const struct mf_op_calls no_work = {NULL, NULL, NULL, NULL};

void mf_dry_gpu_net(struct mf_op_table *table)
{
    for (int op = 0; op < MF_OP_COUNT; ++op) table->calls[op] = &no_work;
    table->calls[MF_OP_LINEAR] = &linear;
    table->calls[MF_OP_CONV2D] = &conv2d;
    table->calls[MF_OP_CONV_DEPTHWISE] = &conv_depthwise;
    table->calls[MF_OP_MATMUL] = &matmul;
    table->calls[MF_OP_GROUP_NORM] = &group_norm;
    table->calls[MF_OP_ATTENTION] = &attention;
    table->calls[MF_OP_GROUPED_LINEAR] = &grouped_linear;
    table->calls[MF_OP_ROUTE_LOAD] = &route_load;
    table->calls[MF_OP_PERMUTE] = &permute;
    table->calls[MF_OP_PICK] = &pick;
}
