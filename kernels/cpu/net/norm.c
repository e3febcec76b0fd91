/* layer_norm on cpu. See kernels/net/norm.c. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/norm.h"

MF_CPU_FAST static void row_forward(const float *x, const float *g, const float *b, float *y, float *saved, size_t d)
{
    float sum = 0, squares = 0, mean, scale;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < d; ++i) sum += x[i];
    mean = sum / (float)d;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean);
    scale = 1 / sqrtf(squares / (float)d + (float)MF_NORM_EPSILON);
#pragma omp simd
    for (size_t i = 0; i < d; ++i) y[i] = mf_norm_value(x[i], mean, scale, g[i], b[i]);
    saved[0] = mean;
    saved[1] = scale;
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape);

    for (size_t r = from; r < to; ++r)
        row_forward((const float *)call->in[0].at + r * d, call->in[1].at, call->in[2].at,
                    (float *)call->out[0].at + r * d, (float *)call->out[1].at + 2 * r, d);
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape), forward_rows, call);
}

/* dx = scale (g dy - mean(g dy) - h mean(h g dy)), h = (x - mean) scale. */
MF_CPU_FAST static void row_backward(const float *x, const float *g, const float *dy, const float *saved, float *dx,
                                     size_t d, int add)
{
    const float mean = saved[0], scale = saved[1];
    float first = 0, second = 0;

#pragma omp simd reduction(+ : first, second)
    for (size_t i = 0; i < d; ++i) {
        const float w = dy[i] * g[i];

        first += w;
        second += w * (x[i] - mean) * scale;
    }
    first /= (float)d;
    second /= (float)d;
    if (!add)
#pragma omp simd
        for (size_t i = 0; i < d; ++i) dx[i] = mf_norm_slope(x[i], mean, scale, dy[i] * g[i], first, second);
    else
#pragma omp simd
        for (size_t i = 0; i < d; ++i) dx[i] += mf_norm_slope(x[i], mean, scale, dy[i] * g[i], first, second);
}

static void backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape);

    for (size_t r = from; r < to; ++r)
        row_backward((const float *)call->in[0].at + r * d, call->in[1].at, (const float *)call->dout.at + r * d,
                     (const float *)call->out[1].at + 2 * r, (float *)call->din[0].at + r * d, d, (int)(call->add & 1));
}

/* Gradients of g and b: sums over the rows, in their order, of columns [from, to). */
static void backward_columns(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);
    const float *saved = call->out[1].at;
    float *dg = call->din[1].at, *db = call->din[2].at;

    if (dg && !(call->add & 2)) memset(dg + from, 0, (to - from) * sizeof *dg);
    if (db && !(call->add & 4)) memset(db + from, 0, (to - from) * sizeof *db);
    for (size_t r = 0; r < rows; ++r) {
        const float *x = (const float *)call->in[0].at + r * d, *dy = (const float *)call->dout.at + r * d;

        if (dg)
#pragma omp simd
            for (size_t i = from; i < to; ++i) dg[i] += dy[i] * (x[i] - saved[2 * r]) * saved[2 * r + 1];
        if (db)
#pragma omp simd
            for (size_t i = from; i < to; ++i) db[i] += dy[i];
    }
}

/* Columns first: dx may take the memory of dout. */
static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);

    if (call->din[1].at || call->din[2].at) mf_cpu_rows(queue, d, rows, backward_columns, call);
    if (call->din[0].at) mf_cpu_rows(queue, rows, d, backward_rows, call);
}

const struct mf_op_calls mf_op_layer_norm_cpu = {.forward = forward, .backward = backward};
