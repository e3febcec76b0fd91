/* Norms. layer_norm: y = (x - mean) / sqrt(variance + attr.epsilon) * g + b over the last axis. x [..][d], g and b [d].
 * Saved: mean and 1 / deviation of every row. (Ba, Kiros, Hinton, "Layer normalization", 2016.)
 * rms_norm: y = x / sqrt(mean of x^2 + attr.epsilon) * g. Saved: 1 / sqrt(..) of every row. (Zhang, Sennrich, "Root
 * mean square layer normalization", NeurIPS 2019.) group_norm is layer_norm over the pixels and channels of a group.
 * modulate, if in[3] is there, and an activation follow. x [n][..][c], g and b [c]; attr.groups divides c. Saved: mean
 * and 1 / deviation of every group of every image. (Wu, He, "Group normalization", ECCV 2018.) modulate: y = x (1 + s)
 * + t. x [n][..][c]; in[1] [n][2 c]: first s, then t, of each sample and channel. (Dhariwal, Nichol, "Diffusion models
 * beat GANs on image synthesis", 2021: adaptive group normalization.) */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* @p weights: g, or g and b. So many numbers of a row are saved. */
static int row_shape(const struct mf_shape in[], int weights, struct mf_shape out[])
{
    for (int i = 1; i <= weights; ++i)
        if (in[0].n < 1 || in[i].n != 1 || in[i].d[0] != mf_shape_last(&in[0]))
            return mf_fail(MF_USAGE, "its weights have %zu numbers, the last axis of its input %zu", in[i].d[0],
                           in[0].n ? mf_shape_last(&in[0]) : 0);
    out[0] = in[0];
    out[1] = (struct mf_shape){.type = MF_F32, .n = 2, .d = {mf_shape_rows(&in[0]), (size_t)weights}};
    return MF_OK;
}

static int layer_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    return row_shape(in, 2, out);
}

static int rms_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    return row_shape(in, 1, out);
}

/* @p st: s and t of the channels of @p x. */
static int check_modulation(const struct mf_shape *x, const struct mf_shape *st)
{
    if (x->n < 2 || st->n != 2 || st->d[0] != x->d[0] || st->d[1] != 2 * mf_shape_last(x))
        return mf_fail(MF_USAGE, "what modulates it is not [samples][2 channels] of its first input");
    return MF_OK;
}

static int group_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const size_t c = in[0].n > 1 ? mf_shape_last(&in[0]) : 0;

    for (int i = 1; i < 3; ++i)
        if (in[i].n != 1 || in[i].d[0] != c)
            return mf_fail(MF_USAGE, "its weights have %zu numbers, its input %zu channels", in[i].d[0], c);
    if (in[3].n) MF_TRY(check_modulation(&in[0], &in[3]));
    if (attr->groups < 1 || c % (size_t)attr->groups != 0)
        return mf_fail(MF_USAGE, "its %zu channels are not divided by %d groups", c, attr->groups);
    out[0] = in[0];
    out[1] = (struct mf_shape){.type = MF_F32, .n = 3, .d = {in[0].d[0], (size_t)attr->groups, 2}};
    return MF_OK;
}

static void reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr;
    *in = 1 | (wanted & 1 ? 2U : 0);
    *out = 2;
}

/* The inputs of the activation, and the factor of s, follow from all inputs. */
static void group_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    *in = attr->act || wanted & 8 ? 15 : 11;
    *out = 2;
}

static int modulate_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    MF_TRY(check_modulation(&in[0], &in[1]));
    out[0] = in[0];
    return MF_OK;
}

static double operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return 8.0 * (double)mf_shape_count(out);
}

const struct mf_op mf_op_layer_norm = {.name = "layer_norm",
                                       .shape = layer_shape,
                                       .reads = reads,
                                       .operations = operations,
                                       .shared = 6,
                                       .f32 = 6,
                                       .back_over = 1,
                                       .adds = 1,
                                       .cheap = 1};
const struct mf_op mf_op_rms_norm = {.name = "rms_norm",
                                     .shape = rms_shape,
                                     .reads = reads,
                                     .operations = operations,
                                     .shared = 2,
                                     .f32 = 2,
                                     .back_over = 1,
                                     .adds = 1,
                                     .cheap = 1};
const struct mf_op mf_op_group_norm = {.name = "group_norm",
                                       .shape = group_shape,
                                       .reads = group_reads,
                                       .operations = operations,
                                       .shared = 6,
                                       .f32 = 6,
                                       .back_over = 1,
                                       .adds = 9,
                                       .cheap = 1,
                                       .consumes = 1};
const struct mf_op mf_op_modulate = {.name = "modulate",
                                     .shape = modulate_shape,
                                     .reads = mf_product_reads,
                                     .over = 1,
                                     .back_over = 1,
                                     .adds = 3,
                                     .cheap = 1};
