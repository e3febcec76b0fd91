/* Images of other extents. pool: means of 2 x 2 pixels, y [n][height / 2][width / 2][c], rounded down. upsample: each
 * pixel becomes 2 x 2 equal ones, y [n][2 height][2 width][c]. wrap: attr.pad pixels more on each side, which are
 * those at the other side. mean: over all axes between the first and the last, y [n][c]. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int is_image(const struct mf_shape *x)
{
    return x->n == 4 ? MF_OK : mf_fail(MF_USAGE, "its input has %d axes and is no image", x->n);
}

static int pool_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    MF_TRY(is_image(&in[0]));
    if (in[0].d[1] < 2 || in[0].d[2] < 2)
        return mf_fail(MF_USAGE, "its images have %zu x %zu pixels; 2 x 2 are the least", in[0].d[1], in[0].d[2]);
    out[0] = in[0];
    out[0].d[1] /= 2;
    out[0].d[2] /= 2;
    return MF_OK;
}

static int upsample_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    MF_TRY(is_image(&in[0]));
    out[0] = in[0];
    out[0].d[1] *= 2;
    out[0].d[2] *= 2;
    return MF_OK;
}

static int wrap_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    MF_TRY(is_image(&in[0]));
    if (attr->pad < 0 || (size_t)attr->pad > in[0].d[1] || (size_t)attr->pad > in[0].d[2])
        return mf_fail(MF_USAGE, "%d pixels more on each side are not there in images of %zu x %zu", attr->pad,
                       in[0].d[1], in[0].d[2]);
    out[0] = in[0];
    out[0].d[1] += 2 * (size_t)attr->pad;
    out[0].d[2] += 2 * (size_t)attr->pad;
    return MF_OK;
}

static int mean_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 3) return mf_fail(MF_USAGE, "its input has %d axes; it takes the mean over those between", in[0].n);
    out[0] = (struct mf_shape){.type = in[0].type, .n = 2, .d = {in[0].d[0], mf_shape_last(&in[0])}};
    return MF_OK;
}

static double pool_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return 4.0 * (double)mf_shape_count(out);
}

static double mean_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)out;
    return (double)mf_shape_count(&in[0]);
}

const struct mf_op mf_op_pool = {
    .name = "pool", .shape = pool_shape, .operations = pool_operations, .adds = 1, .cheap = 1};
const struct mf_op mf_op_upsample = {.name = "upsample", .shape = upsample_shape, .adds = 1, .cheap = 1};
const struct mf_op mf_op_wrap = {.name = "wrap", .shape = wrap_shape, .adds = 1, .cheap = 1};
const struct mf_op mf_op_mean = {
    .name = "mean", .shape = mean_shape, .operations = mean_operations, .adds = 1, .cheap = 1};
