/* start, finish: an exchange of in[0], a flat array of f32, among ranks. Between them the array is not touched. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in, (void)out;
    return MF_OK;
}

const struct mf_op mf_op_start = {.name = "start", .shape = shape, .modifies = 1};
const struct mf_op mf_op_finish = {.name = "finish", .shape = shape, .modifies = 1};
