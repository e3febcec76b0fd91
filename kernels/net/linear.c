/* linear: y = act(x w' + b). x [..][k], w [m][k], b [m] or none, y [..][m]. Saved for backward: what the activation
 * got, if its slope is not known from y. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n < 1 || in[1].n != 2 || mf_shape_last(&in[0]) != in[1].d[1])
        return mf_fail(MF_USAGE, "its input has %zu columns, its weights %zu", in[0].n ? mf_shape_last(&in[0]) : 0,
                       in[1].d[1]);
    if (in[2].n && (in[2].n != 1 || in[2].d[0] != in[1].d[0]))
        return mf_fail(MF_USAGE, "its bias has %zu numbers, its weights %zu rows", in[2].d[0], in[1].d[0]);
    out[0] = in[0];
    out[0].d[in[0].n - 1] = in[1].d[0];
    if (mf_act_keeps(attr)) out[1] = out[0];
    return MF_OK;
}

void mf_product_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    *in = (wanted & 1 ? 2U : 0) | (wanted & 2 ? 1U : 0);
    *out = mf_act_keeps(attr) ? 2 : attr->act == MF_ACT_RELU ? 1 : 0;
}

double mf_linear_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr; /* backward of the bias alone has no weights, and next to nothing to do */
    return in[1].n ? 2.0 * (double)mf_shape_count(out) * (double)(mf_shape_count(&in[1]) / in[1].d[0]) : 0;
}

const struct mf_op mf_op_linear = {.name = "linear",
                                   .shape = shape,
                                   .reads = mf_product_reads,
                                   .operations = mf_linear_operations,
                                   .shared = 6,
                                   .f32 = 4,
                                   .adds = 1,
                                   .consumes = 1};
