/* softmax on cuda, over the last axis. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/softmax.h"

namespace
{

template <int W> struct value_body {
    size_t n;
    const float *x;
    float *y;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const float *from = x + row * n;
        float *to = y + row * n, most = -INFINITY, sum = 0, part, v[W];

        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) most = v[w] > most ? v[w] : most;
        });
        most = mf_warp_max(most);
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) sum += v[w] = v[w] == -INFINITY ? 0.0f : mf_soft_exp(v[w] - most);
            mf_store<W>(v, to + i);
        });
        sum = mf_warp_sum(sum);
        part = sum == 0.0f ? 0.0f : 1.0f / sum; /* a row of minus infinity is one of zeros */
        mf_lane<W>(n, lane, [&](size_t i) {
            mf_load<W>(to + i, v);
            for (int w = 0; w < W; ++w) v[w] *= part;
            mf_store<W>(v, to + i);
        });
    }
};

template <int W, class Add> struct slope_body {
    size_t n;
    const float *y, *dy;
    float *dx;
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

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->out[0].shape;
    const size_t n = mf_shape_last(&shape);
    const float *x = mf_floats(call->in[0]);
    float *y = mf_floats(call->out[0]);

    mf_by_width(n % 4 == 0 && mf_aligned(x) && mf_aligned(y), [&](auto width) {
        mf_rows_run(q, mf_shape_rows(&shape), value_body<decltype(width)::OF>{n, x, y});
    });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->out[0].shape;
    const size_t n = mf_shape_last(&shape);
    const float *y = mf_floats(call->out[0]), *dy = mf_floats(call->dout);
    float *dx = mf_floats(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width(n % 4 == 0 && mf_aligned(y) && mf_aligned(dy) && mf_aligned(dx), [&](auto width) {
            mf_rows_run(q, mf_shape_rows(&shape), slope_body<decltype(width)::OF, decltype(add)>{n, y, dy, dx});
        });
    });
}

} // namespace

MF_CUDA_CALLS(softmax, forward, backward)
