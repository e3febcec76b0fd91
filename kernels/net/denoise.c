/* Networks that denoise (Karras et al., "Elucidating the design space of diffusion-based generative models", 2022).
 * Everything here is f32, also where activations have 16 bits. Noise may be 160 times as large as the image.
 *
 * blend: y = a x + b z, with one a and one b for each sample. The shapes are x [n][..], z as x, a and b [n]. Without z
 * and b it is y = a x.
 *
 * normal: independent standard normal numbers, y [n][attr.numbers], or the shape of in[0] where that is 0. Only the
 * number of samples is taken from in[0]. The seed, the step, attr.stream, the number of the sample in the run, and the
 * place in the sample make a number.
 *
 * quantise: bytes from numbers between -1 and 1, so that only bytes leave a device. With attr.levels 0 they are phases,
 * y [n][..]: the first of the largest channels. One channel has phase 1 above 0. With 256 they are grey values or
 * colours, y [n][..][c]: (x + 1) 127.5 within 0 and 255, cut off. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static double few(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return 3 * (double)mf_shape_count(out);
}

/* -- blend -- */

static int blend_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 1 || !in[1].n != !in[3].n) return mf_fail(MF_USAGE, "it blends two tensors with two factors, or one");
    if (in[1].n && mf_shape_count(&in[1]) != mf_shape_count(&in[0]))
        return mf_fail(MF_USAGE, "it blends %zu numbers with %zu", mf_shape_count(&in[0]), mf_shape_count(&in[1]));
    for (int j = 2; j < 4; ++j)
        if (in[j].n ? mf_shape_count(&in[j]) != in[0].d[0] : j == 2)
            return mf_fail(MF_USAGE, "it has %zu samples and %zu factors", in[0].d[0], mf_shape_count(&in[j]));
    out[0] = in[0];
    return MF_OK;
}

static void blend_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr;
    *in = (wanted & 3) << 2;
    *out = 0;
}

const struct mf_op mf_op_blend = {.name = "blend",
                                  .shape = blend_shape,
                                  .reads = blend_reads,
                                  .operations = few,
                                  .f32 = 15,
                                  .constant = 12,
                                  .over = 3,
                                  .adds = 3,
                                  .cheap = 1};

/* -- normal -- */

static int normal_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n < 1) return mf_fail(MF_USAGE, "it does not know how many samples there are");
    out[0] = in[0];
    if (attr->numbers) out[0] = (struct mf_shape){.n = 2, .d = {in[0].d[0], attr->numbers}};
    out[0].type = MF_F32;
    if (mf_shape_count(&out[0]) / out[0].d[0] > (size_t)1 << 34) /* places of a sample are 32 bits of four numbers */
        return mf_fail(MF_USAGE, "its samples have more than 2^34 numbers");
    return MF_OK;
}

static double normal_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return 40 * (double)mf_shape_count(out);
}

const struct mf_op mf_op_normal = {
    .name = "normal", .shape = normal_shape, .operations = normal_operations, .f32 = 1, .constant = 1, .cheap = 1};

/* -- quantise -- */

static int quantise_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n < 2) return mf_fail(MF_USAGE, "its input has %d axes, and no channels", in[0].n);
    if (attr->levels != 0 && attr->levels != 256)
        return mf_fail(MF_USAGE, "it knows phases (0) and 256 grey values, not %zu", attr->levels);
    if (attr->levels == 0 && mf_shape_last(&in[0]) > 256)
        return mf_fail(MF_USAGE, "a byte does not hold %zu phases", mf_shape_last(&in[0]));
    out[0] = in[0];
    out[0].type = MF_U8;
    if (attr->levels == 0) out[0].d[--out[0].n] = 0;
    return MF_OK;
}

const struct mf_op mf_op_quantise = {
    .name = "quantise", .shape = quantise_shape, .operations = few, .f32 = 1, .constant = 1};
