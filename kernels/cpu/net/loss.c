/* Losses on cpu. See kernels/net/loss.c. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "kernels/form/loss.h"

/* Rows that count in the mean. */
static double rows_of(const struct mf_call *call) { return call->number[MF_NUMBER_ROWS + call->attr->head]; }

/* -- softmax_loss -- */

/* log(sum of exp(x)). */
MF_CPU_FAST static float log_sum(const float *x, size_t n)
{
    float most = -INFINITY, sum = 0;

#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += mf_soft_exp(x[i] - most);
    return most + logf(sum);
}

MF_CPU_FAST static double sum_of(const float *x, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += (double)x[i];
    return sum;
}

/* Minus the logarithm of the probability of the targets. @p l: log_sum() of x. */
static double row_loss(const float *x, size_t n, int32_t label, float l, double smooth)
{
    if (label < 0) return 0;
    return (double)l - (1 - smooth) * (double)x[label] - (smooth > 0 ? smooth * sum_of(x, n) / (double)n : 0);
}

static void softmax_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t classes = mf_shape_last(&call->in[0].shape);
    const int32_t *label = call->in[1].at;
    float *saved = call->out[1].at;

    for (size_t r = from; r < to; ++r) {
        const float *x = (const float *)call->in[0].at + r * classes;

        saved[2 * r] = log_sum(x, classes);
        saved[2 * r + 1] = (float)row_loss(x, classes, label[r], saved[2 * r], call->attr->smoothing);
    }
}

static void softmax_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0];
    const float *saved = call->out[1].at;
    double sum = 0;

    mf_cpu_rows(queue, rows, call->in[0].shape.d[1], softmax_rows, call);
    for (size_t r = 0; r < rows; ++r) sum += (double)saved[2 * r + 1];
    *(float *)call->out[0].at = (float)(sum / rows_of(call));
}

/* dx = f softmax(x) - shift. @p l: log_sum() of x. */
MF_CPU_FAST static void row_back(const float *x, float l, float f, float shift, float *dx, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) dx[i] = mf_softmax_loss_slope(x[i], l, f, shift);
}

/* dx = (softmax(x) - targets) dy / rows; 0 in rows that do not count. */
static void softmax_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t classes = mf_shape_last(&call->in[0].shape);
    const float f = (float)(*(const float *)call->dout.at / rows_of(call));
    const float smooth = (float)call->attr->smoothing;
    const float *saved = call->out[1].at;
    const int32_t *label = call->in[1].at;

    for (size_t r = from; r < to; ++r) {
        float *dx = (float *)call->din[0].at + r * classes;

        if (label[r] < 0) {
            memset(dx, 0, classes * sizeof *dx);
            continue;
        }
        row_back((const float *)call->in[0].at + r * classes, saved[2 * r], f, f * smooth / (float)classes, dx,
                 classes);
        dx[label[r]] -= f * (1 - smooth);
    }
}

static void softmax_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->in[0].shape.d[0], call->in[0].shape.d[1], softmax_back_rows, call);
}

const struct mf_op_calls mf_op_softmax_loss_cpu = {.forward = softmax_forward, .backward = softmax_backward};

/* -- squared_loss -- */

static size_t each_of(const struct mf_call *call)
{
    return mf_shape_count(&call->in[0].shape) / call->in[0].shape.d[0];
}

/* Divisor of a sum over numbers. */
static double parts_of(const struct mf_call *call) { return rows_of(call) * (double)each_of(call); }

static double weight_of(const struct mf_call *call, size_t row)
{
    return call->in[2].at ? (double)((const float *)call->in[2].at)[row] : 1;
}

MF_CPU_FAST static double squares(const float *a, const float *b, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) {
        const double apart = (double)a[i] - (double)b[i];

        sum += b[i] == b[i] ? apart * apart : 0;
    }
    return sum;
}

static void squared_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t n = each_of(call);
    double sum = 0;

    (void)queue;
    for (size_t r = 0; r < call->in[0].shape.d[0]; ++r)
        sum += weight_of(call, r) *
               squares((const float *)call->in[0].at + r * n, (const float *)call->in[1].at + r * n, n);
    *(float *)call->out[0].at = (float)(sum / parts_of(call));
}

MF_CPU_FAST static void squared_slopes(const float *a, const float *b, float f, float *dx, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) dx[i] = mf_squared_loss_slope(a[i], b[i], f);
}

static void squared_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const double f = 2 * (double)*(const float *)call->dout.at / parts_of(call);
    const size_t n = each_of(call);

    for (int j = 0; j < 2; ++j)
        for (size_t r = from; call->din[j].at && r < to; ++r)
            squared_slopes((const float *)call->in[0].at + r * n, (const float *)call->in[1].at + r * n,
                           (float)((j ? -f : f) * weight_of(call, r)), (float *)call->din[j].at + r * n, n);
}

static void squared_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->in[0].shape.d[0], each_of(call), squared_back_rows, call);
}

const struct mf_op_calls mf_op_squared_loss_cpu = {.forward = squared_forward, .backward = squared_backward};

/* -- logistic_loss -- */

MF_CPU_FAST static double logistic_sum(const float *x, const float *t, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += (double)mf_logistic_loss_value(x[i], t[i]);
    return sum;
}

static void logistic_forward(struct mf_queue *queue, const struct mf_call *call)
{
    (void)queue;
    *(float *)call->out[0].at =
        (float)(logistic_sum(call->in[0].at, call->in[1].at, mf_shape_count(&call->in[0].shape)) / parts_of(call));
}

MF_CPU_FAST static void logistic_slopes(const float *x, const float *t, float f, float *dx, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) dx[i] = mf_logistic_loss_slope(x[i], t[i], f);
}

static void logistic_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const float f = (float)((double)*(const float *)call->dout.at / parts_of(call));
    const size_t n = each_of(call);

    for (size_t r = from; r < to; ++r)
        logistic_slopes((const float *)call->in[0].at + r * n, (const float *)call->in[1].at + r * n, f,
                        (float *)call->din[0].at + r * n, n);
}

static void logistic_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->in[0].shape.d[0], each_of(call), logistic_back_rows, call);
}

const struct mf_op_calls mf_op_logistic_loss_cpu = {.forward = logistic_forward, .backward = logistic_backward};

/* -- match_loss -- */

MF_CPU_FAST static double apart(const float *x, const float *y, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += fabs((double)x[i] - (double)y[i]);
    return sum;
}

MF_CPU_FAST static double direction_squares(const float *real, const float *made, float mean, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) {
        const double g = (double)mf_match_direction(real[i], made[i], mean);

        sum += g * g;
    }
    return sum;
}

static void match_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = each_of(call);
    float *saved = call->out[1].at;

    for (size_t r = from; r < to; ++r) {
        const float *x = (const float *)call->in[0].at + r * n, *real = (const float *)call->in[1].at + r * n;

        saved[2 * r] = (float)(apart(x, real, n) / (double)n);
        saved[2 * r + 1] =
            (float)(direction_squares(real, (const float *)call->in[2].at + r * n, saved[2 * r], n) / (double)(2 * n));
    }
}

static void match_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0];
    const float *saved = call->out[1].at;
    double sum = 0;

    mf_cpu_rows(queue, rows, 2 * each_of(call), match_rows, call);
    for (size_t r = 0; r < rows; ++r) sum += (double)saved[2 * r + 1];
    *(float *)call->out[0].at = (float)(sum / rows_of(call));
}

MF_CPU_FAST static void match_slopes(const float *real, const float *made, float mean, float f, float *dx, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) dx[i] = f * mf_match_direction(real[i], made[i], mean);
}

static void match_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->in[1].shape) / call->out[1].shape.d[0];
    const float f = (float)((double)*(const float *)call->dout.at / (rows_of(call) * (double)n));

    for (size_t r = from; r < to; ++r)
        match_slopes((const float *)call->in[1].at + r * n, (const float *)call->in[2].at + r * n,
                     ((const float *)call->out[1].at)[2 * r], f, (float *)call->din[0].at + r * n, n);
}

static void match_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->out[1].shape.d[0], mf_shape_count(&call->in[1].shape) / call->out[1].shape.d[0],
                match_back_rows, call);
}

const struct mf_op_calls mf_op_match_loss_cpu = {.forward = match_forward, .backward = match_backward};
