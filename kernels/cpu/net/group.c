/* group_norm on cpu. See kernels/net/norm.c. Each image belongs to one thread. Sums over a block of pixels are floats;
 * doubles sum the blocks. */
#include <math.h>

#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/net.h"
#include "kernels/form/norm.h"
#include "src/base/err.h"

/* Work memory of one image: arrays of one number a channel. */
struct room {
    /* sums over the pixels: of x and x^2, counted from the first pixel; in backward of dy and dy (x - mean) */
    double *first, *second;
    float *mean, *scale;  /* y = (x - mean) scale + level */
    float *slope, *level; /* then: dx = scale dy + slope (x - mean) + level */
    float *unit;          /* y of one pixel */
};

static size_t room_bytes(size_t channels)
{
    return mf_whole_lines(channels * (2 * sizeof(double) + 5 * sizeof(float)));
}

static struct room room_of(const struct mf_call *call, size_t image, size_t c)
{
    double *const sums = (double *)((char *)call->work + image * room_bytes(c));
    float *const rest = (float *)(sums + 2 * c);

    return (struct room){sums, sums + c, rest, rest + c, rest + 2 * c, rest + 3 * c, rest + 4 * c};
}

static size_t pixels_of(const struct mf_shape *x) { return mf_shape_rows(x) / x->d[0]; }

/* -- forward -- */

/* Sums of x - shift and of its square over the pixels, for at most MF_STRIP channels. */
MF_CPU_FAST static void moments(const float *x, size_t pixels, size_t c, size_t columns, double *first, double *second)
{
    float shift[MF_STRIP];

    for (size_t i = 0; i < columns; ++i) {
        shift[i] = x[i];
        first[i] = second[i] = 0;
    }
    for (size_t at = 0; at < pixels; at += MF_BLOCK) {
        const size_t end = at + MF_BLOCK < pixels ? at + MF_BLOCK : pixels;
        float sum[MF_STRIP] = {0}, squares[MF_STRIP] = {0};

        for (size_t p = at; p < end; ++p)
#pragma omp simd
            for (size_t i = 0; i < columns; ++i) {
                const float d = x[p * c + i] - shift[i];

                sum[i] += d;
                squares[i] += d * d;
            }
        for (size_t i = 0; i < columns; ++i) {
            first[i] += (double)sum[i];
            second[i] += (double)squares[i];
        }
    }
}

/* Mean and 1 / deviation of a group of channels from the sums of each; @p x: the first pixel. */
static void group_statistics(const float *x, const struct room *room, size_t from, size_t to, double pixels,
                             float saved[2])
{
    const double n = pixels * (double)(to - from);
    double mean = 0, squares = 0;

    for (size_t i = from; i < to; ++i) mean += room->first[i] + pixels * (double)x[i];
    mean /= n;
    for (size_t i = from; i < to; ++i) { /* about the mean of the group instead of the first pixel */
        const double d = mean - (double)x[i];

        squares += room->second[i] - 2 * d * room->first[i] + pixels * d * d;
    }
    saved[0] = (float)mean;
    saved[1] = (float)(1 / sqrt(squares / n + MF_NORM_EPSILON));
}

/* s of an image, and t behind; NULL: it is not modulated. */
static const float *modulation(const struct mf_call *call, size_t image)
{
    return call->in[3].at ? (const float *)call->in[3].at + image * 2 * mf_shape_last(&call->in[0].shape) : NULL;
}

/* The factor of g and b. */
static float gain(const float *st, size_t i) { return st ? 1 + st[i] : 1; }

/* Mean, scale and level of every channel. */
static void spread(const struct mf_call *call, size_t image, const float *saved, const struct room *room,
                   size_t channels)
{
    const size_t size = channels / (size_t)call->attr->groups;
    const float *g = call->in[1].at, *b = call->in[2].at, *st = modulation(call, image);

    for (size_t i = 0; i < channels; ++i) {
        room->mean[i] = saved[2 * (i / size)];
        room->scale[i] = saved[2 * (i / size) + 1] * (g[i] * gain(st, i));
        if (b) room->level[i] = st ? b[i] * gain(st, i) + st[channels + i] : b[i];
    }
}

MF_CPU_FAST static void normalise(const float *x, const struct room *room, float *y, size_t pixels, size_t c)
{
    const float *mean = room->mean, *scale = room->scale, *level = room->level;

    for (size_t p = 0; p < pixels; ++p)
#pragma omp simd
        for (size_t i = 0; i < c; ++i) y[p * c + i] = mf_group_value(x[p * c + i], mean[i], scale[i], level[i]);
}

static void forward_images(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = mf_shape_last(&call->in[0].shape), groups = (size_t)call->attr->groups;
    const size_t pixels = pixels_of(&call->in[0].shape);

    for (size_t n = from; n < to; ++n) {
        const struct room room = room_of(call, n, c);
        const float *x = (const float *)call->in[0].at + n * pixels * c;
        float *y = (float *)call->out[0].at + n * pixels * c, *saved = (float *)call->out[1].at + 2 * n * groups;

        for (size_t at = 0; at < c; at += MF_STRIP)
            moments(x + at, pixels, c, at + MF_STRIP < c ? MF_STRIP : c - at, room.first + at, room.second + at);
        for (size_t k = 0; k < groups; ++k)
            group_statistics(x, &room, k * (c / groups), (k + 1) * (c / groups), (double)pixels, saved + 2 * k);
        spread(call, n, saved, &room, c);
        for (size_t at = 0; at < pixels; at += MF_BLOCK) {
            const size_t count = at + MF_BLOCK < pixels ? MF_BLOCK : pixels - at;

            normalise(x + at * c, &room, y + at * c, count, c);
            mf_act_forward(call->attr->act, y + at * c, y + at * c, count * c);
        }
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t images = call->in[0].shape.d[0];

    mf_cpu_rows(queue, images, mf_shape_count(&call->in[0].shape) / images, forward_images, call);
}

/* -- backward -- */

/* Where the gradient before the activation is kept: in memory that backward writes anyway, or else in work memory. */
static int works_apart(const struct mf_call *call)
{
    return call->attr->act && !call->own && (!call->din[0].shape.n || call->add & 1);
}

static float *slopes_of(const struct mf_call *call)
{
    const struct mf_shape *x = &call->in[0].shape;

    if (works_apart(call)) return (float *)(void *)((char *)call->work + x->d[0] * room_bytes(mf_shape_last(x)));
    return call->own || !call->attr->act ? call->dout.at : call->din[0].at;
}

/* dy through the activation, whose input is computed again, pixel by pixel. */
static void through(const struct mf_call *call, const struct room *room, const float *x, const float *dy, float *slope,
                    size_t pixels, size_t c)
{
    for (size_t p = 0; p < pixels; ++p) {
        normalise(x + p * c, room, room->unit, 1, c);
        mf_act_backward(call->attr->act, room->unit, dy + p * c, slope + p * c, c, 0);
    }
}

/* Sums of dy and dy (x - mean) over the pixels, for at most MF_STRIP channels. */
MF_CPU_FAST static void products(const float *x, const float *dy, const float *mean, size_t pixels, size_t c,
                                 size_t columns, double *first, double *second)
{
    for (size_t i = 0; i < columns; ++i) first[i] = second[i] = 0;
    for (size_t at = 0; at < pixels; at += MF_BLOCK) {
        const size_t end = at + MF_BLOCK < pixels ? at + MF_BLOCK : pixels;
        float sum[MF_STRIP] = {0}, product[MF_STRIP] = {0};

        for (size_t p = at; p < end; ++p)
#pragma omp simd
            for (size_t i = 0; i < columns; ++i) {
                sum[i] += dy[p * c + i];
                product[i] += dy[p * c + i] * (x[p * c + i] - mean[i]);
            }
        for (size_t i = 0; i < columns; ++i) {
            first[i] += (double)sum[i];
            second[i] += (double)product[i];
        }
    }
}

/* Coefficients of dx in a group: dx = r (g dy - mean(g dy) - h mean(h g dy)), h = (x - mean) r. */
static void group_coefficients(const struct room *room, size_t from, size_t to, double pixels, double r)
{
    const double n = pixels * (double)(to - from);
    double first = 0, second = 0;

    for (size_t i = from; i < to; ++i) {
        first += (double)room->scale[i] * room->first[i];
        second += (double)room->scale[i] * room->second[i];
    }
    for (size_t i = from; i < to; ++i) {
        room->level[i] = (float)(-first / n);
        room->slope[i] = (float)(-second * r * r / n);
    }
}

MF_CPU_FAST static void combine(const float *x, const float *dy, const struct room *room, float *dx, size_t pixels,
                                size_t c, int add)
{
    const float *mean = room->mean, *scale = room->scale, *slope = room->slope, *level = room->level;

    for (size_t p = 0; p < pixels * c; p += c)
        if (add)
#pragma omp simd
            for (size_t i = 0; i < c; ++i)
                dx[p + i] += mf_group_slope(x[p + i], mean[i], scale[i], dy[p + i], slope[i], level[i]);
        else
#pragma omp simd
            for (size_t i = 0; i < c; ++i)
                dx[p + i] = mf_group_slope(x[p + i], mean[i], scale[i], dy[p + i], slope[i], level[i]);
}

/* Gradients of s and t: of what the norm gave without them, and of 1. */
static void backward_modulation(const struct mf_call *call, size_t image, const float *saved, const struct room *room,
                                size_t c)
{
    const size_t size = c / (size_t)call->attr->groups;
    const float *g = call->in[1].at, *b = call->in[2].at;
    float *ds = (float *)call->din[3].at + image * 2 * c;
    const int add = (int)(call->add >> 3 & 1);

    for (size_t i = 0; i < c; ++i) {
        const double scale = (double)saved[2 * (i / size) + 1] * (double)g[i];

        ds[i] = (float)((add ? (double)ds[i] : 0) + scale * room->second[i] + (double)b[i] * room->first[i]);
        ds[c + i] = (float)((add ? (double)ds[c + i] : 0) + room->first[i]);
    }
}

static void backward_images(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = mf_shape_last(&call->in[0].shape), groups = (size_t)call->attr->groups, size = c / groups;
    const size_t pixels = pixels_of(&call->in[0].shape);

    for (size_t n = from; n < to; ++n) {
        const struct room room = room_of(call, n, c);
        const float *x = (const float *)call->in[0].at + n * pixels * c;
        const float *saved = (const float *)call->out[1].at + 2 * n * groups;
        float *slope = slopes_of(call) + n * pixels * c;

        spread(call, n, saved, &room, c);
        if (call->attr->act) through(call, &room, x, (const float *)call->dout.at + n * pixels * c, slope, pixels, c);
        for (size_t at = 0; at < c; at += MF_STRIP)
            products(x + at, slope + at, room.mean + at, pixels, c, at + MF_STRIP < c ? MF_STRIP : c - at,
                     room.first + at, room.second + at);
        if (call->din[3].at) backward_modulation(call, n, saved, &room, c);
        if (!call->din[0].at) continue;
        for (size_t k = 0; k < groups; ++k)
            group_coefficients(&room, k * size, (k + 1) * size, (double)pixels, (double)saved[2 * k + 1]);
        combine(x, slope, &room, (float *)call->din[0].at + n * pixels * c, pixels, c, (int)(call->add & 1));
    }
}

/* Gradients of g and b: sums over the images, in their order. */
static void backward_weights(const struct mf_call *call)
{
    const size_t c = mf_shape_last(&call->in[0].shape), images = call->in[0].shape.d[0];
    const size_t groups = (size_t)call->attr->groups;
    const float *saved = call->out[1].at;
    float *dg = call->din[1].at, *db = call->din[2].at;

    for (size_t i = 0; i < c; ++i) {
        double g = dg && call->add & 2 ? (double)dg[i] : 0, b = db && call->add & 4 ? (double)db[i] : 0;

        for (size_t n = 0; n < images; ++n) {
            const struct room room = room_of(call, n, c);
            const double times = (double)gain(modulation(call, n), i);

            g += times * room.second[i] * (double)saved[2 * (n * groups + i / (c / groups)) + 1];
            b += times * room.first[i];
        }
        if (dg) dg[i] = (float)g;
        if (db) db[i] = (float)b;
    }
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t images = call->in[0].shape.d[0];

    mf_cpu_rows(queue, images, mf_shape_count(&call->in[0].shape) / images, backward_images, call);
    backward_weights(call);
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const struct mf_shape *x = &call->in[0].shape;

    (void)queue;
    *made = NULL;
    *work = x->d[0] * room_bytes(mf_shape_last(x)) + (back && works_apart(call) ? mf_shape_bytes(x) : 0);
    return MF_OK;
}

const struct mf_op_calls mf_op_group_norm_cpu = {.plan = plan, .forward = forward, .backward = backward};
