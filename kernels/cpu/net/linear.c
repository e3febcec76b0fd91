/* linear on cpu. See kernels/net/linear.c. */
#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

static size_t up(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Backward through the activation works in dout, or else in work memory. */
static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    (void)queue;
    *made = NULL;
    *work = back && call->attr->act && !call->own ? up(mf_shape_bytes(&call->dout.shape)) : 0;
    return MF_OK;
}

/* y = act(y + b), rows [from, to); what the activation gets is kept where backward needs it. */
static void finish_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t m = mf_shape_last(&call->out[0].shape);
    const float *bias = call->in[2].at;
    float *sum = call->out[1].at ? call->out[1].at : call->out[0].at;

    for (size_t r = from; r < to; ++r) {
        float *row = sum + r * m;

        if (bias)
#pragma omp simd
            for (size_t i = 0; i < m; ++i) row[i] += bias[i];
    }
    mf_act_forward(call->attr->act, sum + from * m, (float *)call->out[0].at + from * m, (to - from) * m);
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
    if (call->in[2].at || call->attr->act) mf_cpu_rows(queue, rows, m, finish_rows, call);
}

/* dout through the activation, in place or in work memory. */
static void through_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t m = mf_shape_last(&call->dout.shape);
    const float *seen = call->out[1].at ? call->out[1].at : call->out[0].at;
    float *to_here = call->own ? call->dout.at : call->work;

    mf_act_backward(call->attr->act, seen + from * m, (const float *)call->dout.at + from * m, to_here + from * m,
                    (to - from) * m, 0);
}

/* Gradient of the bias: sums of columns [from, to) of dout, in the order of the rows. */
struct columns {
    struct mf_call call;
    const float *slope;
};

static void bias_columns(const struct mf_call *call, size_t from, size_t to)
{
    const struct columns *c = (const struct columns *)call;
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    float *sum = call->din[2].at;

    if (!(call->add & 4)) memset(sum + from, 0, (to - from) * sizeof *sum);
    for (size_t r = 0; r < rows; ++r)
#pragma omp simd
        for (size_t i = from; i < to; ++i) sum[i] += c->slope[r * m + i];
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    const float *slope = call->dout.at;

    if (call->attr->act) {
        mf_cpu_rows(queue, rows, m, through_rows, call);
        slope = call->own ? call->dout.at : call->work;
    }
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
    if (call->din[2].at) {
        const struct columns columns = {*call, slope};

        mf_cpu_rows(queue, m, rows, bias_columns, &columns.call);
    }
}

const struct mf_op_calls mf_op_linear_cpu = {.plan = plan, .forward = forward, .backward = backward};
