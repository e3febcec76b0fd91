/* Pointwise operations: activations, sums, dropout, casts, fill. */
#include <string.h>

#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* The output has the shape of the input. */
static int same(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    out[0] = in[0];
    return MF_OK;
}

static void reads_input(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 1;
    *out = 0;
}

static void reads_output(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 0;
    *out = 1;
}

static double few(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return (double)mf_shape_count(out);
}

/* An exponential or an error function counts as ten operations. */
static double many(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    return 12 * few(attr, in, out);
}

#define ACTIVATION(activation, reads_of, operations_of)                   \
    const struct mf_op mf_op_##activation = {.name = #activation,         \
                                             .shape = same,               \
                                             .reads = reads_of,           \
                                             .operations = operations_of, \
                                             .over = 1,                   \
                                             .back_over = 1,              \
                                             .adds = 1,                   \
                                             .cheap = 1}
ACTIVATION(softmax, reads_output, many); /* over the last axis */
ACTIVATION(relu, reads_output, few);
ACTIVATION(silu, reads_input, many);
ACTIVATION(gelu, reads_input, many);
ACTIVATION(gelu_tanh, reads_input, many);

const struct mf_op mf_op_dropout = {
    .name = "dropout", .shape = same, .operations = many, .over = 1, .back_over = 1, .cheap = 1};

/* The same numbers in another type. The gradient of f32 may have to be rounded. */
static int cast_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    out[0] = in[0];
    out[0].type = (enum mf_type)attr->type;
    return MF_OK;
}

const struct mf_op mf_op_cast = {.name = "cast", .shape = cast_shape, .operations = few, .adds = 1, .cheap = 1};

/* a + b and a b: b has the shape of a, or that of a's last axes and is repeated along the first ones. */
static int repeated_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const int skipped = in[0].n - in[1].n;

    (void)attr;
    if (skipped < 0 || memcmp(in[0].d + skipped, in[1].d, (size_t)in[1].n * sizeof *in[1].d) != 0)
        return mf_fail(MF_USAGE, "its second input does not have the last %d extents of its first", in[1].n);
    out[0] = in[0];
    return MF_OK;
}

const struct mf_op mf_op_add = {
    .name = "add", .shape = repeated_shape, .operations = few, .over = 1, .passes = 3, .adds = 3};

const struct mf_op mf_op_mul = {.name = "mul",
                                .shape = repeated_shape,
                                .reads = mf_product_reads,
                                .operations = few,
                                .over = 1,
                                .back_over = 1,
                                .adds = 3,
                                .cheap = 1};

static int fill_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)in, (void)out; /* passes make its output */
    return MF_OK;
}

const struct mf_op mf_op_fill = {.name = "fill", .shape = fill_shape};
