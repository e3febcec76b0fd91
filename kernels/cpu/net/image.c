/* pool, upsample, wrap and mean on cpu. See kernels/net/image.c. */
#include "kernels/cpu/net/net.h"

/* to = factor * from, or to += it. */
MF_CPU_FAST static void scale(const float *from, float factor, float *to, size_t n, int add)
{
    if (add)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) to[i] += factor * from[i];
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) to[i] = factor * from[i];
}

/* -- pool -- */

/* y of one row from the two rows of x, whose pixels have c numbers. */
MF_CPU_FAST static void pool_row(const float *upper, const float *lower, float *y, size_t pixels, size_t c)
{
    for (size_t p = 0; p < pixels; ++p)
#pragma omp simd
        for (size_t i = 0; i < c; ++i)
            y[p * c + i] = 0.25F * (upper[2 * p * c + i] + upper[(2 * p + 1) * c + i] + lower[2 * p * c + i] +
                                    lower[(2 * p + 1) * c + i]);
}

/* Rows [from, to) of all images of y. */
static void pool_forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t *x = call->in[0].shape.d, *y = call->out[0].shape.d, row = x[2] * x[3];

    for (size_t r = from; r < to; ++r) {
        const float *upper = (const float *)call->in[0].at + (r / y[1] * x[1] + 2 * (r % y[1])) * row;

        pool_row(upper, upper + row, (float *)call->out[0].at + r * y[2] * y[3], y[2], y[3]);
    }
}

static void pool_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *y = call->out[0].shape.d;

    mf_cpu_rows(queue, y[0] * y[1], 4 * y[2] * y[3], pool_forward_rows, call);
}

/* Rows [from, to) of all images of x; an odd last row or column has no gradient. */
static void pool_backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t *x = call->din[0].shape.d, *y = call->dout.shape.d, c = x[3];

    for (size_t r = from; r < to; ++r) {
        const size_t image = r / x[1], p = r % x[1] / 2;
        const float *dy = (const float *)call->dout.at + (image * y[1] + p) * y[2] * c;
        float *dx = (float *)call->din[0].at + r * x[2] * c;

        for (size_t j = 0; j < x[2]; ++j) {
            if (p < y[1] && j / 2 < y[2])
                scale(dy + j / 2 * c, 0.25F, dx + j * c, c, (int)(call->add & 1));
            else if (!(call->add & 1))
                memset(dx + j * c, 0, c * sizeof *dx);
        }
    }
}

static void pool_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *x = call->din[0].shape.d;

    mf_cpu_rows(queue, x[0] * x[1], x[2] * x[3], pool_backward_rows, call);
}

const struct mf_op_calls mf_op_pool_cpu = {.forward = pool_forward, .backward = pool_backward};

/* -- upsample -- */

/* Rows [from, to) of all images of x; each becomes two of y. */
static void upsample_forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t width = call->in[0].shape.d[2], c = call->in[0].shape.d[3], row = 2 * width * c;

    for (size_t r = from; r < to; ++r) {
        const float *x = (const float *)call->in[0].at + r * width * c;
        float *y = (float *)call->out[0].at + 2 * r * row;

        for (size_t j = 0; j < 2 * width; ++j) mf_cpu_move(x + j / 2 * c, y + j * c, c, 0);
        mf_cpu_move(y, y + row, row, 0);
    }
}

static void upsample_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *x = call->in[0].shape.d;

    mf_cpu_rows(queue, x[0] * x[1], 4 * x[2] * x[3], upsample_forward_rows, call);
}

/* dx of one row: sums of 2 x 2 numbers. */
MF_CPU_FAST static void gather_row(const float *upper, const float *lower, float *dx, size_t pixels, size_t c, int add)
{
    for (size_t p = 0; p < pixels; ++p) {
        const float *a = upper + 2 * p * c, *b = lower + 2 * p * c;

        if (add)
#pragma omp simd
            for (size_t i = 0; i < c; ++i) dx[p * c + i] += (a[i] + a[c + i]) + (b[i] + b[c + i]);
        else
#pragma omp simd
            for (size_t i = 0; i < c; ++i) dx[p * c + i] = (a[i] + a[c + i]) + (b[i] + b[c + i]);
    }
}

static void upsample_backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t width = call->din[0].shape.d[2], c = call->din[0].shape.d[3], row = 2 * width * c;

    for (size_t r = from; r < to; ++r) {
        const float *dy = (const float *)call->dout.at + 2 * r * row;

        gather_row(dy, dy + row, (float *)call->din[0].at + r * width * c, width, c, (int)(call->add & 1));
    }
}

static void upsample_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *x = call->din[0].shape.d;

    mf_cpu_rows(queue, x[0] * x[1], 4 * x[2] * x[3], upsample_backward_rows, call);
}

const struct mf_op_calls mf_op_upsample_cpu = {.forward = upsample_forward, .backward = upsample_backward};

/* -- wrap -- */

/* Rows [from, to) of all images of y: the end of a row of x, the row, and its beginning. */
static void wrap_forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t *x = call->in[0].shape.d, pad = (size_t)call->attr->pad, rows = x[1] + 2 * pad, row = x[2] * x[3];
    const size_t side = pad * x[3];

    for (size_t r = from; r < to; ++r) {
        const size_t line = r / rows * x[1] + (r % rows + x[1] - pad) % x[1];
        const float *at = (const float *)call->in[0].at + line * row;
        float *y = (float *)call->out[0].at + r * (row + 2 * side);

        mf_cpu_move(at + row - side, y, side, 0);
        mf_cpu_move(at, y + side, row, 0);
        mf_cpu_move(at, y + side + row, side, 0);
    }
}

static void wrap_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *y = call->out[0].shape.d;

    mf_cpu_rows(queue, y[0] * y[1], y[2] * y[3], wrap_forward_rows, call);
}

/* Rows [from, to) of all images of x, each from those of y that show it. */
static void wrap_backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t *x = call->din[0].shape.d, pad = (size_t)call->attr->pad, rows = x[1] + 2 * pad, row = x[2] * x[3];
    const size_t side = pad * x[3];

    for (size_t r = from; r < to; ++r) {
        float *dx = (float *)call->din[0].at + r * row;

        if (!(call->add & 1)) memset(dx, 0, row * sizeof *dx);
        for (size_t at = (r % x[1] + pad) % x[1]; at < rows; at += x[1]) {
            const float *dy = (const float *)call->dout.at + (r / x[1] * rows + at) * (row + 2 * side);

            mf_cpu_move(dy + side, dx, row, 1);
            mf_cpu_move(dy, dx + row - side, side, 1);
            mf_cpu_move(dy + side + row, dx, side, 1);
        }
    }
}

static void wrap_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t *x = call->din[0].shape.d;

    mf_cpu_rows(queue, x[0] * x[1], x[2] * x[3], wrap_backward_rows, call);
}

const struct mf_op_calls mf_op_wrap_cpu = {.forward = wrap_forward, .backward = wrap_backward};

/* -- mean -- */

static void mean_forward_images(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_shape *x = &call->in[0].shape;
    const size_t c = mf_shape_last(x), pixels = mf_shape_rows(x) / x->d[0];

    for (size_t n = from; n < to; ++n)
        for (size_t at = 0; at < c; at += MF_STRIP) {
            const size_t columns = at + MF_STRIP < c ? MF_STRIP : c - at;
            double sum[MF_STRIP];

            mf_cpu_strip(MF_F32, (const float *)call->in[0].at + n * pixels * c + at, pixels, c, columns, sum);
            for (size_t i = 0; i < columns; ++i)
                ((float *)call->out[0].at)[n * c + at + i] = (float)(sum[i] / (double)pixels);
        }
}

static void mean_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_shape *x = &call->in[0].shape;

    mf_cpu_rows(queue, x->d[0], mf_shape_count(x) / x->d[0], mean_forward_images, call);
}

static void mean_backward_images(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_shape *x = &call->din[0].shape;
    const size_t c = mf_shape_last(x), pixels = mf_shape_rows(x) / x->d[0];

    for (size_t p = from * pixels; p < to * pixels; ++p)
        scale((const float *)call->dout.at + p / pixels * c, 1 / (float)pixels, (float *)call->din[0].at + p * c, c,
              (int)(call->add & 1));
}

static void mean_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_shape *x = &call->din[0].shape;

    mf_cpu_rows(queue, x->d[0], mf_shape_count(x) / x->d[0], mean_backward_images, call);
}

const struct mf_op_calls mf_op_mean_cpu = {.forward = mean_forward, .backward = mean_backward};
