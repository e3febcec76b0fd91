/* layer_norm and rms_norm on cpu. See kernels/net/norm.c. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/norm.h"

/* Is it rms_norm, which saves one number of a row? */
static int is_rms(const struct mf_call *call) { return mf_shape_last(&call->out[1].shape) == 1; }

MF_CPU_FAST static void row_forward(float epsilon, const float *x, const float *g, const float *b, float *y,
                                    float *saved, size_t d)
{
    float sum = 0, squares = 0, mean, scale;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < d; ++i) sum += x[i];
    mean = sum / (float)d;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean);
    scale = 1 / sqrtf(squares / (float)d + epsilon);
#pragma omp simd
    for (size_t i = 0; i < d; ++i) y[i] = mf_norm_value(x[i], mean, scale, g[i], b[i]);
    saved[0] = mean;
    saved[1] = scale;
}

MF_CPU_FAST static float rms_row(float epsilon, const float *x, const float *g, float *y, size_t d)
{
    float squares = 0, scale;

#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < d; ++i) squares += x[i] * x[i];
    scale = 1 / sqrtf(squares / (float)d + epsilon);
#pragma omp simd
    for (size_t i = 0; i < d; ++i) y[i] = mf_norm_value(x[i], 0, scale, g[i], 0);
    return scale;
}

static void rms_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape);

    for (size_t r = from; r < to; ++r)
        ((float *)call->out[1].at)[r] = rms_row(mf_norm_epsilon(call->attr), (const float *)call->in[0].at + r * d,
                                                call->in[1].at, (float *)call->out[0].at + r * d, d);
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape);

    for (size_t r = from; r < to; ++r)
        row_forward(mf_norm_epsilon(call->attr), (const float *)call->in[0].at + r * d, call->in[1].at, call->in[2].at,
                    (float *)call->out[0].at + r * d, (float *)call->out[1].at + 2 * r, d);
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape),
                is_rms(call) ? rms_rows : forward_rows, call);
}

/* Forward saved these of row @p r. */
static float mean_of(const struct mf_call *call, size_t r)
{
    return is_rms(call) ? 0 : ((const float *)call->out[1].at)[2 * r];
}

static float scale_of(const struct mf_call *call, size_t r)
{
    return ((const float *)call->out[1].at)[is_rms(call) ? r : 2 * r + 1];
}

/* dx = scale (g dy - mean(g dy) - h mean(h g dy)), h = (x - mean) scale. In rms_norm the first two means are 0. */
MF_CPU_FAST static void row_backward(int rms, float mean, float scale, const float *x, const float *g, const float *dy,
                                     float *dx, size_t d, int add)
{
    float first = 0, second = 0;

#pragma omp simd reduction(+ : first, second)
    for (size_t i = 0; i < d; ++i) {
        const float w = dy[i] * g[i];

        first += w;
        second += w * (x[i] - mean) * scale;
    }
    first = rms ? 0 : first / (float)d;
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
        row_backward(is_rms(call), mean_of(call, r), scale_of(call, r), (const float *)call->in[0].at + r * d,
                     call->in[1].at, (const float *)call->dout.at + r * d, (float *)call->din[0].at + r * d, d,
                     (int)(call->add & 1));
}

/* Gradients of g and b: sums over the rows, in their order, of columns [from, to). */
static void backward_columns(const struct mf_call *call, size_t from, size_t to)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);
    float *dg = call->din[1].at, *db = call->din[2].at;

    if (dg && !(call->add & 2)) memset(dg + from, 0, (to - from) * sizeof *dg);
    if (db && !(call->add & 4)) memset(db + from, 0, (to - from) * sizeof *db);
    for (size_t r = 0; r < rows; ++r) {
        const float *x = (const float *)call->in[0].at + r * d, *dy = (const float *)call->dout.at + r * d;
        const float mean = mean_of(call, r), scale = scale_of(call, r);

        if (dg)
#pragma omp simd
            for (size_t i = from; i < to; ++i) dg[i] += dy[i] * (x[i] - mean) * scale;
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
const struct mf_op_calls mf_op_rms_norm_cpu = {.forward = forward, .backward = backward};
