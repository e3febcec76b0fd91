/* Oracles and cases of the operations of images: convolution, group norm, means. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "tests/unit/net_ops.h"

/* Sum of one output at (i, j) of an image, in padded pixels: weights @p w are [w[1]][w[2]][w[3]]. */
static double window(const double *image, const size_t x[], size_t i, size_t j, size_t pad, const double *weight,
                     const size_t w[])
{
    double sum = 0;

    for (size_t r = 0; r < w[2]; ++r)
        for (size_t s = 0; s < w[3]; ++s) {
            const double *pixel = image + ((i + r - pad) * x[2] + j + s - pad) * x[3];

            if (i + r < pad || i + r >= x[1] + pad || j + s < pad || j + s >= x[2] + pad) continue;
            for (size_t c = 0; c < w[1]; ++c) sum += weight[(c * w[2] + r) * w[3] + s] * pixel[c];
        }
    return sum;
}

static void conv2d(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *x = shape[0].d, *w = shape[1].d, stride = (size_t)attr->stride, pad = (size_t)attr->pad;
    const size_t rows = (x[1] + 2 * pad - w[2]) / stride + 1, columns = (x[2] + 2 * pad - w[3]) / stride + 1;

    for (size_t image = 0; image < x[0]; ++image)
        for (size_t p = 0; p < rows; ++p)
            for (size_t q = 0; q < columns; ++q)
                for (size_t o = 0; o < w[0]; ++o) {
                    const double *weight = in[1] + o * w[1] * w[2] * w[3];

                    *out++ =
                        net_act(attr->act, (in[2] ? in[2][o] : 0) + window(in[0] + image * x[1] * x[2] * x[3], x,
                                                                           p * stride, q * stride, pad, weight, w));
                }
}

static void conv_depthwise(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *x = shape[0].d, *w = shape[1].d, one[] = {x[0], x[1], x[2], 1};
    const size_t pad = (size_t)attr->pad, rows = x[1] + 2 * pad - w[2] + 1, columns = x[2] + 2 * pad - w[3] + 1;
    double *channel = MF_MUST(malloc(x[1] * x[2] * sizeof *channel), "a channel");

    for (size_t image = 0; image < x[0]; ++image)
        for (size_t c = 0; c < x[3]; ++c) {
            for (size_t i = 0; i < x[1] * x[2]; ++i) channel[i] = in[0][(image * x[1] * x[2] + i) * x[3] + c];
            for (size_t p = 0; p < rows; ++p)
                for (size_t q = 0; q < columns; ++q)
                    out[((image * rows + p) * columns + q) * x[3] + c] =
                        (in[2] ? in[2][c] : 0) + window(channel, one, p, q, pad, in[1] + c * w[2] * w[3], w);
        }
    free(channel);
}

static void group_norm(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t c = mf_shape_last(&shape[0]), size = c / (size_t)attr->groups, images = shape[0].d[0];
    const size_t each = mf_shape_count(&shape[0]) / images;

    for (size_t image = 0; image < images; ++image)
        for (size_t group = 0; group < c; group += size) {
            const double *x = in[0] + image * each + group, n = (double)(each / c * size);
            double mean = 0, squares = 0;

            for (size_t i = 0; i < each / c * size; ++i) mean += x[i / size * c + i % size] / n;
            for (size_t i = 0; i < each / c * size; ++i) squares += pow(x[i / size * c + i % size] - mean, 2) / n;
            for (size_t i = 0; i < each / c * size; ++i) {
                const size_t at = i / size * c + i % size, channel = group + i % size;
                const double y = (x[at] - mean) / sqrt(squares + 1e-5) * in[1][channel] + in[2][channel];
                const double *st = in[3] ? in[3] + image * 2 * c + channel : NULL;

                out[image * each + group + at] = net_act(attr->act, st ? y * (1 + st[0]) + st[c] : y);
            }
        }
}

static void modulate(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t c = mf_shape_last(&shape[0]), each = mf_shape_count(&shape[0]) / shape[0].d[0];

    (void)attr;
    for (size_t at = 0; at < mf_shape_count(&shape[0]); ++at) {
        const double *of = in[1] + at / each * 2 * c + at % c;

        out[at] = in[0][at] * (1 + of[0]) + of[c];
    }
}

static void pool(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *x = shape[0].d, rows = x[1] / 2, columns = x[2] / 2, c = x[3];

    (void)attr;
    for (size_t at = 0; at < x[0] * rows * columns * c; ++at) {
        const size_t image = at / c / columns / rows, i = at / c / columns % rows * 2, j = at / c % columns * 2;
        const double *from = in[0] + ((image * x[1] + i) * x[2] + j) * c + at % c;

        out[at] = (from[0] + from[c] + from[x[2] * c] + from[x[2] * c + c]) / 4;
    }
}

static void upsample(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *x = shape[0].d, rows = 2 * x[1], columns = 2 * x[2], c = x[3];

    (void)attr;
    for (size_t at = 0; at < x[0] * rows * columns * c; ++at) {
        const size_t image = at / c / columns / rows, i = at / c / columns % rows / 2, j = at / c % columns / 2;

        out[at] = in[0][((image * x[1] + i) * x[2] + j) * c + at % c];
    }
}

static void wrap(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t *x = shape[0].d, pad = (size_t)attr->pad, rows = x[1] + 2 * pad, columns = x[2] + 2 * pad, c = x[3];

    for (size_t at = 0; at < x[0] * rows * columns * c; ++at) {
        const size_t image = at / c / columns / rows, i = at / c / columns % rows, j = at / c % columns;

        out[at] =
            in[0][((image * x[1] + (i + 7 * x[1] - pad) % x[1]) * x[2] + (j + 7 * x[2] - pad) % x[2]) * c + at % c];
    }
}

static void mean(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = shape[0].d[0], c = mf_shape_last(&shape[0]), pixels = mf_shape_rows(&shape[0]) / n;

    (void)attr;
    for (size_t at = 0; at < n * c; ++at) {
        out[at] = 0;
        for (size_t p = 0; p < pixels; ++p) out[at] += in[0][(at / c * pixels + p) * c + at % c] / (double)pixels;
    }
}

const struct net_case net_image[] = {
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 1}, 7, .in = {F(4, 2, 5, 4, 3), F(4, 7, 3, 3, 3), F(1, 7)}},
    {MF_OP_CONV2D, conv2d, {.stride = 2, .pad = 1}, 7, .in = {F(4, 1, 7, 6, 4), F(4, 5, 4, 3, 3), F(1, 5)}},
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 0}, 3, .in = {F(4, 3, 3, 4, 6), F(4, 17, 6, 1, 1)}},
    {MF_OP_CONV2D, conv2d, {.stride = 2, .pad = 0}, 6, .in = {F(4, 2, 6, 5, 3), F(4, 4, 3, 1, 1), F(1, 4)}},
    {MF_OP_CONV2D, conv2d, {.stride = 2, .pad = 0}, 7, .in = {F(4, 5, 6, 8, 4), F(4, 8, 4, 1, 1), F(1, 8)}},
    {MF_OP_CONV2D, conv2d, {.stride = 4, .pad = 0}, 5, .in = {F(4, 2, 8, 9, 3), F(4, 6, 3, 4, 4), F(1, 6)}},
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 2}, 1, .in = {F(4, 1, 6, 3, 2), F(4, 3, 2, 5, 5), F(1, 3)}},
    {MF_OP_CONV2D,
     conv2d,
     {.stride = 1, .pad = 1, .act = MF_ACT_RELU},
     7,
     .in = {F(4, 1, 5, 4, 3), F(4, 7, 3, 3, 3), F(1, 7)}},
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 1, .act = MF_ACT_SILU}, 3, .in = {F(4, 1, 5, 4, 3), F(4, 7, 3, 3, 3)}},
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 1}, 7, .in = {F(4, 9, 5, 3, 8), F(4, 16, 8, 3, 3), F(1, 16)}},
    {MF_OP_CONV2D, conv2d, {.stride = 2, .pad = 1}, 3, .in = {F(4, 3, 7, 6, 16), F(4, 8, 16, 3, 3)}},
    {MF_OP_CONV2D,
     conv2d,
     {.stride = 1, .pad = 1, .act = MF_ACT_RELU},
     7,
     .in = {F(4, 2, 4, 5, 8), F(4, 8, 8, 3, 3), F(1, 8)}},
    {MF_OP_CONV2D, conv2d, {.stride = 1, .pad = 1}, 7, .in = {F(4, 16, 4, 4, 2), F(4, 16, 2, 3, 3), F(1, 16)}},
    {MF_OP_CONV_DEPTHWISE,
     conv_depthwise,
     {.stride = 1, .pad = 3},
     7,
     .in = {F(4, 2, 5, 4, 9), F(4, 9, 1, 7, 7), F(1, 9)}},
    {MF_OP_CONV_DEPTHWISE, conv_depthwise, {.stride = 1, .pad = 3}, 3, .in = {F(4, 1, 3, 11, 8), F(4, 8, 1, 7, 7)}},
    {MF_OP_CONV_DEPTHWISE,
     conv_depthwise,
     {.stride = 1, .pad = 1},
     7,
     .in = {F(4, 3, 4, 5, 8), F(4, 8, 1, 3, 3), F(1, 8)}},
    {MF_OP_CONV_DEPTHWISE,
     conv_depthwise,
     {.stride = 1, .pad = 1},
     6,
     .in = {F(4, 2, 7, 6, 8), F(4, 8, 1, 5, 2), F(1, 8)}},
    {MF_OP_CONV_DEPTHWISE,
     conv_depthwise,
     {.stride = 1, .pad = 0},
     5,
     .in = {F(4, 2, 6, 9, 8), F(4, 8, 1, 2, 5), F(1, 8)}},
    {MF_OP_CONV_DEPTHWISE, conv_depthwise, {.stride = 1, .pad = 3}, 1, .in = {F(4, 1, 3, 2, 24), F(4, 24, 1, 5, 5)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 2}, 7, .in = {F(4, 3, 4, 5, 6), F(1, 6), F(1, 6)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 5}, 6, .in = {F(3, 2, 9, 10), F(1, 10), F(1, 10)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 2, .act = MF_ACT_SILU}, 7, .in = {F(4, 2, 3, 5, 66), F(1, 66), F(1, 66)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 3, .act = MF_ACT_SILU}, 6, .in = {F(3, 2, 70, 3), F(1, 3), F(1, 3)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 1, .act = MF_ACT_RELU}, 1, .in = {F(4, 3, 2, 5, 4), F(1, 4), F(1, 4)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 2, .act = MF_ACT_SILU}, 7, .in = {F(4, 2, 3, 5, 8), F(1, 8), F(1, 8)}},
    {MF_OP_GROUP_NORM,
     group_norm,
     {.groups = 2, .act = MF_ACT_SILU},
     15,
     .in = {F(4, 2, 3, 5, 8), F(1, 8), F(1, 8), F(2, 2, 16)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 1}, 9, .in = {F(4, 3, 3, 5, 5), F(1, 5), F(1, 5), F(2, 3, 10)}},
    {MF_OP_GROUP_NORM, group_norm, {.groups = 2}, 7, .in = {F(3, 3, 4, 6), F(1, 6), F(1, 6), F(2, 3, 12)}},
    {MF_OP_MODULATE, modulate, {0}, 3, .in = {F(4, 3, 2, 5, 8), F(2, 3, 16)}},
    {MF_OP_MODULATE, modulate, {0}, 2, .in = {F(4, 2, 9, 8, 5), F(2, 2, 10)}},
    {MF_OP_MODULATE, modulate, {0}, 1, .in = {F(2, 3, 70), F(2, 3, 140)}},
    {MF_OP_POOL, pool, {0}, 1, .in = {F(4, 2, 4, 5, 8)}},
    {MF_OP_POOL, pool, {0}, 1, .in = {F(4, 2, 4, 6, 5)}},
    {MF_OP_POOL, pool, {0}, 1, .in = {F(4, 1, 5, 7, 3)}},
    {MF_OP_UPSAMPLE, upsample, {0}, 1, .in = {F(4, 2, 3, 5, 8)}},
    {MF_OP_UPSAMPLE, upsample, {0}, 1, .in = {F(4, 3, 4, 1, 3)}},
    {MF_OP_WRAP, wrap, {.pad = 1}, 1, .in = {F(4, 2, 3, 5, 8)}},
    {MF_OP_WRAP, wrap, {.pad = 2}, 1, .in = {F(4, 3, 2, 3, 3)}},
    {MF_OP_WRAP, wrap, {.pad = 1}, 1, .in = {F(4, 2, 1, 4, 1)}},
    {MF_OP_MEAN, mean, {0}, 1, .in = {F(4, 2, 20, 24, 4)}},
    {MF_OP_MEAN, mean, {0}, 1, .in = {F(4, 3, 9, 9, 7)}},
    {MF_OP_MEAN, mean, {0}, 1, .in = {F(4, 1, 2, 3, 70)}},
    {MF_OP_MEAN, mean, {0}, 1, .in = {F(3, 4, 11, 9)}},
    {0}};
