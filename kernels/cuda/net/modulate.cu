/* modulate on cuda. See kernels/net/norm.c. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/norm.h"

namespace
{

size_t pixels_of(const struct mf_shape &x) { return mf_shape_rows(&x) / x.d[0]; }

template <int W, class T> struct value_body {
    size_t pixels, c;
    const T *x, *st;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const T *of = st + i * W / c / pixels * 2 * c + i * W % c;
        float v[W], s[W], t[W];

        mf_load<W>(x + i * W, v);
        mf_load<W>(of, s);
        mf_load<W>(of + c, t);
        for (int w = 0; w < W; ++w) v[w] = mf_modulate_value(v[w], s[w], t[w]);
        mf_store<W>(v, y + i * W);
    }
};

template <int W, class Add, class T> struct slope_body {
    size_t pixels, c;
    const T *dy, *st;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        float v[W], s[W];

        mf_load<W>(dy + i * W, v);
        mf_load<W>(st + i * W / c / pixels * 2 * c + i * W % c, s);
        for (int w = 0; w < W; ++w) v[w] *= 1 + s[w];
        mf_give<W, Add>(v, dx + i * W);
    }
};

/* Sums of dy x and dy over the pixels of an image. */
template <class T> struct products_body {
    enum { SUMS = 2 };
    size_t c;
    const T *x, *dy;
    T *ds;
    bool add;
    __device__ void operator()(size_t row, size_t k, double *value) const
    {
        const double up = double(mf_wide(dy[row * c + k]));

        value[0] += up * double(mf_wide(x[row * c + k]));
        value[1] += up;
    }
    __device__ void store(size_t image, size_t k, int v, double sum) const
    {
        T *to = ds + image * 2 * c + size_t(v) * c + k;

        *to = mf_round<T>(float((add ? double(mf_wide(*to)) : 0) + sum));
    }
};

template <class T> void forward_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->in[0].shape;
    const size_t c = mf_shape_last(&shape);
    const T *x = mf_numbers<T>(call->in[0]), *st = mf_numbers<T>(call->in[1]);
    T *y = mf_numbers<T>(call->out[0]);

    mf_by_width<T>(c, {x, st, y}, [&](auto width) {
        constexpr int W = decltype(width)::OF;

        mf_each(q, mf_shape_count(&shape) / W, value_body<W, T>{pixels_of(shape), c, x, st, y});
    });
}

/* Sums first: dx may take the memory of dout. */
template <class T> void backward_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &shape = call->dout.shape;
    const size_t c = mf_shape_last(&shape), pixels = pixels_of(shape);
    const T *x = mf_numbers<T>(call->in[0]), *st = mf_numbers<T>(call->in[1]), *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]), *ds = mf_numbers<T>(call->din[1]);

    if (ds) mf_columns_run(q, shape.d[0], pixels, c, products_body<T>{c, x, dy, ds, (call->add & 2) != 0});
    if (!dx) return;
    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(c, {dy, st, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&shape) / W, slope_body<W, decltype(add), T>{pixels, c, dy, st, dx});
        });
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->out[0].shape.type, [&](auto number) { forward_of<decltype(number)>(q, call); });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { backward_of<decltype(number)>(q, call); });
}

} // namespace

MF_CUDA_CALLS(modulate, forward, backward)
