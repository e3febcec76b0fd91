/* matmul: y = a b, matrices in the last two axes, the same axes before them. a [..][m][k], b [..][k][n].
 * attr.transposed: bit i: in[i] holds the transposes. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const int n = in[0].n, ta = (int)(attr->transposed & 1), tb = (int)(attr->transposed >> 1 & 1);

    for (int i = 0; i < n - 2; ++i)
        if (n == in[1].n && in[0].d[i] != in[1].d[i])
            return mf_fail(MF_USAGE, "its inputs have %zu and %zu matrices along axis %d", in[0].d[i], in[1].d[i], i);
    if (n < 2 || n != in[1].n || in[0].d[n - 1 - ta] != in[1].d[n - 2 + tb])
        return mf_fail(MF_USAGE, "the columns of its first matrices are not the rows of its second ones");
    out[0] = in[0];
    out[0].d[n - 2] = in[0].d[n - 2 + ta];
    out[0].d[n - 1] = in[1].d[n - 1 - tb];
    return MF_OK;
}

static double operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    const int j = in[0].n ? 0 : 1, t = (int)(attr->transposed >> j & 1); /* backward may have only one of them */

    return 2.0 * (double)mf_shape_count(out) * (double)in[j].d[in[j].n - (j == t ? 1 : 2)];
}

const struct mf_op mf_op_matmul = {
    .name = "matmul", .shape = shape, .reads = mf_product_reads, .operations = operations, .adds = 3};
