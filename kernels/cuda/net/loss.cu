/* Losses on cuda. See kernels/net/loss.c. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/loss.h"

namespace
{

/* -- softmax_loss -- */

template <int W> struct row_body {
    size_t n;
    const float *x;
    const int32_t *label;
    double smooth;
    float *saved;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const float *from = x + row * n;
        float most = -INFINITY, sum = 0, v[W];
        double all = 0;

        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) {
                most = v[w] > most ? v[w] : most;
                if (smooth > 0) all += double(v[w]);
            }
        });
        most = mf_warp_max(most);
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) sum += mf_soft_exp(v[w] - most);
        });
        sum = most + logf(mf_warp_sum(sum));
        all = mf_warp_sum(all);
        if (lane == 0) store(row, sum, smooth > 0 ? smooth * all / double(n) : 0.0);
    }
    /* Minus the logarithm of the probability of the targets; l: that of the sum of exponentials. */
    __device__ void store(size_t row, float l, double even) const
    {
        const int32_t k = label[row];

        saved[2 * row] = l;
        saved[2 * row + 1] = k < 0 ? 0.0f : float(double(l) - (1 - smooth) * double(x[row * n + size_t(k)]) - even);
    }
};

struct total_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *saved;
    const double *rows;
    float *out;
    __device__ void operator()(size_t i, double *value) const { value[0] += double(saved[2 * i + 1]); }
    __device__ void store(size_t, int, double sum) const { *out = float(sum / *rows); }
};

/* dx = (softmax(x) - targets) dy / rows; 0 in rows that do not count. */
template <int W> struct row_slope_body {
    size_t n;
    const float *x, *saved, *dy;
    const int32_t *label;
    const double *rows;
    float smooth; /* label smoothing */
    float *dx;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const int32_t k = label[row];
        const float f = k < 0 ? 0.0f : *dy * float(1 / *rows), even = f * smooth / float(n), l = saved[2 * row];
        float v[W];

        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(x + row * n + i, v);
            for (int w = 0; w < W; ++w) {
                const float target = even + (i + size_t(w) == size_t(k) ? f * (1 - smooth) : 0.0f);

                v[w] = k < 0 ? 0.0f : mf_softmax_loss_slope(v[w], l, f, target);
            }
            mf_store<W>(v, dx + row * n + i);
        });
    }
};

const double *rows_of(const struct mf_call *call) { return call->number + MF_NUMBER_ROWS + call->attr->head; }
const int32_t *labels(const struct mf_call *call) { return static_cast<const int32_t *>(call->in[1].at); }

void softmax_loss(struct mf_queue *q, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0], n = call->in[0].shape.d[1];
    const float *x = mf_floats(call->in[0]);
    float *saved = mf_floats(call->out[1]);

    mf_by_width<float>(n, {x}, [&](auto width) {
        mf_rows_run(q, rows, row_body<decltype(width)::OF>{n, x, labels(call), call->attr->smoothing, saved});
    });
    mf_pass_run(q, 1, rows, total_body{saved, rows_of(call), mf_floats(call->out[0])});
}

void softmax_loss_back(struct mf_queue *q, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0], n = call->in[0].shape.d[1];
    const float *x = mf_floats(call->in[0]), *saved = mf_floats(call->out[1]), *dy = mf_floats(call->dout);
    const float smooth = float(call->attr->smoothing);
    float *dx = mf_floats(call->din[0]);

    mf_by_width<float>(n, {x, dx}, [&](auto width) {
        mf_rows_run(q, rows,
                    row_slope_body<decltype(width)::OF>{n, x, saved, dy, labels(call), rows_of(call), smooth, dx});
    });
}

/* -- squared_loss -- */

/* Divisor of a sum over numbers: rows that count, and numbers of a row. */
struct parts {
    const double *rows;
    size_t each;
    __device__ double operator()() const { return *rows * double(each); }
};

parts parts_of(const struct mf_call *call)
{
    const struct mf_shape &shape = call->in[0].shape;

    return {rows_of(call), mf_shape_count(&shape) / shape.d[0]};
}

struct squares_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *a, *b, *weight; /* weight: of a row, or NULL */
    parts of;
    float *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const double apart = double(a[i]) - double(b[i]);

        if (b[i] == b[i]) value[0] += apart * apart * (weight ? double(weight[i / of.each]) : 1);
    }
    __device__ void store(size_t, int, double sum) const { *out = float(sum / of()); }
};

/* Both gradients, or one of them. */
struct apart_body {
    const float *a, *b, *weight, *dy;
    parts of;
    float *da, *db;
    __device__ void operator()(size_t i) const
    {
        const double f = 2 / of() * (weight ? double(weight[i / of.each]) : 1);
        const float slope = mf_squared_loss_slope(a[i], b[i], *dy * float(f));

        if (da) da[i] = slope;
        if (db) db[i] = -slope;
    }
};

void squared_loss(struct mf_queue *q, const struct mf_call *call)
{
    mf_pass_run(q, 1, mf_shape_count(&call->in[0].shape),
                squares_body{mf_floats(call->in[0]), mf_floats(call->in[1]), mf_floats(call->in[2]), parts_of(call),
                             mf_floats(call->out[0])});
}

void squared_loss_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_each(q, mf_shape_count(&call->in[0].shape),
            apart_body{mf_floats(call->in[0]), mf_floats(call->in[1]), mf_floats(call->in[2]), mf_floats(call->dout),
                       parts_of(call), mf_floats(call->din[0]), mf_floats(call->din[1])});
}

/* -- logistic_loss -- */

struct logistic_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *x, *t;
    parts of;
    float *out;
    __device__ void operator()(size_t i, double *value) const
    {
        value[0] += double(mf_logistic_loss_value(x[i], t[i]));
    }
    __device__ void store(size_t, int, double sum) const { *out = float(sum / of()); }
};

struct logistic_slope_body {
    const float *x, *t, *dy;
    parts of;
    float *dx;
    __device__ void operator()(size_t i) const { dx[i] = mf_logistic_loss_slope(x[i], t[i], *dy * float(1 / of())); }
};

void logistic_loss(struct mf_queue *q, const struct mf_call *call)
{
    mf_pass_run(q, 1, mf_shape_count(&call->in[0].shape),
                logistic_body{mf_floats(call->in[0]), mf_floats(call->in[1]), parts_of(call), mf_floats(call->out[0])});
}

void logistic_loss_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_each(q, mf_shape_count(&call->in[0].shape),
            logistic_slope_body{mf_floats(call->in[0]), mf_floats(call->in[1]), mf_floats(call->dout), parts_of(call),
                                mf_floats(call->din[0])});
}

/* -- match_loss -- */

/* Means of |x - real| over rows. */
struct apart_mean_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *x, *real;
    size_t each;
    float *saved;
    __device__ void operator()(size_t i, double *value) const { value[0] += fabs(double(x[i]) - double(real[i])); }
    __device__ void store(size_t row, int, double sum) const { saved[2 * row] = float(sum / double(each)); }
};

struct match_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *real, *made;
    size_t each;
    float *saved;
    __device__ void operator()(size_t i, double *value) const
    {
        const double g = double(mf_match_direction(real[i], made[i], saved[2 * (i / each)]));

        value[0] += g * g;
    }
    __device__ void store(size_t row, int, double sum) const { saved[2 * row + 1] = float(sum / double(2 * each)); }
};

struct match_slope_body {
    const float *real, *made, *saved, *dy;
    parts of;
    float *dx;
    __device__ void operator()(size_t i) const
    {
        dx[i] = *dy * float(1 / of()) * mf_match_direction(real[i], made[i], saved[2 * (i / of.each)]);
    }
};

void match_loss(struct mf_queue *q, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0], each = mf_shape_count(&call->in[0].shape) / rows;
    const float *real = mf_floats(call->in[1]);
    float *saved = mf_floats(call->out[1]);

    mf_pass_run(q, rows, each, apart_mean_body{mf_floats(call->in[0]), real, each, saved});
    mf_pass_run(q, rows, each, match_body{real, mf_floats(call->in[2]), each, saved});
    mf_pass_run(q, 1, rows, total_body{saved, rows_of(call), mf_floats(call->out[0])});
}

void match_loss_back(struct mf_queue *q, const struct mf_call *call)
{
    const size_t n = mf_shape_count(&call->in[1].shape);

    mf_each(q, n,
            match_slope_body{mf_floats(call->in[1]), mf_floats(call->in[2]), mf_floats(call->out[1]),
                             mf_floats(call->dout), parts{rows_of(call), n / call->out[1].shape.d[0]},
                             mf_floats(call->din[0])});
}

} // namespace

MF_CUDA_CALLS(softmax_loss, softmax_loss, softmax_loss_back)
MF_CUDA_CALLS(squared_loss, squared_loss, squared_loss_back)
MF_CUDA_CALLS(match_loss, match_loss, match_loss_back)
MF_CUDA_CALLS(logistic_loss, logistic_loss, logistic_loss_back)
