/* layer_norm and rms_norm on cuda. See kernels/net/norm.c. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/norm.h"

namespace
{

/* Forward saves the mean of a row, and 1 / deviation. rms_norm has no mean. */
struct saved_rows {
    float *at;
    bool rms;
    __device__ float mean(size_t row) const { return rms ? 0 : at[2 * row]; }
    __device__ float scale(size_t row) const { return at[rms ? row : 2 * row + 1]; }
    __device__ void put(size_t row, float mean, float scale) const
    {
        if (!rms) at[2 * row] = mean;
        at[rms ? row : 2 * row + 1] = scale;
    }
};

saved_rows saved_of(const struct mf_call *call)
{
    return {mf_floats(call->out[1]), mf_shape_last(&call->out[1].shape) == 1};
}

/* rms_norm has no b. */
template <int W, class T> struct value_body {
    size_t d;
    float epsilon;
    const T *x;
    const float *g, *b;
    T *y;
    saved_rows saved;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const T *from = x + row * d;
        float sum = 0, squares = 0, v[W], gain[W], base[W] = {};

        if (!saved.rms)
            mf_lane<W>(d, lane, [&](size_t i) {
                mf_load<W>(from + i, v);
                for (int w = 0; w < W; ++w) sum += v[w];
            });
        const float mean = mf_warp_sum(sum) / float(d);

        mf_lane<W>(d, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) squares += (v[w] - mean) * (v[w] - mean);
        });
        const float scale = 1.0f / sqrtf(mf_warp_sum(squares) / float(d) + epsilon);

        mf_lane<W>(d, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            mf_load<W>(g + i, gain);
            if (b) mf_load<W>(b + i, base);
            for (int w = 0; w < W; ++w) v[w] = mf_norm_value(v[w], mean, scale, gain[w], base[w]);
            mf_store<W>(v, y + row * d + i);
        });
        if (lane == 0) saved.put(row, mean, scale);
    }
};

template <int W, class Add, class T> struct slope_body {
    size_t d;
    const T *x, *dy;
    const float *g;
    saved_rows saved;
    T *dx;
    /* x and g dy of the numbers from i on */
    __device__ void load(size_t row, size_t i, float *from, float *up) const
    {
        float gain[W];

        mf_load<W>(x + row * d + i, from);
        mf_load<W>(dy + row * d + i, up);
        mf_load<W>(g + i, gain);
        for (int w = 0; w < W; ++w) up[w] *= gain[w];
    }
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const float mean = saved.mean(row), scale = saved.scale(row);
        float first = 0, second = 0, from[W], v[W];

        mf_lane<W>(d, lane, [&](size_t i) {
            load(row, i, from, v);
            for (int w = 0; w < W; ++w) {
                first += v[w];
                second += v[w] * (from[w] - mean) * scale;
            }
        });
        first = saved.rms ? 0 : mf_warp_sum(first) / float(d);
        second = mf_warp_sum(second) / float(d);
        mf_lane<W>(d, lane, [&](size_t i) {
            load(row, i, from, v);
            for (int w = 0; w < W; ++w) v[w] = mf_norm_slope(from[w], mean, scale, v[w], first, second);
            mf_give<W, Add>(v, dx + row * d + i);
        });
    }
};

/* Gradients of g and b, either of which may be missing. */
template <class T> struct weights_body {
    enum { SUMS = 2 };
    size_t d;
    const T *x, *dy;
    saved_rows saved;
    float *to[SUMS];
    bool add[SUMS];
    __device__ void operator()(size_t row, size_t column, double *value) const
    {
        const float slope = mf_wide(dy[row * d + column]);

        value[0] += double(slope * ((mf_wide(x[row * d + column]) - saved.mean(row)) * saved.scale(row)));
        value[1] += double(slope);
    }
    __device__ void store(size_t, size_t column, int v, double sum) const
    {
        if (to[v]) to[v][column] = float(add[v] ? double(to[v][column]) + sum : sum);
    }
};

template <class T> void forward_of(struct mf_queue *q, const struct mf_call *call)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);
    const T *x = mf_numbers<T>(call->in[0]);
    const float *g = mf_floats(call->in[1]), *b = mf_floats(call->in[2]);
    T *y = mf_numbers<T>(call->out[0]);
    const float epsilon = mf_norm_epsilon(call->attr);

    mf_by_width<T>(d, {x, g, b, y}, [&](auto width) {
        mf_rows_run(q, rows, value_body<decltype(width)::OF, T>{d, epsilon, x, g, b, y, saved_of(call)});
    });
}

template <class T> void backward_rows(struct mf_queue *q, const struct mf_call *call)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);
    const T *x = mf_numbers<T>(call->in[0]), *dy = mf_numbers<T>(call->dout);
    const float *g = mf_floats(call->in[1]);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(d, {x, g, dy, dx}, [&](auto width) {
            mf_rows_run(q, rows, slope_body<decltype(width)::OF, decltype(add), T>{d, x, dy, g, saved_of(call), dx});
        });
    });
}

/* Columns first: dx may take the memory of dout. */
template <class T> void backward_of(struct mf_queue *q, const struct mf_call *call)
{
    const size_t d = mf_shape_last(&call->in[0].shape), rows = mf_shape_rows(&call->in[0].shape);

    if (call->din[1].at || call->din[2].at)
        mf_columns_run(q, 1, rows, d,
                       weights_body<T>{d,
                                       mf_numbers<T>(call->in[0]),
                                       mf_numbers<T>(call->dout),
                                       saved_of(call),
                                       {mf_floats(call->din[1]), mf_floats(call->din[2])},
                                       {(call->add & 2) != 0, (call->add & 4) != 0}});
    if (call->din[0].at) backward_rows<T>(q, call);
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->in[0].shape.type, [&](auto number) { forward_of<decltype(number)>(q, call); });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { backward_of<decltype(number)>(q, call); });
}

} // namespace

MF_CUDA_CALLS(layer_norm, forward, backward)
MF_CUDA_CALLS(rms_norm, forward, backward)
