/* Losses: one number, a sum over rows divided by number MF_NUMBER_ROWS + attr.head, so that micro-batches and ranks add
 * up to the mean. softmax_loss: logits [rows][classes], labels [rows] i32; rows with a negative label do not count.
 * attr.smoothing s is PyTorch's label smoothing: each class has the target s / classes, and the label 1 - s more.
 * Saved: the logarithm of the sum of exponentials, and the loss, of every row.
 *
 * squared_loss: the mean of (a - b)^2 over a row's numbers, times the row's weight in[2] [rows] if it is there. A
 * number whose b is NaN adds nothing.
 *
 * logistic_loss: the mean of log(1 + e^x) - t x over a row's numbers. It is minus the logarithm of the probability that
 * a logit x gives its target t, 0 or 1. A number whose t is NaN adds nothing. Where some numbers of a row are
 * NaN, tensors are flat for a mean over what counts. A number is a row then, and MF_NUMBER_ROWS counts the others.
 *
 * match_loss: samples x [rows][..] move to where a denoiser of real samples, and not that of made ones, takes them. It
 * is half the mean of g^2 over a row's numbers, with g = (made - real) / mean of |x - real| over the row. Where g is
 * not finite it is 0, so a row adds nothing where x or real holds a NaN. The gradient takes x - g for a constant
 * target. Saved: that mean, and the loss, of every row. (Yin et al., "One-step diffusion with distribution matching
 * distillation", CVPR 2024.) */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static const struct mf_shape one = {.type = MF_F32, .n = 1, .d = {1}};

static int softmax_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n != 2 || in[1].n != 1 || in[1].type != MF_I32 || in[1].d[0] != in[0].d[0])
        return mf_fail(MF_USAGE, "it has %zu rows and %zu labels", in[0].d[0], in[1].d[0]);
    out[0] = one;
    out[1] = (struct mf_shape){.type = MF_F32, .n = 2, .d = {in[0].d[0], 2}};
    return MF_OK;
}

static void softmax_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 3;
    *out = 2;
}

static int logistic_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 1 || mf_shape_count(&in[0]) != mf_shape_count(&in[1]))
        return mf_fail(MF_USAGE, "it has %zu logits and %zu targets", mf_shape_count(&in[0]), mf_shape_count(&in[1]));
    out[0] = one;
    return MF_OK;
}

static int squared_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (mf_shape_count(&in[0]) != mf_shape_count(&in[1]))
        return mf_fail(MF_USAGE, "it compares %zu numbers with %zu", mf_shape_count(&in[0]), mf_shape_count(&in[1]));
    if (in[2].n && mf_shape_count(&in[2]) != in[0].d[0])
        return mf_fail(MF_USAGE, "it has %zu rows and %zu weights", in[0].d[0], mf_shape_count(&in[2]));
    out[0] = one;
    return MF_OK;
}

static void squared_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 7;
    *out = 0;
}

const struct mf_op mf_op_softmax_loss = {
    .name = "softmax_loss", .shape = softmax_shape, .reads = softmax_reads, .f32 = 1};
const struct mf_op mf_op_squared_loss = {
    .name = "squared_loss", .shape = squared_shape, .reads = squared_reads, .f32 = 7, .constant = 4};

static int match_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 1) return mf_fail(MF_USAGE, "it has no samples");
    for (int j = 1; j < 3; ++j)
        if (mf_shape_count(&in[j]) != mf_shape_count(&in[0]))
            return mf_fail(MF_USAGE, "it compares %zu numbers with %zu", mf_shape_count(&in[0]),
                           mf_shape_count(&in[j]));
    out[0] = one;
    out[1] = (struct mf_shape){.type = MF_F32, .n = 2, .d = {in[0].d[0], 2}};
    return MF_OK;
}

static void match_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 6;
    *out = 2;
}

const struct mf_op mf_op_match_loss = {
    .name = "match_loss", .shape = match_shape, .reads = match_reads, .f32 = 7, .constant = 6};
const struct mf_op mf_op_logistic_loss = {
    .name = "logistic_loss", .shape = logistic_shape, .reads = squared_reads, .f32 = 3, .constant = 2};
