/* Operations of language models.
 *
 * gather: y[r] = table[number[r]]. table [n][width], numbers [rows] i32, y [rows][width]. A number outside [0, n) gives
 * a row of zeros. The gradient of the table sums rows in their order. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

/* Refuses where @p numbers are not one, or @p each, for every row. */
static int check_numbers(const struct mf_shape *numbers, size_t rows, size_t each)
{
    if (numbers->type == MF_I32 && mf_shape_count(numbers) == rows * each) return MF_OK;
    return mf_fail(MF_USAGE, "it has %zu rows and wants %zu numbers of type i32 for each, not %zu of %s", rows, each,
                   mf_shape_count(numbers), mf_type_name(numbers->type));
}

/* -- gather -- */

static int gather_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n != 2) return mf_fail(MF_USAGE, "its table has %d axes, not 2", in[0].n);
    MF_TRY(check_numbers(&in[1], mf_shape_count(&in[1]), 1));
    out[0] = (struct mf_shape){in[0].type, 2, {mf_shape_count(&in[1]), in[0].d[1]}};
    return MF_OK;
}

static void gather_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 2;
    *out = 0;
}

const struct mf_op mf_op_gather = {
    .name = "gather", .shape = gather_shape, .reads = gather_reads, .shared = 1, .constant = 2, .adds = 1, .cheap = 1};
