/* Operations on flat arrays [n] f32: optimisers, and what gradients go through before. Optimisers change their inputs.
 *
 * adamw, adam: parameters, gradients, first and second moments; attr.momentum, attr.second, attr.epsilon. adamw takes
 * the weight decay off the parameters, adam adds it to the gradients. sgd: parameters, gradients, velocity (none
 * without momentum); attr.momentum; the decay is added to the gradients. All as PyTorch has them.
 * average: e += (1 - attr.momentum) (p - e); in[0] e, in[1] p.
 * square_sum: the sum of squares of in[0], [1] f64: not finite where a number is not. accumulate: a += b.
 * start, finish: an exchange of in[0] among ranks. Between them nobody touches the array.
 * copy, copied: from in[0] to the other memory, which has it after the end. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static int shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in, (void)out;
    return MF_OK;
}

const struct mf_op mf_op_adamw = {.name = "adamw", .shape = shape, .modifies = 1 | 4 | 8};
const struct mf_op mf_op_adam = {.name = "adam", .shape = shape, .modifies = 1 | 4 | 8};
const struct mf_op mf_op_sgd = {.name = "sgd", .shape = shape, .modifies = 1 | 4};
const struct mf_op mf_op_accumulate = {.name = "accumulate", .shape = shape, .modifies = 1};
const struct mf_op mf_op_average = {.name = "average", .shape = shape, .modifies = 1};
const struct mf_op mf_op_start = {.name = "start", .shape = shape, .modifies = 1};
const struct mf_op mf_op_finish = {.name = "finish", .shape = shape, .modifies = 1};
const struct mf_op mf_op_copied = {.name = "copied", .shape = shape, .modifies = 2};

static int same(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    out[0] = in[0];
    return MF_OK;
}

const struct mf_op mf_op_copy = {.name = "copy", .shape = same};

static int one_sum(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in;
    out[0] = (struct mf_shape){.type = MF_F64, .n = 1, .d = {1}};
    return MF_OK;
}

const struct mf_op mf_op_square_sum = {.name = "square_sum", .shape = one_sum};
