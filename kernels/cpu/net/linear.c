/* linear on cpu. See kernels/net/linear.c. */
#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

/* Backward through the activation works in dout, or else in work memory. */
static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    (void)queue;
    *made = NULL;
    *work = back ? mf_bias_act_work(call) : 0;
    return MF_OK;
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t k = call->in[1].shape.d[1], m = call->in[1].shape.d[0], rows = mf_shape_rows(&call->in[0].shape);
    float *sum = call->out[1].at ? call->out[1].at : call->out[0].at;
    const struct mf_gemm product = {.tb = 1,
                                    .m = rows,
                                    .n = m,
                                    .k = k,
                                    .a = call->in[0].at,
                                    .lda = k,
                                    .b = call->in[1].at,
                                    .ldb = k,
                                    .c = sum,
                                    .ldc = m};

    mf_cpu_gemm(queue, &product);
    mf_bias_act_forward(queue, call, call->in[2].at);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    const float *slope = mf_bias_act_backward(queue, call);

    if (call->din[0].at) {
        const size_t k = call->in[1].shape.d[1];
        const struct mf_gemm product = {.add = call->add & 1,
                                        .m = rows,
                                        .n = k,
                                        .k = m,
                                        .a = slope,
                                        .lda = m,
                                        .b = call->in[1].at,
                                        .ldb = k,
                                        .c = call->din[0].at,
                                        .ldc = k};

        mf_cpu_gemm(queue, &product);
    }
    if (call->din[1].at) {
        const size_t k = call->din[1].shape.d[1];
        const struct mf_gemm product = {.ta = 1,
                                        .add = call->add >> 1 & 1,
                                        .m = m,
                                        .n = k,
                                        .k = rows,
                                        .a = slope,
                                        .lda = m,
                                        .b = call->in[0].at,
                                        .ldb = k,
                                        .c = call->din[1].at,
                                        .ldc = k};

        mf_cpu_gemm(queue, &product);
    }
    mf_bias_backward(queue, call, slope);
}

const struct mf_op_calls mf_op_linear_cpu = {.plan = plan, .forward = forward, .backward = backward};
