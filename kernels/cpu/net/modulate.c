/* modulate on cpu. See kernels/net/norm.c. Sums over a block of pixels are floats; doubles sum the blocks. */
#include "kernels/cpu/net/net.h"
#include "kernels/form/norm.h"

static size_t pixels_of(const struct mf_shape *x) { return mf_shape_rows(x) / x->d[0]; }

/* -- forward: rows are the pixels of all images -- */

MF_CPU_FAST static void value_row(const float *x, const float *s, const float *t, float *y, size_t c)
{
#pragma omp simd
    for (size_t i = 0; i < c; ++i) y[i] = mf_modulate_value(x[i], s[i], t[i]);
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = mf_shape_last(&call->in[0].shape), pixels = pixels_of(&call->in[0].shape);

    for (size_t p = from; p < to; ++p) {
        const float *s = (const float *)call->in[1].at + p / pixels * 2 * c;

        value_row((const float *)call->in[0].at + p * c, s, s + c, (float *)call->out[0].at + p * c, c);
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape), forward_rows, call);
}

/* -- backward -- */

/* Sums of dy x and dy over the pixels, for at most MF_STRIP channels. */
MF_CPU_FAST static void products(const float *x, const float *dy, size_t pixels, size_t c, size_t columns,
                                 double *first, double *second)
{
    for (size_t i = 0; i < columns; ++i) first[i] = second[i] = 0;
    for (size_t at = 0; at < pixels; at += MF_BLOCK) {
        const size_t end = at + MF_BLOCK < pixels ? at + MF_BLOCK : pixels;
        float product[MF_STRIP] = {0}, sum[MF_STRIP] = {0};

        for (size_t p = at; p < end; ++p)
#pragma omp simd
            for (size_t i = 0; i < columns; ++i) {
                product[i] += dy[p * c + i] * x[p * c + i];
                sum[i] += dy[p * c + i];
            }
        for (size_t i = 0; i < columns; ++i) {
            first[i] += (double)product[i];
            second[i] += (double)sum[i];
        }
    }
}

static void put(const double *from, float *to, size_t n, int add)
{
    for (size_t i = 0; i < n; ++i) to[i] = (float)((add ? (double)to[i] : 0) + from[i]);
}

static void backward_images(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = mf_shape_last(&call->in[0].shape), pixels = pixels_of(&call->in[0].shape);
    const int add = (int)(call->add >> 1 & 1);

    for (size_t n = from; n < to; ++n)
        for (size_t at = 0; at < c; at += MF_STRIP) {
            const size_t columns = at + MF_STRIP < c ? MF_STRIP : c - at, i = n * pixels * c + at;
            float *ds = (float *)call->din[1].at + n * 2 * c + at;
            double first[MF_STRIP], second[MF_STRIP];

            products((const float *)call->in[0].at + i, (const float *)call->dout.at + i, pixels, c, columns, first,
                     second);
            put(first, ds, columns, add);
            put(second, ds + c, columns, add);
        }
}

MF_CPU_FAST static void slope_row(const float *dy, const float *s, float *dx, size_t c, int add)
{
    if (add)
#pragma omp simd
        for (size_t i = 0; i < c; ++i) dx[i] += dy[i] * (1 + s[i]);
    else
#pragma omp simd
        for (size_t i = 0; i < c; ++i) dx[i] = dy[i] * (1 + s[i]);
}

static void backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = mf_shape_last(&call->dout.shape), pixels = pixels_of(&call->dout.shape);

    for (size_t p = from; p < to; ++p)
        slope_row((const float *)call->dout.at + p * c, (const float *)call->in[1].at + p / pixels * 2 * c,
                  (float *)call->din[0].at + p * c, c, (int)(call->add & 1));
}

/* Sums first: dx may take the memory of dout. */
static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_shape *y = &call->dout.shape;

    if (call->din[1].at) mf_cpu_rows(queue, y->d[0], mf_shape_count(y) / y->d[0], backward_images, call);
    if (call->din[0].at) mf_cpu_rows(queue, mf_shape_rows(y), mf_shape_last(y), backward_rows, call);
}

const struct mf_op_calls mf_op_modulate_cpu = {.forward = forward, .backward = backward};
