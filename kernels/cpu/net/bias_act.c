/* See bias_act.h. Numbers of 16 bits become f32 a chunk at a time. */
#include "kernels/cpu/net/bias_act.h"

#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/convert.h"

enum { CHUNK = 1024 };

static void *shifted(void *array, enum mf_type type, size_t numbers)
{
    return (char *)array + numbers * mf_type_bytes(type);
}

/* -- forward -- */

static void add_bias(float *sum, const float *bias, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) sum[i] += bias[i];
}

/* @p call: its bias is the one to add. Rows [from, to). */
static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t m = mf_shape_last(&call->out[0].shape);
    const float *bias = call->in[2].at;
    float *sum = call->out[1].at ? call->out[1].at : call->out[0].at;

    for (size_t r = from; bias && r < to; ++r) add_bias(sum + r * m, bias, m);
    mf_act_forward(call->attr->act, sum + from * m, (float *)call->out[0].at + from * m, (to - from) * m);
}

/* The same of 16 bits, whose sums have the bias: numbers [from, to). */
static void forward_half(const struct mf_call *call, size_t from, size_t to)
{
    const enum mf_type type = call->out[0].shape.type;
    float chunk[CHUNK];

    for (size_t at = from; at < to; at += CHUNK) {
        const size_t n = at + CHUNK < to ? CHUNK : to - at;

        mf_cpu_widen(type, shifted(call->out[1].at, type, at), chunk, n);
        mf_act_forward(call->attr->act, chunk, chunk, n);
        mf_cpu_narrow(type, chunk, shifted(call->out[0].at, type, at), n);
    }
}

void mf_bias_act_forward(const struct mf_queue *queue, const struct mf_call *call, const float *bias)
{
    struct mf_call with = *call;

    if (!bias && !call->attr->act) return;
    with.in[2].at = (void *)bias;
    if (call->out[0].shape.type == MF_F32)
        mf_cpu_rows(queue, mf_shape_rows(&call->out[0].shape), mf_shape_last(&call->out[0].shape), forward_rows, &with);
    else
        mf_cpu_rows(queue, mf_shape_count(&call->out[0].shape), 1, forward_half, call);
}

/* -- backward -- */

size_t mf_bias_act_work(const struct mf_call *call)
{
    return call->attr->act && !call->own ? mf_whole_lines(mf_shape_bytes(&call->dout.shape)) : 0;
}

static void *slope_of(const struct mf_call *call) { return call->own ? call->dout.at : call->work; }

static void through_range(const struct mf_call *call, size_t from, size_t to)
{
    const float *seen = call->out[1].at ? call->out[1].at : call->out[0].at;

    mf_act_backward(call->attr->act, seen + from, (const float *)call->dout.at + from, (float *)slope_of(call) + from,
                    to - from, 0);
}

static void through_half(const struct mf_call *call, size_t from, size_t to)
{
    const enum mf_type type = call->dout.shape.type;
    void *seen = call->out[1].at ? call->out[1].at : call->out[0].at;
    float x[CHUNK], dy[CHUNK];

    for (size_t at = from; at < to; at += CHUNK) {
        const size_t n = at + CHUNK < to ? CHUNK : to - at;

        mf_cpu_widen(type, shifted(seen, type, at), x, n);
        mf_cpu_widen(type, shifted(call->dout.at, type, at), dy, n);
        mf_act_backward(call->attr->act, x, dy, dy, n, 0);
        mf_cpu_narrow(type, dy, shifted(slope_of(call), type, at), n);
    }
}

void *mf_bias_act_backward(const struct mf_queue *queue, const struct mf_call *call)
{
    if (!call->attr->act) return call->dout.at;
    mf_cpu_rows(queue, mf_shape_count(&call->dout.shape), 1,
                call->dout.shape.type == MF_F32 ? through_range : through_half, call);
    return slope_of(call);
}

struct columns {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    const void *slope;
};

static void bias_columns(const struct mf_call *call, size_t from, size_t to)
{
    const enum mf_type type = call->dout.shape.type;
    const void *slope = ((const struct columns *)call)->slope;
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    float *to_here = call->din[2].at;

    for (size_t at = from; at < to; at += MF_STRIP) {
        const size_t columns = at + MF_STRIP < to ? MF_STRIP : to - at;
        double sum[MF_STRIP];

        mf_cpu_strip(type, shifted((void *)slope, type, at), rows, m, columns, sum);
        for (size_t i = 0; i < columns; ++i)
            to_here[at + i] = (float)(sum[i] + (call->add & 4 ? (double)to_here[at + i] : 0));
    }
}

void mf_bias_backward(const struct mf_queue *queue, const struct mf_call *call, const void *slope)
{
    const struct columns columns = {*call, slope};

    if (call->din[2].at)
        mf_cpu_rows(queue, mf_shape_last(&call->dout.shape), mf_shape_rows(&call->dout.shape), bias_columns,
                    &columns.call);
}
