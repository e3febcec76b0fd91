/* A mixture of experts: a router chooses experts for every row; rows move to their experts, pass them, and come back as
 * weighted sums. A slot is a row and one of its choices, in this order. Its place is that among the rows sorted by
 * expert; -1: it has none. Rows behind the last expert's are neither read nor written. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static struct mf_shape table(enum mf_type type, size_t rows, size_t columns)
{
    return (struct mf_shape){.type = type, .n = 2, .d = {rows, columns}};
}

static int is_choice(const struct mf_shape *choice, size_t rows)
{
    if (choice->n != 2 || choice->type != MF_I32 || choice->d[0] != rows)
        return mf_fail(MF_USAGE, "it has %zu rows and choices for %zu", rows, choice->n ? choice->d[0] : 0);
    return MF_OK;
}

static double per_number(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)out;
    return 12 * (double)mf_shape_count(&in[0]);
}

/* -- route: logits [rows][experts], balance biases [experts] or none, ids i32 [experts] or none -> weights
 * [rows][count], choices [rows][count]. Weights are the softmax of the chosen logits. The
 * weight of a single choice is its softmax of all logits: among one it would be 1, and the router would have no
 * gradient (Fedus et al., "Switch transformers", 2022). Balance biases change the choice, and not the weights (Wang et
 * al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", 2024). -- */

static int route_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n != 2 || attr->choices < 1 || attr->choices > in[0].d[1])
        return mf_fail(MF_USAGE, "it chooses %zu of %zu experts", attr->choices, in[0].n ? mf_shape_last(&in[0]) : 0);
    if (!(attr->temperature > 0))
        return mf_fail(MF_USAGE, "its temperature is %g; it must be above 0", attr->temperature);
    if (in[1].n && mf_shape_count(&in[1]) != in[0].d[1])
        return mf_fail(MF_USAGE, "it has %zu experts and %zu balance biases", in[0].d[1], mf_shape_count(&in[1]));
    if (in[2].n && (in[2].type != MF_I32 || mf_shape_count(&in[2]) != in[0].d[1]))
        return mf_fail(MF_USAGE, "it has %zu experts and %zu ids", in[0].d[1], mf_shape_count(&in[2]));
    out[0] = table(MF_F32, in[0].d[0], attr->choices);
    out[1] = table(MF_I32, in[0].d[0], attr->choices);
    return MF_OK;
}

static void route_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)wanted;
    *in = attr->choices == 1 ? 5 : 0;
    *out = 3;
}

const struct mf_op mf_op_route = {
    .name = "route", .shape = route_shape, .reads = route_reads, .operations = per_number, .f32 = 3, .adds = 1};

/* -- route_load: logits, choices -> slots of each expert; sum of the entropies of rows that count, in units of the
 * largest; how many rows count -- */

static int load_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n != 2) return mf_fail(MF_USAGE, "its logits have %d axes, not 2", in[0].n);
    MF_TRY(is_choice(&in[1], in[0].d[0]));
    out[0] = (struct mf_shape){.type = MF_F32, .n = 1, .d = {in[0].d[1] + 2}};
    return MF_OK;
}

const struct mf_op mf_op_route_load = {.name = "route_load", .shape = load_shape, .operations = per_number, .f32 = 1};

/* -- permute: x [rows][d], choices [rows][k] -> rows by expert [rows k][d]; places of slots, then where the rows of
 * each expert begin and the last ones end [rows k + experts + 1]. Only experts [first_expert, first_expert + experts)
 * get rows -- */

static int permute_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n != 2) return mf_fail(MF_USAGE, "its input has %d axes, not 2", in[0].n);
    MF_TRY(is_choice(&in[1], in[0].d[0]));
    if (attr->experts < 1) return mf_fail(MF_USAGE, "it has no experts");
    if (mf_shape_count(&in[1]) > INT32_MAX)
        return mf_fail(MF_USAGE, "it has %zu slots; places reach %d", mf_shape_count(&in[1]), INT32_MAX);
    out[0] = table(in[0].type, mf_shape_count(&in[1]), in[0].d[1]);
    out[1] = (struct mf_shape){.type = MF_I32, .n = 1, .d = {mf_shape_count(&in[1]) + attr->experts + 1}};
    return MF_OK;
}

static void permute_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 0;
    *out = 2;
}

const struct mf_op mf_op_permute = {
    .name = "permute", .shape = permute_shape, .reads = permute_reads, .adds = 1, .leaves = 1};

/* -- grouped_linear: x [rows][k], w [experts][m][k], b [experts][m] or none, offsets i32 [any] -> [rows][m]. The
 * last attr.row_groups + 1 offsets say where groups of rows begin and the last one ends. Group g has expert g %
 * experts. The gradient of an expert without rows is 0. With attr.steady a group is a call of steady_linear. Then the
 * weights may have another type than x, and those of i8 have scales [experts][m]. -- */

static int grouped_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n != 2 || in[1].n != 3 || in[0].d[1] != in[1].d[2])
        return mf_fail(MF_USAGE, "its input has %zu columns, its weights %zu", in[0].n ? mf_shape_last(&in[0]) : 0,
                       in[1].n ? mf_shape_last(&in[1]) : 0);
    if (in[2].n && (in[2].n != 2 || in[2].d[0] != in[1].d[0] || in[2].d[1] != in[1].d[1]))
        return mf_fail(MF_USAGE, "its biases are not those of %zu experts with %zu rows", in[1].d[0], in[1].d[1]);
    if (in[3].type != MF_I32 || attr->row_groups < 1 || mf_shape_count(&in[3]) <= (size_t)attr->row_groups)
        return mf_fail(MF_USAGE, "it has %d groups, and %zu numbers say where they begin", attr->row_groups,
                       mf_shape_count(&in[3]));
    if (!attr->steady && in[1].type != in[0].type)
        return mf_fail(MF_USAGE, "its rows are %s and its weights %s", mf_type_name(in[0].type),
                       mf_type_name(in[1].type));
    MF_TRY(mf_weights_fit(&in[1], &in[4]));
    out[0] = table(in[0].type, in[0].d[0], in[1].d[1]);
    if (mf_act_keeps(attr)) out[1] = out[0];
    return MF_OK;
}

static void grouped_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    mf_product_reads(attr, wanted, in, out);
    *in |= 8;
}

/* If all rows belong to groups. */
static double grouped_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr;
    return in[1].n ? 2.0 * (double)mf_shape_count(out) * (double)mf_shape_last(&in[1]) : 0;
}

const struct mf_op mf_op_grouped_linear = {.name = "grouped_linear",
                                           .shape = grouped_shape,
                                           .reads = grouped_reads,
                                           .operations = grouped_operations,
                                           .shared = 22,
                                           .f32 = 20,
                                           .adds = 1,
                                           .leaves = 1,
                                           .consumes = 1};

/* -- combine: y [rows k][m] by expert, weights [rows][k], what permute says of places -> [rows][m] -- */

static int combine_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n != 2 || in[1].n != 2 || in[0].d[0] != mf_shape_count(&in[1]))
        return mf_fail(MF_USAGE, "it has %zu rows and %zu weights", in[0].d[0], mf_shape_count(&in[1]));
    if (in[2].type != MF_I32 || mf_shape_count(&in[2]) < in[0].d[0])
        return mf_fail(MF_USAGE, "it has %zu rows and places for %zu", in[0].d[0], mf_shape_count(&in[2]));
    out[0] = table(in[0].type, in[1].d[0], in[0].d[1]);
    return MF_OK;
}

static void combine_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr;
    *in = 4 | (wanted & 1 ? 2U : 0) | (wanted & 2 ? 1U : 0);
    *out = 0;
}

static double combine_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)out;
    return 2.0 * (double)mf_shape_count(&in[0]);
}

const struct mf_op mf_op_combine = {.name = "combine",
                                    .shape = combine_shape,
                                    .reads = combine_reads,
                                    .operations = combine_operations,
                                    .f32 = 2,
                                    .leaves = 1};
