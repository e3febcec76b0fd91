/* softmax on cuda, over the last axis. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/softmax.h"

namespace
{

__device__ inline float part_of(float v, float most) { return v == -INFINITY ? 0.0f : mf_soft_exp(v - most); }

template <int W, class T> struct value_body {
    size_t n;
    const T *x;
    T *y;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const T *from = x + row * n;
        float most = -INFINITY, sum = 0, part, v[W];

        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) most = v[w] > most ? v[w] : most;
        });
        most = mf_warp_max(most);
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) sum += part_of(v[w], most);
        });
        sum = mf_warp_sum(sum);
        part = sum == 0.0f ? 0.0f : 1.0f / sum; /* a row of minus infinity is one of zeros */
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) v[w] = part_of(v[w], most) * part;
            mf_store<W>(v, y + row * n + i);
        });
    }
};

template <int W, class Add, class T> struct slope_body {
    size_t n;
    const T *y, *dy;
    T *dx;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const size_t at = row * n;
        float sum = 0, p[W], v[W];

        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(y + at + i, p);
            mf_load<W>(dy + at + i, v);
            for (int w = 0; w < W; ++w) sum += p[w] * v[w];
        });
        sum = mf_warp_sum(sum);
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(y + at + i, p);
            mf_load<W>(dy + at + i, v);
            for (int w = 0; w < W; ++w) v[w] = mf_softmax_slope(p[w], v[w], sum, 1);
            mf_give<W, Add>(v, dx + at + i);
        });
    }
};

template <class T> void forward_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->out[0].shape;
    const size_t n = mf_shape_last(&shape);
    const T *x = mf_numbers<T>(call->in[0]);
    T *y = mf_numbers<T>(call->out[0]);

    mf_by_width<T>(n, {x, y}, [&](auto width) {
        mf_rows_run(q, mf_shape_rows(&shape), value_body<decltype(width)::OF, T>{n, x, y});
    });
}

template <class T> void backward_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->out[0].shape;
    const size_t n = mf_shape_last(&shape);
    const T *y = mf_numbers<T>(call->out[0]), *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(n, {y, dy, dx}, [&](auto width) {
            mf_rows_run(q, mf_shape_rows(&shape), slope_body<decltype(width)::OF, decltype(add), T>{n, y, dy, dx});
        });
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->out[0].shape.type, [&](auto number) { forward_of<decltype(number)>(q, call); });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->out[0].shape.type, [&](auto number) { backward_of<decltype(number)>(q, call); });
}

} // namespace

MF_CUDA_CALLS(softmax, forward, backward)
