/* conv2d on cuda. See kernels/net/conv.c. With windows of one pixel, or side by side, it is a product (linear.cu); else
 * it is cuDNN's. Weights are [o][c][window], as in files, but cuDNN wants channels last. So they are turned in work
 * memory, and so is their gradient. */
#include <stdlib.h>

#include "kernels/cuda/net/bias_act.cuh"
#include "kernels/cuda/net/convolution.cuh"
#include "kernels/cuda/net/half.cuh"
#include "kernels/cuda/net/linear.cuh"
#include "kernels/cuda/net/net.cuh"

namespace
{

/* -- kernels -- */

/* to [o][window][c] = w [o][c][window] */
template <class T> struct turn_body {
    size_t c, window;
    const T *w;
    T *to;
    __device__ void operator()(size_t i) const
    {
        const size_t o = i / (window * c), k = i / c % window;

        to[i] = w[(o * c + i % c) * window + k];
    }
};

/* to [o][c][window] = from [o][window][c], or += it */
template <class T> struct turn_back_body {
    size_t c, window;
    const T *from;
    float *to;
    bool add;
    __device__ void operator()(size_t i) const
    {
        const size_t o = i / (window * c), channel = i / window % c;
        const float value = mf_wide(from[(o * window + i % window) * c + channel]);

        to[i] = add ? to[i] + value : value;
    }
};

/* Windows side by side: places of a pixel in the image and among the windows, [n][height'][width'][c][kh][kw]. */
struct windows {
    size_t height, width, c, edge, rows, columns; /* rows and columns of windows */
};

template <class T> struct gather_body {
    struct windows s;
    const T *x;
    T *to;
    __device__ void operator()(size_t i) const
    {
        const size_t kx = i % s.edge, ky = i / s.edge % s.edge, channel = i / (s.edge * s.edge) % s.c;
        const size_t place = i / (s.edge * s.edge * s.c), column = place % s.columns, row = place / s.columns % s.rows;
        const size_t n = place / (s.columns * s.rows);

        to[i] = x[((n * s.height + row * s.edge + ky) * s.width + column * s.edge + kx) * s.c + channel];
    }
};

/* A pixel that no window has seen has no gradient. */
template <class T> struct scatter_body {
    struct windows s;
    const T *from;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t channel = i % s.c, x = i / s.c % s.width, y = i / (s.c * s.width) % s.height;
        const size_t n = i / (s.c * s.width * s.height), row = y / s.edge, column = x / s.edge;
        const size_t place = (n * s.rows + row) * s.columns + column;

        if (row < s.rows && column < s.columns)
            dx[i] = from[((place * s.c + channel) * s.edge + y % s.edge) * s.edge + x % s.edge];
        else
            dx[i] = T();
    }
};

const struct mf_shape &image(const struct mf_call *call) { return *mf_gpu_image(call); }
const struct mf_shape &filter(const struct mf_call *call) { return *mf_gpu_filter(call); }
const struct mf_shape &sums(const struct mf_call *call) { return *mf_gpu_sums(call); }

struct plan {
    void *product;                                   /* of linear.cu */
    struct mf_convolution *forward, *data, *weights; /* of cuDNN */
};

struct plan *plan_of(const struct mf_call *call) { return static_cast<struct plan *>(call->plan); }

/* -- as a product. Work memory: windows one by one, of x and of its gradient, then what linear needs -- */

/* The call of linear: images are rows of windows. @p work: NULL while it is planned. */
struct mf_call product_call(const struct mf_call *call, char *work)
{
    const size_t bytes = mf_gpu_patch_bytes(call);
    struct mf_call as = *call;

    as.plan = call->plan ? plan_of(call)->product : nullptr;
    for (struct mf_tensor *tensor : {&as.in[0], &as.din[0]}) {
        if (!bytes || !tensor->shape.n) continue;
        tensor->at = work;
        work += bytes;
    }
    as.work = work;
    return as;
}

struct windows windows_of(const struct mf_call *call)
{
    const size_t *x = image(call).d, *y = sums(call).d;

    return {x[1], x[2], x[3], size_t(call->attr->stride), y[1], y[2]};
}

template <class T> void gather(struct mf_queue *q, const struct mf_call *call, void *to)
{
    const size_t *w = filter(call).d;

    mf_each(q, mf_shape_rows(&sums(call)) * w[1] * w[2] * w[3],
            gather_body<T>{windows_of(call), static_cast<const T *>(call->in[0].at), static_cast<T *>(to)});
}

template <class T> void scatter(struct mf_queue *q, const struct mf_call *call, const void *from)
{
    mf_each(q, mf_shape_count(&call->din[0].shape),
            scatter_body<T>{windows_of(call), static_cast<const T *>(from), static_cast<T *>(call->din[0].at)});
}

void run_product(struct mf_queue *q, const struct mf_call *call, bool back)
{
    const struct mf_call as = product_call(call, static_cast<char *>(call->work));

    mf_by_type(sums(call).type, [&](auto number) {
        if (as.in[0].at != call->in[0].at) gather<decltype(number)>(q, call, as.in[0].at);
    });
    (back ? mf_linear_backward : mf_linear_forward)(q, &as);
    mf_by_type(sums(call).type, [&](auto number) {
        if (as.din[0].at != call->din[0].at) scatter<decltype(number)>(q, call, as.din[0].at);
    });
}

int plan_product(struct mf_queue *q, const struct mf_call *call, int back, struct plan *p, size_t *work)
{
    MF_TRY(mf_linear_plan(q, call, back, &p->product, work));
    *work += mf_gpu_conv_front(call, back) - mf_gpu_linear_front(call, back);
    return MF_OK;
}

/* -- by cuDNN. Work memory: the gradient of the sums, turned weights, their gradient, then what cuDNN needs -- */

size_t gradient_bytes(const struct mf_call *call) { return call->din[1].shape.n ? mf_gpu_turned_bytes(call) : 0; }

void turn(struct mf_queue *q, const struct mf_call *call, void *to)
{
    const struct mf_shape &w = call->in[1].shape;

    mf_by_type(w.type, [&](auto number) {
        using T = decltype(number);

        mf_each(q, mf_shape_count(&w),
                turn_body<T>{w.d[1], w.d[2] * w.d[3], static_cast<const T *>(call->in[1].at), static_cast<T *>(to)});
    });
}

/* cuDNN's gradient has the type of x, the call's is f32. */
void turn_back(struct mf_queue *q, const struct mf_call *call, const void *from)
{
    const struct mf_shape &w = call->din[1].shape;
    float *to = static_cast<float *>(call->din[1].at);

    mf_by_type(image(call).type, [&](auto number) {
        using T = decltype(number);

        mf_each(q, mf_shape_count(&w),
                turn_back_body<T>{w.d[1], w.d[2] * w.d[3], static_cast<const T *>(from), to, (call->add & 2) != 0});
    });
}

void run_forward(struct mf_queue *q, const struct mf_call *call)
{
    char *turned = static_cast<char *>(call->work);

    turn(q, call, turned);
    mf_convolution_run(plan_of(call)->forward, call->in[0].at, turned, mf_sums(call),
                       turned + mf_gpu_turned_bytes(call));
    mf_bias_forward(q, call);
    mf_act_forward(q, call);
}

void run_backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct plan *p = plan_of(call);
    void *slope = mf_act_backward(q, call);
    char *turned = static_cast<char *>(call->work) + mf_gpu_act_work(call),
         *gradient = turned + mf_gpu_turned_bytes(call);
    char *work = gradient + gradient_bytes(call);

    if (p->data) {
        turn(q, call, turned);
        mf_convolution_run(p->data, call->din[0].at, turned, slope, work);
    }
    if (p->weights) {
        mf_convolution_run(p->weights, call->in[0].at, gradient, slope, work);
        turn_back(q, call, gradient);
    }
    mf_bias_backward(q, call, slope);
}

int plan_pass(struct mf_queue *q, const struct mf_call *call, int kind, struct mf_convolution **pass)
{
    const struct mf_shape &x = image(call);
    const struct mf_convolution_of of = {kind,           x.type, x.d, filter(call).d, sums(call).d, call->attr->stride,
                                         call->attr->pad};

    return mf_convolution_new(q, &of, pass);
}

int plan_passes(struct mf_queue *q, const struct mf_call *call, int back, struct plan *p, size_t *work)
{
    size_t most = 0;

    if (!back) MF_TRY(plan_pass(q, call, mf_convolution_of::FORWARD, &p->forward));
    if (call->din[0].shape.n) MF_TRY(plan_pass(q, call, mf_convolution_of::DATA, &p->data));
    if (call->din[1].shape.n) MF_TRY(plan_pass(q, call, mf_convolution_of::WEIGHTS, &p->weights));
    for (const struct mf_convolution *pass : {p->forward, p->data, p->weights})
        if (mf_convolution_work(pass) > most) most = mf_convolution_work(pass);
    *work = mf_gpu_conv_front(call, back) + most;
    return MF_OK;
}

/* -- the operation -- */

void release(void *made)
{
    struct plan *p = static_cast<struct plan *>(made);

    if (p->product) mf_linear_release(p->product);
    mf_convolution_free(p->forward);
    mf_convolution_free(p->data);
    mf_convolution_free(p->weights);
    free(p);
}

int make(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work)
{
    struct plan *p = static_cast<struct plan *>(MF_MUST(calloc(1, sizeof *p), "a convolution"));
    const int rc = (mf_gpu_is_product(call) ? plan_product : plan_passes)(q, call, back, p, work);

    if (rc == MF_OK)
        *made = p;
    else
        release(p);
    return rc;
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    if (plan_of(call)->product)
        run_product(q, call, false);
    else
        run_forward(q, call);
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    if (plan_of(call)->product)
        run_product(q, call, true);
    else
        run_backward(q, call);
}

} // namespace

const struct mf_op_calls mf_op_conv2d_cuda = {make, release, forward, backward};
