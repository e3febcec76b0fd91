/* See bias_act.h. */
#include "kernels/cpu/net/bias_act.h"

#include "kernels/cpu/net/act.h"

/* -- forward -- */

/* @p call: its bias is the one to add. Rows [from, to). */
static void forward_rows(const struct mf_call *call, size_t from, size_t to)
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

void mf_bias_act_forward(const struct mf_queue *queue, const struct mf_call *call, float *bias)
{
    struct mf_call with = *call;

    if (!bias && !call->attr->act) return;
    with.in[2].at = bias;
    mf_cpu_rows(queue, mf_shape_rows(&call->out[0].shape), mf_shape_last(&call->out[0].shape), forward_rows, &with);
}

/* -- backward -- */

size_t mf_bias_act_work(const struct mf_call *call)
{
    return call->attr->act && !call->own ? mf_whole_lines(mf_shape_bytes(&call->dout.shape)) : 0;
}

static void through_range(const struct mf_call *call, size_t from, size_t to)
{
    const float *seen = call->out[1].at ? call->out[1].at : call->out[0].at;
    float *to_here = call->own ? call->dout.at : call->work;

    mf_act_backward(call->attr->act, seen + from, (const float *)call->dout.at + from, to_here + from, to - from, 0);
}

float *mf_bias_act_backward(const struct mf_queue *queue, const struct mf_call *call)
{
    if (!call->attr->act) return call->dout.at;
    mf_cpu_rows(queue, mf_shape_count(&call->dout.shape), 1, through_range, call);
    return call->own ? call->dout.at : call->work;
}

struct columns {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    const float *slope;
};

static void bias_columns(const struct mf_call *call, size_t from, size_t to)
{
    const float *slope = ((const struct columns *)call)->slope;
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    float *to_here = call->din[2].at;

    for (size_t at = from; at < to; at += MF_STRIP) {
        const size_t columns = at + MF_STRIP < to ? MF_STRIP : to - at;
        double sum[MF_STRIP];

        mf_cpu_strip(slope + at, rows, m, columns, sum);
        for (size_t i = 0; i < columns; ++i)
            to_here[at + i] = (float)(sum[i] + (call->add & 4 ? (double)to_here[at + i] : 0));
    }
}

void mf_bias_backward(const struct mf_queue *queue, const struct mf_call *call, const float *slope)
{
    const struct columns columns = {*call, slope};

    if (call->din[2].at)
        mf_cpu_rows(queue, mf_shape_last(&call->dout.shape), mf_shape_rows(&call->dout.shape), bias_columns,
                    &columns.call);
}
