/* conv_depthwise on cpu. See kernels/net/conv.c and depthwise.h. */
#include "kernels/cpu/net/depthwise.h"

#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/net.h"
#include "src/base/bounds.h"
#include "src/base/cut.h"
#include "src/base/err.h"

/* Gradients of weights are sums over pieces of the images, and of so many channels at a time. */
enum { PIECES = 32, CHANNELS = 32 };

static const struct mf_depthwise_text *text(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &mf_depthwise_text_16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &mf_depthwise_text_8;
#endif
    return &mf_depthwise_text_4;
}

struct job {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    struct mf_depthwise of;
    int turned;    /* the window, for the gradient of x */
    float *window; /* [kh][kw][c] weights */
    float *parts;  /* [pieces][kh][kw][c] gradients of weights, of pieces of the images */
    size_t pieces;
};

static const struct job *job_of(const struct mf_call *call) { return (const struct job *)call; }

static const struct mf_shape *filter(const struct mf_call *call)
{
    return call->in[1].shape.n ? &call->in[1].shape : &call->din[1].shape;
}

static size_t pieces_of(const struct mf_call *call) { return mf_min(call->dout.shape.d[0], PIECES); }

/* Work memory: the window with channels last, then sums of the pieces. */
static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const size_t window = mf_whole_lines(mf_shape_count(filter(call)) * sizeof(float));

    (void)queue;
    *made = NULL;
    *work = !back || call->din[0].shape.n ? window : 0;
    if (back && call->din[1].shape.n) *work += pieces_of(call) * window;
    return MF_OK;
}

/* Channels [from, to) of the window. */
static void put_window(const struct mf_call *call, size_t from, size_t to)
{
    const struct job *job = job_of(call);
    const size_t taps = job->of.kh * job->of.kw, c = job->of.c;
    const float *w = call->in[1].at;

    for (size_t i = 0; i < taps; ++i)
        for (size_t k = from; k < to; ++k) job->window[i * c + k] = w[k * taps + (job->turned ? taps - 1 - i : i)];
}

static void some_rows(const struct mf_call *call, size_t from, size_t to) { text()->rows(&job_of(call)->of, from, to); }

/* y from x: the call's, or dx from dy. */
static void run_rows(struct mf_queue *queue, const struct job *job)
{
    const struct mf_depthwise *d = &job->of;

    mf_cpu_rows(queue, d->c, d->kh * d->kw, put_window, &job->call);
    mf_cpu_rows(queue, d->images * d->y_rows, d->y_columns * d->c * d->kh * d->kw, some_rows, &job->call);
}

/* The call of images @p x and @p y. */
static struct job job_for(const struct mf_call *call, const struct mf_shape *x, const struct mf_shape *y)
{
    const size_t *w = filter(call)->d;

    return (struct job){.call = *call,
                        .of = {.images = x->d[0],
                               .rows = x->d[1],
                               .columns = x->d[2],
                               .c = x->d[3],
                               .y_rows = y->d[1],
                               .y_columns = y->d[2],
                               .kh = w[2],
                               .kw = w[3],
                               .up = (size_t)call->attr->pad,
                               .left = (size_t)call->attr->pad,
                               .w = call->work},
                        .window = call->work};
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    struct job job = job_for(call, &call->in[0].shape, &call->out[0].shape);

    job.of.x = call->in[0].at;
    job.of.bias = call->in[2].at;
    job.of.y = call->out[0].at;
    run_rows(queue, &job);
}

/* The gradient of x is the same of dout, with the window turned. */
static void backward_data(struct mf_queue *queue, const struct mf_call *call)
{
    struct job job = job_for(call, &call->dout.shape, &call->din[0].shape);

    job.turned = 1;
    job.of.up = job.of.kh - 1 - job.of.up;
    job.of.left = job.of.kw - 1 - job.of.left;
    job.of.x = call->dout.at;
    job.of.y = call->din[0].at;
    job.of.add = (int)(call->add & 1);
    run_rows(queue, &job);
}

static size_t strips_of(const struct mf_depthwise *d) { return (d->c + CHANNELS - 1) / CHANNELS; }

/* Pieces and strips of channels, in one row of numbers. */
static void some_parts(const struct mf_call *call, size_t from, size_t to)
{
    const struct job *job = job_of(call);
    const size_t strips = strips_of(&job->of), taps = job->of.kh * job->of.kw, c = job->of.c;

    for (size_t i = from; i < to; ++i) {
        const struct mf_span images = mf_cut(job->of.images, job->pieces, i / strips);
        const size_t first = i % strips * CHANNELS, end = mf_min(first + CHANNELS, c);
        struct mf_depthwise d = job->of;

        d.sums = job->parts + i / strips * taps * c;
        for (size_t k = 0; k < taps; ++k) memset(d.sums + k * c + first, 0, (end - first) * sizeof *d.sums);
        d.images = images.count;
        d.x += images.first * d.rows * d.columns * c;
        d.dy += images.first * d.y_rows * d.y_columns * c;
        text()->weights(&d, first, end);
    }
}

/* Weights of channels [from, to): the pieces in their order. */
static void join_parts(const struct mf_call *call, size_t from, size_t to)
{
    const struct job *job = job_of(call);
    const size_t taps = job->of.kh * job->of.kw, c = job->of.c;
    float *dw = call->din[1].at;

    for (size_t k = from; k < to; ++k)
        for (size_t i = 0; i < taps; ++i) {
            double sum = call->add & 2 ? (double)dw[k * taps + i] : 0;

            for (size_t p = 0; p < job->pieces; ++p) sum += (double)job->parts[(p * taps + i) * c + k];
            dw[k * taps + i] = (float)sum;
        }
}

static void backward_weights(struct mf_queue *queue, const struct mf_call *call)
{
    struct job job = job_for(call, &call->in[0].shape, &call->dout.shape);
    const size_t taps = job.of.kh * job.of.kw;

    job.of.x = call->in[0].at;
    job.of.dy = call->dout.at;
    job.pieces = pieces_of(call);
    job.parts = call->work;
    if (call->din[0].shape.n) job.parts += mf_whole_lines(taps * job.of.c * sizeof(float)) / sizeof(float);
    mf_cpu_rows(queue, job.pieces * strips_of(&job.of), job.of.y_rows * job.of.y_columns * CHANNELS * taps, some_parts,
                &job.call);
    mf_cpu_rows(queue, job.of.c, taps * job.pieces, join_parts, &job.call);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    if (call->din[0].at) backward_data(queue, call);
    if (call->din[1].at) backward_weights(queue, call);
    mf_bias_backward(queue, call, call->dout.at);
}

const struct mf_op_calls mf_op_conv_depthwise_cpu = {.plan = plan, .forward = forward, .backward = backward};
