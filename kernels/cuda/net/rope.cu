/* rope and gated on cuda. See kernels/net/text.c. */
#include "kernels/cuda/net/net.cuh"
#include "kernels/form/act.h"

namespace
{

/* Pair i % half of all heads of row i / half. */
template <class Add, class T> struct turn_body {
    size_t half, heads;
    const int32_t *position;
    const float *frequency;
    float way; /* 1, or -1: back */
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t row = i / half, pair = i % half;
        const float angle = float(position[row]) * frequency[pair], c = cosf(angle), s = way * sinf(angle);

        for (size_t head = 0; head < heads; ++head) {
            const size_t at = (row * heads + head) * 2 * half + pair;
            const float a = mf_wide(x[at]), b = mf_wide(x[at + half]);
            const float first = a * c - b * s, second = b * c + a * s;

            mf_give<1, Add>(&first, y + at);
            mf_give<1, Add>(&second, y + at + half);
        }
    }
};

void turn(struct mf_queue *q, const struct mf_call *call, float way, const struct mf_tensor &from,
          const struct mf_tensor &to, bool more)
{
    const size_t half = call->in[2].shape.d[0], heads = size_t(call->attr->heads);

    mf_by_type(from.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_choose(more, [&](auto add) {
            mf_each(q, mf_shape_rows(&from.shape) * half,
                    turn_body<decltype(add), T>{half, heads, mf_numbers<int32_t>(call->in[1]), mf_floats(call->in[2]),
                                                way, mf_numbers<T>(from), mf_numbers<T>(to)});
        });
    });
}

void rope(struct mf_queue *q, const struct mf_call *call) { turn(q, call, 1, call->in[0], call->out[0], false); }

void rope_back(struct mf_queue *q, const struct mf_call *call)
{
    turn(q, call, -1, call->dout, call->din[0], (call->add & 1) != 0);
}

/* -- gated: W numbers of y from i W on -- */

template <int W, class T> struct gate_body {
    size_t m;
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const T *from = x + i * W / m * 2 * m + i * W % m;
        float v[W], w[W];

        mf_load<W>(from, v);
        mf_load<W>(from + m, w);
        for (int k = 0; k < W; ++k) v[k] = mf_act_value(MF_ACT_SILU, v[k]) * w[k];
        mf_store<W>(v, y + i * W);
    }
};

template <int W, class Add, class T> struct gate_slope_body {
    size_t m;
    const T *x, *dy;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t at = i * W / m * 2 * m + i * W % m;
        float v[W], w[W], up[W];

        mf_load<W>(x + at, v);
        mf_load<W>(x + at + m, w);
        mf_load<W>(dy + i * W, up);
        for (int k = 0; k < W; ++k) {
            const float value = mf_act_value(MF_ACT_SILU, v[k]);

            v[k] = mf_act_slope(MF_ACT_SILU, v[k]) * w[k] * up[k];
            w[k] = value * up[k];
        }
        mf_give<W, Add>(v, dx + at);
        mf_give<W, Add>(w, dx + at + m);
    }
};

void gated(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &y = call->out[0].shape;
    const size_t m = mf_shape_last(&y);

    mf_by_type(y.type, [&](auto number) {
        using T = decltype(number);

        mf_by_width<T>(m, {call->in[0].at, call->out[0].at}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&y) / W,
                    gate_body<W, T>{m, mf_numbers<T>(call->in[0]), mf_numbers<T>(call->out[0])});
        });
    });
}

void gated_back(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dy = call->dout.shape;
    const size_t m = mf_shape_last(&dy);

    mf_by_type(dy.type, [&](auto number) {
        using T = decltype(number);

        mf_choose(call->add & 1, [&](auto add) {
            mf_by_width<T>(m, {call->in[0].at, call->dout.at, call->din[0].at}, [&](auto width) {
                constexpr int W = decltype(width)::OF;

                mf_each(q, mf_shape_count(&dy) / W,
                        gate_slope_body<W, decltype(add), T>{m, mf_numbers<T>(call->in[0]), mf_numbers<T>(call->dout),
                                                             mf_numbers<T>(call->din[0])});
            });
        });
    });
}

} // namespace

MF_CUDA_CALLS(rope, rope, rope_back)
MF_CUDA_CALLS(gated, gated, gated_back)
