/* conv2d: y = act(x * w + b). x [n][height][width][c], w [o][c][kh][kw], b [o] or none, y [n][height'][width'][o], with
 * height' = (height + 2 pad - kh) / stride + 1, rounded down. Backward and what it keeps: as linear.
 *
 * conv_depthwise: y = x * w + b, where each channel has a window of its own. The weights are w [c][1][kh][kw], and b
 * [c] may be missing. PyTorch says it with as many groups as channels. The stride is 1, and the padding is less than
 * the window. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* Extent of an axis of y; 0: the window is wider than the image. */
static size_t places(const struct mf_attr *attr, size_t extent, size_t window)
{
    const size_t padded = extent + 2 * (size_t)attr->pad;

    return padded < window ? 0 : (padded - window) / (size_t)attr->stride + 1;
}

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const size_t *x = in[0].d, *w = in[1].d;

    if (in[0].n != 4 || in[1].n != 4 || x[3] != w[1])
        return mf_fail(MF_USAGE, "its input has %zu channels, its weights %zu", in[0].n ? mf_shape_last(&in[0]) : 0,
                       w[1]);
    if (in[2].n && (in[2].n != 1 || in[2].d[0] != w[0]))
        return mf_fail(MF_USAGE, "its bias has %zu numbers, its weights %zu rows", in[2].d[0], w[0]);
    if (attr->stride < 1 || attr->pad < 0 || !places(attr, x[1], w[2]) || !places(attr, x[2], w[3]))
        return mf_fail(MF_USAGE, "its window of %zu x %zu does not fit into %zu x %zu (stride %d, padding %d)", w[2],
                       w[3], x[1], x[2], attr->stride, attr->pad);
    out[0] = (struct mf_shape){
        .type = in[0].type, .n = 4, .d = {x[0], places(attr, x[1], w[2]), places(attr, x[2], w[3]), w[0]}};
    if (mf_act_keeps(attr)) out[1] = out[0];
    return MF_OK;
}

const struct mf_op mf_op_conv2d = {.name = "conv2d",
                                   .shape = shape,
                                   .reads = mf_product_reads,
                                   .operations = mf_linear_operations,
                                   .shared = 6,
                                   .f32 = 4,
                                   .consumes = 1};

static int depthwise_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const size_t *x = in[0].d, *w = in[1].d, window = w[2] < w[3] ? w[2] : w[3];

    if (in[0].n != 4 || in[1].n != 4 || w[0] != x[3] || w[1] != 1)
        return mf_fail(MF_USAGE, "it has a window for each channel: %zu channels, weights of %zu x %zu windows",
                       in[0].n ? mf_shape_last(&in[0]) : 0, w[0], w[1]);
    if (in[2].n && (in[2].n != 1 || in[2].d[0] != x[3]))
        return mf_fail(MF_USAGE, "its bias has %zu numbers, its input %zu channels", in[2].d[0], x[3]);
    if (attr->stride != 1)
        return mf_fail(MF_USAGE, "it has stride %d; with a window for each channel: 1", attr->stride);
    if (attr->pad < 0 || (size_t)attr->pad >= window || !places(attr, x[1], w[2]) || !places(attr, x[2], w[3]))
        return mf_fail(MF_USAGE, "its window of %zu x %zu does not fit into %zu x %zu (padding %d)", w[2], w[3], x[1],
                       x[2], attr->pad);
    out[0] = (struct mf_shape){
        .type = in[0].type, .n = 4, .d = {x[0], places(attr, x[1], w[2]), places(attr, x[2], w[3]), x[3]}};
    return MF_OK;
}

const struct mf_op mf_op_conv_depthwise = {.name = "conv_depthwise",
                                           .shape = depthwise_shape,
                                           .reads = mf_product_reads,
                                           .operations = mf_linear_operations,
                                           .shared = 6,
                                           .f32 = 4,
                                           .adds = 1};
