/* dropout, casts, fill and accumulate on cuda. */
#include "kernels/cuda/net/net.cuh"
#include "kernels/form/drop.h"

namespace
{

/* -- dropout: a thread has the four numbers that share a random call -- */

struct drop_of {
    __device__ struct mf_drop operator()(const struct mf_attr &attr, const double *number) const
    {
        return mf_drop_of(&attr, number);
    }
};

template <int W, class T> struct drop_body {
    const struct mf_drop *drop;
    size_t each, quads; /* numbers of a sample; fours of it, the last one not always whole */
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t s = i / quads, quad = i % quads, from = s * each + 4 * quad;
        const size_t n = each - 4 * quad < 4 ? each - 4 * quad : 4;
        uint32_t word[4];
        float v[4];

        mf_draw_words(&drop->draw, s, quad, word);
        if constexpr (W == 4) {
            mf_load<4>(x + from, v);
            for (int k = 0; k < 4; ++k) v[k] = mf_drop_value(drop, word[k], v[k]);
            mf_store<4>(v, y + from);
        } else {
            for (size_t k = 0; k < n; ++k)
                y[from + k] = mf_round<T>(mf_drop_value(drop, word[k], mf_wide(x[from + k])));
        }
    }
};

void drop(struct mf_queue *q, const struct mf_call *call, const struct mf_tensor &from, const struct mf_tensor &to)
{
    const size_t samples = to.shape.d[0], each = mf_shape_count(&to.shape) / samples, quads = (each + 3) / 4;

    mf_by_type(to.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_by_width<float>(each, {from.at, to.at}, [&](auto width) {
            mf_each(q, samples * quads,
                    drop_body<decltype(width)::OF, T>{mf_once<struct mf_drop>(q, call, drop_of()), each, quads,
                                                      mf_numbers<T>(from), mf_numbers<T>(to)});
        });
    });
}

void drop_forward(struct mf_queue *q, const struct mf_call *call) { drop(q, call, call->in[0], call->out[0]); }
void drop_backward(struct mf_queue *q, const struct mf_call *call) { drop(q, call, call->dout, call->din[0]); }

/* -- fill -- */

struct fill_body {
    enum { ARRAYS = 1, READS = 0, WRITES = 1 };
    float value;
    const double *scale; /* or NULL */
    __device__ void operator()(float *v) const { v[0] = scale ? float(double(value) * *scale) : value; }
};

void fill(struct mf_queue *q, const struct mf_call *call)
{
    const double *scale = call->attr->scaled ? call->number + MF_NUMBER_LOSS_SCALE : nullptr;

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        mf_places_run<decltype(number)>(q, mf_shape_count(&call->out[0].shape),
                                        fill_body{float(call->attr->number), scale}, {{call->out[0].at}});
    });
}

/* -- cast -- */

template <int W, class X, class Y> struct cast_body {
    const X *x;
    Y *y;
    bool add;
    __device__ void operator()(size_t i) const
    {
        float v[W], before[W];

        mf_load<W>(x + i * W, v);
        if (add) {
            mf_load<W>(y + i * W, before);
            for (int k = 0; k < W; ++k) v[k] += before[k];
        }
        mf_store<W>(v, y + i * W);
    }
};

void cast(struct mf_queue *q, const struct mf_tensor &from, const struct mf_tensor &to, bool add)
{
    const size_t n = mf_shape_count(&to.shape);

    mf_by_type(from.shape.type, [&](auto read) {
        mf_by_type(to.shape.type, [&](auto written) {
            using X = decltype(read);
            using Y = decltype(written);

            mf_by_width<mf_bf16>(n, {from.at, to.at}, [&](auto width) {
                constexpr int W = decltype(width)::OF;

                mf_each(q, n / W, cast_body<W, X, Y>{mf_numbers<X>(from), mf_numbers<Y>(to), add});
            });
        });
    });
}

void cast_forward(struct mf_queue *q, const struct mf_call *call) { cast(q, call->in[0], call->out[0], false); }
void cast_backward(struct mf_queue *q, const struct mf_call *call) { cast(q, call->dout, call->din[0], call->add & 1); }

/* -- accumulate -- */

struct more_body {
    enum { ARRAYS = 2, READS = 3, WRITES = 1 }; /* a, b: a += b */
    __device__ void operator()(float *v) const { v[0] += v[1]; }
};

void accumulate(struct mf_queue *q, const struct mf_call *call)
{
    mf_places_run(q, mf_shape_count(&call->in[0].shape), more_body{},
                  {{mf_floats(call->in[0])}, {mf_floats(call->in[1])}});
}

} // namespace

MF_CUDA_CALLS(dropout, drop_forward, drop_backward)
MF_CUDA_CALLS(cast, cast_forward, cast_backward)
MF_CUDA_CALLS(fill, fill, nullptr)
MF_CUDA_CALLS(accumulate, accumulate, nullptr)
