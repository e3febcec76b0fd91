/* Oracles and cases of the operations of language models. */
#include <math.h>

#include "tests/unit/net_ops.h"

static void gather(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t width = shape[0].d[1];

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[1]) * width; ++i) {
        const double row = in[1][i / width];

        out[i] = row >= 0 && row < (double)shape[0].d[0] ? in[0][(size_t)row * width + i % width] : 0;
    }
}

const struct net_case net_text[] = {{MF_OP_GATHER, gather, {0}, 1, .in = {F(2, 4, 21), {MF_I32, 1, {47}}}},
                                    {MF_OP_GATHER, gather, {0}, 1, .in = {F(2, 3, 16), {MF_I32, 2, {2, 3}}}},
                                    {0}};

const struct net_case net_text_bad[] = {{MF_OP_GATHER, NULL, {0}, 0, .in = {F(1, 5), {MF_I32, 1, {3}}}},
                                        {MF_OP_GATHER, NULL, {0}, 0, .in = {F(2, 5, 6), F(1, 3)}},
                                        {0}};
