/* rope and gated on cpu. See kernels/net/text.c. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/act.h"

/* -- rope: the heads of a row turn by the same angles -- */

enum { PAIRS = 128 };

/* Cosines and sines of @p n angles. */
static void angles(float position, const float *frequency, int back, float *c, float *s, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        c[i] = cosf(position * frequency[i]);
        s[i] = back ? -sinf(position * frequency[i]) : sinf(position * frequency[i]);
    }
}

/* Turns @p n pairs, whose second numbers stand @p half behind the first. The arrays x and y may be one. */
MF_CPU_FAST static void turn(const float *x, const float *c, const float *s, float *y, size_t half, size_t n, int add)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const float a = x[i], b = x[half + i];

        y[i] = (add ? y[i] : 0) + (a * c[i] - b * s[i]);
        y[half + i] = (add ? y[half + i] : 0) + (b * c[i] + a * s[i]);
    }
}

static void turn_row(const struct mf_call *call, size_t r, int back, const float *x, float *y)
{
    const float *frequency = call->in[2].at, position = (float)((const int32_t *)call->in[1].at)[r];
    const size_t half = call->in[2].shape.d[0], columns = 2 * half * (size_t)call->attr->heads;
    float c[PAIRS], s[PAIRS];

    for (size_t at = 0; at < half; at += PAIRS) {
        const size_t n = at + PAIRS < half ? PAIRS : half - at;

        angles(position, frequency + at, back, c, s, n);
        for (size_t head = r * columns; head < (r + 1) * columns; head += 2 * half)
            turn(x + head + at, c, s, y + head + at, half, n, back && call->add & 1);
    }
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    for (size_t r = from; r < to; ++r) turn_row(call, r, 0, call->in[0].at, call->out[0].at);
}

static void backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    for (size_t r = from; r < to; ++r) turn_row(call, r, 1, call->dout.at, call->din[0].at);
}

static void rope(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->out[0].shape), mf_shape_last(&call->out[0].shape), forward_rows, call);
}

static void rope_back(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->dout.shape), mf_shape_last(&call->dout.shape), backward_rows, call);
}

const struct mf_op_calls mf_op_rope_cpu = {.forward = rope, .backward = rope_back};

/* -- gated -- */

MF_CPU_FAST static void gate_row(const float *x, float *y, size_t m)
{
#pragma omp simd
    for (size_t i = 0; i < m; ++i) y[i] = mf_act_value(MF_ACT_SILU, x[i]) * x[m + i];
}

MF_CPU_FAST static void gate_row_back(const float *x, const float *dy, float *dx, size_t m, int add)
{
#pragma omp simd
    for (size_t i = 0; i < m; ++i) {
        dx[i] = (add ? dx[i] : 0) + mf_act_slope(MF_ACT_SILU, x[i]) * x[m + i] * dy[i];
        dx[m + i] = (add ? dx[m + i] : 0) + mf_act_value(MF_ACT_SILU, x[i]) * dy[i];
    }
}

static void gate_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t m = mf_shape_last(&call->out[0].shape);

    for (size_t r = from; r < to; ++r)
        gate_row((const float *)call->in[0].at + r * 2 * m, (float *)call->out[0].at + r * m, m);
}

static void gate_rows_back(const struct mf_call *call, size_t from, size_t to)
{
    const size_t m = mf_shape_last(&call->dout.shape);

    for (size_t r = from; r < to; ++r)
        gate_row_back((const float *)call->in[0].at + r * 2 * m, (const float *)call->dout.at + r * m,
                      (float *)call->din[0].at + r * 2 * m, m, (int)(call->add & 1));
}

static void gated(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape), gate_rows, call);
}

static void gated_back(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape), gate_rows_back, call);
}

const struct mf_op_calls mf_op_gated_cpu = {.forward = gated, .backward = gated_back};
