/* blend, normal and quantise on cuda. See kernels/net/denoise.c. */
#include "kernels/cuda/net/net.cuh"
#include "kernels/form/normal.h"
#include "kernels/form/quantise.h"

namespace
{

/* -- blend: z and b may be NULL -- */

template <int W> struct blend_body {
    size_t each;
    const float *x, *z, *a, *b;
    float *y;
    __device__ void operator()(size_t i) const
    {
        const size_t sample = i * W / each;
        float v[W], w[W] = {0};

        mf_load<W>(x + i * W, v);
        if (z) mf_load<W>(z + i * W, w);
        for (int k = 0; k < W; ++k) v[k] = z ? a[sample] * v[k] + b[sample] * w[k] : a[sample] * v[k];
        mf_store<W>(v, y + i * W);
    }
};

template <int W, class Add> struct blend_slope_body {
    size_t each;
    const float *dy, *a;
    float *dx;
    __device__ void operator()(size_t i) const
    {
        float v[W];

        mf_load<W>(dy + i * W, v);
        for (int k = 0; k < W; ++k) v[k] *= a[i * W / each];
        mf_give<W, Add>(v, dx + i * W);
    }
};

void blend(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_tensor *in = call->in;
    const size_t n = mf_shape_count(&in[0].shape), each = n / in[0].shape.d[0];
    float *y = mf_floats(call->out[0]);

    mf_by_width<float>(each, {in[0].at, in[1].at, y}, [&](auto width) {
        constexpr int W = decltype(width)::OF;

        mf_each(q, n / W,
                blend_body<W>{each, mf_floats(in[0]), mf_floats(in[1]), mf_floats(in[2]), mf_floats(in[3]), y});
    });
}

void blend_back(struct mf_queue *q, const struct mf_call *call)
{
    const size_t n = mf_shape_count(&call->dout.shape);
    const float *dy = mf_floats(call->dout);

    for (int j = 0; j < 2; ++j) {
        float *dx = mf_floats(call->din[j]);
        const size_t each = n / mf_shape_count(&call->in[dx ? 2 + j : 3 - j].shape);

        if (!dx) continue;
        mf_choose(call->add >> j & 1, [&](auto add) {
            mf_by_width<float>(each, {dy, dx}, [&](auto width) {
                constexpr int W = decltype(width)::OF;

                mf_each(q, n / W, blend_slope_body<W, decltype(add)>{each, dy, mf_floats(call->in[2 + j]), dx});
            });
        });
    }
}

/* -- normal: a thread has the four numbers that share a random call -- */

struct normal_of {
    __device__ struct mf_draw operator()(const struct mf_attr &attr, const double *number) const
    {
        return mf_normal_of(&attr, number);
    }
};

template <int W> struct normal_body {
    const struct mf_draw *draw;
    size_t each, quads; /* numbers of a sample; fours of it, the last one not always whole */
    float *y;
    __device__ void operator()(size_t i) const
    {
        const size_t s = i / quads, quad = i % quads, rest = each - 4 * quad;
        float four[4];

        mf_normal_four(draw, s, quad, four);
        if constexpr (W == 4)
            mf_store<4>(four, y + s * each + 4 * quad);
        else
            for (size_t k = 0; k < 4 && k < rest; ++k) y[s * each + 4 * quad + k] = four[k];
    }
};

void normal(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->out[0].shape;
    const size_t each = mf_shape_count(&shape) / shape.d[0], quads = (each + 3) / 4;
    float *y = mf_floats(call->out[0]);

    mf_by_width<float>(each, {y}, [&](auto width) {
        mf_each(q, shape.d[0] * quads,
                normal_body<decltype(width)::OF>{mf_once<struct mf_draw>(q, call, normal_of()), each, quads, y});
    });
}

/* -- quantise -- */

struct quantise_body {
    size_t c; /* channels of a phase; 0: grey values */
    const float *x;
    unsigned char *y;
    __device__ void operator()(size_t i) const { y[i] = c ? mf_quantise_phase(x + i * c, c) : mf_quantise_grey(x[i]); }
};

void quantise(struct mf_queue *q, const struct mf_call *call)
{
    mf_each(q, mf_shape_count(&call->out[0].shape),
            quantise_body{call->attr->levels ? 0 : mf_shape_last(&call->in[0].shape), mf_floats(call->in[0]),
                          mf_numbers<unsigned char>(call->out[0])});
}

} // namespace

MF_CUDA_CALLS(blend, blend, blend_back)
MF_CUDA_CALLS(normal, normal, nullptr)
MF_CUDA_CALLS(quantise, quantise, nullptr)
