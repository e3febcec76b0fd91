/* adamw: parameters, gradients, first and second moments, all [n] f32. Its outputs are its inputs. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in, (void)out;
    return MF_OK;
}

const struct mf_op mf_op_adamw = {.name = "adamw", .shape = shape, .modifies = 1 | 4 | 8};

/* a += b */
const struct mf_op mf_op_accumulate = {.name = "accumulate", .shape = shape, .modifies = 1};

static int one_sum(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in;
    out[0] = (struct mf_shape){.type = MF_F64, .n = 1, .d = {1}};
    return MF_OK;
}

/* The sum of squares of in[0], in double. */
const struct mf_op mf_op_square_sum = {.name = "square_sum", .shape = one_sum};
