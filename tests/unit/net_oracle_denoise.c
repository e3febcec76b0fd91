/* Oracles and cases of the operations of networks that denoise. */
#include <math.h>

#include "tests/unit/net_ops.h"

static void blend(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t each = mf_shape_count(&shape[0]) / shape[0].d[0];

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i)
        out[i] = in[2][i / each] * in[0][i] + (in[1] ? in[3][i / each] * in[1][i] : 0);
}

const struct net_case net_denoise[] = {
    {MF_OP_BLEND, blend, {0}, 3, .in = {F(4, 3, 2, 5, 4), F(4, 3, 2, 5, 4), F(1, 3), F(1, 3)}},
    {MF_OP_BLEND, blend, {0}, 2, .in = {F(3, 4, 7, 3), F(3, 4, 7, 3), F(1, 4), F(1, 4)}},
    {MF_OP_BLEND, blend, {0}, 1, .in = {F(2, 4, 9), {0}, F(2, 4, 1)}},
    {0}};
