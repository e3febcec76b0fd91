/* softmax on cpu, over the last axis. */
#include "kernels/cpu/net/softmax.h"

#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/softmax.h"

MF_CPU_FAST float mf_softmax_row(float *x, const unsigned char *seen, size_t n, float scale)
{
    float most = -INFINITY, sum = 0, part;

    for (size_t i = 0; seen && i < n; ++i) x[i] = seen[i] ? x[i] : -INFINITY;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    if (most == -INFINITY) {
        memset(x, 0, n * sizeof *x);
        return 0;
    }
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) {
        x[i] = x[i] == -INFINITY ? 0 : mf_soft_exp(scale * (x[i] - most));
        sum += x[i];
    }
    part = 1 / sum;
#pragma omp simd
    for (size_t i = 0; i < n; ++i) x[i] *= part;
    return scale * most + logf(sum);
}

MF_CPU_FAST void mf_softmax_row_back(const float *p, const float *dp, float *dx, size_t n, float scale, int add)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += p[i] * dp[i];
    if (!add)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) dx[i] = mf_softmax_slope(p[i], dp[i], sum, scale);
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) dx[i] += mf_softmax_slope(p[i], dp[i], sum, scale);
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_last(&call->out[0].shape);
    const float *x = call->in[0].at;
    float *y = call->out[0].at;

    for (size_t r = from; r < to; ++r) {
        mf_cpu_move(x + r * n, y + r * n, n, 0);
        mf_softmax_row(y + r * n, NULL, n, 1);
    }
}

static void backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_last(&call->out[0].shape);

    for (size_t r = from; r < to; ++r)
        mf_softmax_row_back((const float *)call->out[0].at + r * n, (const float *)call->dout.at + r * n,
                            (float *)call->din[0].at + r * n, n, 1, (int)(call->add & 1));
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->out[0].shape), mf_shape_last(&call->out[0].shape), forward_rows, call);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->out[0].shape), mf_shape_last(&call->out[0].shape), backward_rows, call);
}

const struct mf_op_calls mf_op_softmax_cpu = {.forward = forward, .backward = backward};
