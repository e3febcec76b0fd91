/* conv_depthwise on cuda. See kernels/net/conv.c. A thread has one pixel and neighbouring channels. Files have weights
 * [c][window]. They are turned in work memory, so that a load has neighbouring channels. */
#include "kernels/cuda/net/bias_act.cuh"
#include "kernels/cuda/net/rows.cuh"

namespace
{

/* y from x, or dx from dy by the window turned round. */
struct windows {
    size_t rows, columns, y_rows, y_columns, c; /* of what is read, and of what is written */
    size_t kh, kw, up, left;                    /* the window, and the padding above and on the left */
};

const struct mf_shape &filter(const struct mf_call *call) { return *mf_gpu_filter(call); }

windows windows_of(const struct mf_call *call, const struct mf_shape &x, const struct mf_shape &y)
{
    const size_t *w = filter(call).d, pad = size_t(call->attr->pad);

    return {x.d[1], x.d[2], y.d[1], y.d[2], x.d[3], w[2], w[3], pad, pad};
}

/* to [window][c] = w [c][window], or its last pixel first */
template <class T> struct turn_body {
    size_t c, window;
    bool round;
    const T *w;
    float *to;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i / c;

        to[i] = mf_wide(w[i % c * window + (round ? window - 1 - k : k)]);
    }
};

/* The numbers of W channels of a pixel. Indices beyond the image wrap round, and are too large. */
template <int W, class Add, class T> struct window_body {
    windows s;
    const T *x;
    const float *w, *bias;
    T *y;
    __device__ void row(const T *from, const float *weight, size_t column, float *sum) const
    {
        float v[W], u[W];

        for (size_t q = 0; q < s.kw; ++q) {
            const size_t at = column + q - s.left;

            if (at >= s.columns) continue;
            mf_load<W>(from + at * s.c, v);
            mf_load<W>(weight + q * s.c, u);
            for (int i = 0; i < W; ++i) sum[i] += v[i] * u[i];
        }
    }
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, pixel = i * W / s.c, line = pixel / s.y_columns, image = line / s.y_rows;
        float sum[W] = {};

        if (bias) mf_load<W>(bias + k, sum);
        for (size_t p = 0; p < s.kh; ++p) {
            const size_t at = line % s.y_rows + p - s.up;

            if (at < s.rows)
                row(x + (image * s.rows + at) * s.columns * s.c + k, w + p * s.kw * s.c + k, pixel % s.y_columns, sum);
        }
        mf_give<W, Add>(sum, y + i * W);
    }
};

/* Gradients of the weights. A pixel of the window is a matrix of its own, whose rows are the pixels of dy. */
template <class T> struct weights_body {
    enum { SUMS = 1 };
    windows s;
    size_t pixels; /* of all images of dy */
    const T *x, *dy;
    float *to;
    bool add;
    __device__ void operator()(size_t row, size_t k, double *value) const
    {
        const size_t tap = row / pixels, pixel = row % pixels, line = pixel / s.y_columns;
        const size_t r = line % s.y_rows + tap / s.kw - s.up, q = pixel % s.y_columns + tap % s.kw - s.left;

        if (r < s.rows && q < s.columns)
            value[0] += double(mf_wide(dy[pixel * s.c + k]) *
                               mf_wide(x[((line / s.y_rows * s.rows + r) * s.columns + q) * s.c + k]));
    }
    __device__ void store(size_t tap, size_t k, int, double sum) const
    {
        float *one = to + k * s.kh * s.kw + tap;

        *one = float(add ? double(*one) + sum : sum);
    }
};

float *turn(struct mf_queue *q, const struct mf_call *call, bool round)
{
    const struct mf_shape &w = call->in[1].shape;
    float *to = static_cast<float *>(call->work);

    mf_by_type(w.type, [&](auto number) {
        using T = decltype(number);

        mf_each(q, mf_shape_count(&w), turn_body<T>{w.d[0], w.d[2] * w.d[3], round, mf_numbers<T>(call->in[1]), to});
    });
    return to;
}

template <class T>
void run(struct mf_queue *q, const windows &s, size_t images, bool add, const T *x, const float *w, const float *bias,
         T *y)
{
    mf_choose(add, [&](auto more) {
        mf_by_width<T>(s.c, {x, w, bias, y}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, images * s.y_rows * s.y_columns * s.c / W, window_body<W, decltype(more), T>{s, x, w, bias, y});
        });
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &x = call->in[0].shape, &y = call->out[0].shape;
    const float *w = turn(q, call, false);

    mf_by_type(x.type, [&](auto number) {
        using T = decltype(number);

        run<T>(q, windows_of(call, x, y), x.d[0], false, mf_numbers<T>(call->in[0]), w, mf_floats(call->in[2]),
               mf_numbers<T>(call->out[0]));
    });
}

/* The gradient of x is the same of dout. */
void backward_data(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dy = call->dout.shape, &dx = call->din[0].shape;
    const float *w = turn(q, call, true);
    windows s = windows_of(call, dy, dx);

    s.up = s.kh - 1 - s.up;
    s.left = s.kw - 1 - s.left;
    mf_by_type(dy.type, [&](auto number) {
        using T = decltype(number);

        run<T>(q, s, dy.d[0], (call->add & 1) != 0, mf_numbers<T>(call->dout), w, nullptr, mf_numbers<T>(call->din[0]));
    });
}

void backward_weights(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &x = call->in[0].shape, &dy = call->dout.shape;
    const windows s = windows_of(call, x, dy);

    mf_by_type(dy.type, [&](auto number) {
        using T = decltype(number);

        mf_columns_run(q, s.kh * s.kw, mf_shape_rows(&dy), s.c,
                       weights_body<T>{s, mf_shape_rows(&dy), mf_numbers<T>(call->in[0]), mf_numbers<T>(call->dout),
                                       mf_floats(call->din[1]), (call->add & 2) != 0});
    });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    if (call->din[0].at) backward_data(q, call);
    if (call->din[1].at) backward_weights(q, call);
    mf_bias_backward(q, call, call->dout.at);
}

int plan(struct mf_queue *, const struct mf_call *call, int, void **made, size_t *work)
{
    *made = nullptr;
    *work = mf_gpu_depthwise_work(call);
    return MF_OK;
}

} // namespace

const struct mf_op_calls mf_op_conv_depthwise_cuda = {plan, nullptr, forward, backward};
