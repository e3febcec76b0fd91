/* pool, upsample, wrap and mean on cuda. See kernels/net/image.c. */
#include "kernels/cuda/net/rows.cuh"

namespace
{

/* -- pool -- */

struct images {
    size_t height, width, rows, columns, c; /* pixels of x, of y; channels */
};

struct images images_of(const struct mf_shape &x, const struct mf_shape &y)
{
    return {x.d[1], x.d[2], y.d[1], y.d[2], x.d[3]};
}

template <int W, class T> struct pool_body {
    struct images s;
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, row = pixel / s.columns;
        const size_t line = row / s.rows * s.height + row % s.rows * 2;
        const T *upper = x + (line * s.width + pixel % s.columns * 2) * s.c + k, *lower = upper + s.width * s.c;
        float v[4][W], mean[W];

        mf_load<W>(upper, v[0]);
        mf_load<W>(upper + s.c, v[1]);
        mf_load<W>(lower, v[2]);
        mf_load<W>(lower + s.c, v[3]);
        for (int w = 0; w < W; ++w) mean[w] = 0.25f * (v[0][w] + v[1][w] + v[2][w] + v[3][w]);
        mf_store<W>(mean, y + i * W);
    }
};

/* An odd last row or column has no gradient. */
template <int W, class Add, class T> struct spread_body {
    struct images s;
    const T *dy;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, column = pixel % s.width / 2, line = pixel / s.width;
        const size_t row = line % s.height / 2;
        float v[W] = {0};

        if (row < s.rows && column < s.columns)
            mf_load<W>(dy + ((line / s.height * s.rows + row) * s.columns + column) * s.c + k, v);
        for (int w = 0; w < W; ++w) v[w] *= 0.25f;
        mf_give<W, Add>(v, dx + i * W);
    }
};

template <class T> void pool_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->in[0].shape, call->out[0].shape);
    const T *x = mf_numbers<T>(call->in[0]);
    T *y = mf_numbers<T>(call->out[0]);

    mf_by_width<T>(s.c, {x, y}, [&](auto width) {
        constexpr int W = decltype(width)::OF;

        mf_each(q, mf_shape_count(&call->out[0].shape) / W, pool_body<W, T>{s, x, y});
    });
}

template <class T> void pool_back_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->din[0].shape, call->dout.shape);
    const T *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(s.c, {dy, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&call->din[0].shape) / W, spread_body<W, decltype(add), T>{s, dy, dx});
        });
    });
}

void pool(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->out[0].shape.type, [&](auto number) { pool_of<decltype(number)>(q, call); });
}

void pool_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { pool_back_of<decltype(number)>(q, call); });
}

/* -- upsample -- */

template <int W, class T> struct upsample_body {
    struct images s; /* of y and x: y has twice the pixels */
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, row = pixel / s.width;
        const size_t line = row / s.height * s.rows + row % s.height / 2;
        float v[W];

        mf_load<W>(x + (line * s.columns + pixel % s.width / 2) * s.c + k, v);
        mf_store<W>(v, y + i * W);
    }
};

/* Sums of 2 x 2 numbers. */
template <int W, class Add, class T> struct gather_body {
    struct images s;
    const T *dy;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, line = pixel / s.columns * 2;
        const T *upper = dy + (line * s.width + pixel % s.columns * 2) * s.c + k, *lower = upper + s.width * s.c;
        float v[4][W], sum[W];

        mf_load<W>(upper, v[0]);
        mf_load<W>(upper + s.c, v[1]);
        mf_load<W>(lower, v[2]);
        mf_load<W>(lower + s.c, v[3]);
        for (int w = 0; w < W; ++w) sum[w] = (v[0][w] + v[1][w]) + (v[2][w] + v[3][w]);
        mf_give<W, Add>(sum, dx + i * W);
    }
};

void upsample(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->out[0].shape, call->in[0].shape);

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        using T = decltype(number);
        const T *x = mf_numbers<T>(call->in[0]);
        T *y = mf_numbers<T>(call->out[0]);

        mf_by_width<T>(s.c, {x, y}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&call->out[0].shape) / W, upsample_body<W, T>{s, x, y});
        });
    });
}

template <class T> void upsample_back_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->dout.shape, call->din[0].shape);
    const T *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(s.c, {dy, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&call->din[0].shape) / W, gather_body<W, decltype(add), T>{s, dy, dx});
        });
    });
}

void upsample_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { upsample_back_of<decltype(number)>(q, call); });
}

/* -- wrap -- */

template <int W, class T> struct wrap_body {
    struct images s; /* of y and x */
    size_t pad;
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, row = pixel / s.width;
        const size_t line = row / s.height * s.rows + (row % s.height + s.rows - pad) % s.rows;
        float v[W];

        mf_load<W>(x + (line * s.columns + (pixel % s.width + s.columns - pad) % s.columns) * s.c + k, v);
        mf_store<W>(v, y + i * W);
    }
};

/* Sums over the pixels of y that show one of x. */
template <int W, class Add, class T> struct unwrap_body {
    struct images s;
    size_t pad;
    const T *dy;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, line = pixel / s.columns;
        float v[W], sum[W] = {0};

        for (size_t p = (line % s.rows + pad) % s.rows; p < s.height; p += s.rows)
            for (size_t q = (pixel % s.columns + pad) % s.columns; q < s.width; q += s.columns) {
                mf_load<W>(dy + ((line / s.rows * s.height + p) * s.width + q) * s.c + k, v);
                for (int w = 0; w < W; ++w) sum[w] += v[w];
            }
        mf_give<W, Add>(sum, dx + i * W);
    }
};

void wrap(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->out[0].shape, call->in[0].shape);

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        using T = decltype(number);
        const T *x = mf_numbers<T>(call->in[0]);
        T *y = mf_numbers<T>(call->out[0]);

        mf_by_width<T>(s.c, {x, y}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&call->out[0].shape) / W, wrap_body<W, T>{s, size_t(call->attr->pad), x, y});
        });
    });
}

template <class T> void wrap_back_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct images s = images_of(call->dout.shape, call->din[0].shape);
    const size_t pad = size_t(call->attr->pad);
    const T *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(s.c, {dy, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&call->din[0].shape) / W, unwrap_body<W, decltype(add), T>{s, pad, dy, dx});
        });
    });
}

void wrap_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { wrap_back_of<decltype(number)>(q, call); });
}

/* -- mean -- */

template <class T> struct mean_body {
    enum { SUMS = 1 };
    size_t pixels, c;
    const T *x;
    T *y;
    __device__ void operator()(size_t row, size_t column, double *value) const
    {
        value[0] += double(mf_wide(x[row * c + column]));
    }
    __device__ void store(size_t image, size_t column, int, double sum) const
    {
        y[image * c + column] = mf_round<T>(float(sum / double(pixels)));
    }
};

template <int W, class Add, class T> struct share_body {
    size_t pixels, c;
    const T *dy;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t pixel = i * W / c;
        const float part = 1.0f / float(pixels);
        float v[W];

        mf_load<W>(dy + pixel / pixels * c + i * W % c, v);
        for (int w = 0; w < W; ++w) v[w] *= part;
        mf_give<W, Add>(v, dx + i * W);
    }
};

size_t pixels_of(const struct mf_shape &x) { return mf_shape_rows(&x) / x.d[0]; }

void mean(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &x = call->in[0].shape;
    const size_t pixels = pixels_of(x), c = mf_shape_last(&x);

    mf_by_type(x.type, [&](auto number) {
        using T = decltype(number);

        mf_columns_run(q, x.d[0], pixels, c,
                       mean_body<T>{pixels, c, mf_numbers<T>(call->in[0]), mf_numbers<T>(call->out[0])});
    });
}

template <class T> void mean_back_of(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &x = call->din[0].shape;
    const size_t c = mf_shape_last(&x);
    const T *dy = mf_numbers<T>(call->dout);
    T *dx = mf_numbers<T>(call->din[0]);

    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(c, {dy, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, mf_shape_count(&x) / W, share_body<W, decltype(add), T>{pixels_of(x), c, dy, dx});
        });
    });
}

void mean_back(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { mean_back_of<decltype(number)>(q, call); });
}

} // namespace

MF_CUDA_CALLS(pool, pool, pool_back)
MF_CUDA_CALLS(upsample, upsample, upsample_back)
MF_CUDA_CALLS(wrap, wrap, wrap_back)
MF_CUDA_CALLS(mean, mean, mean_back)
