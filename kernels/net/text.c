/* Operations of language models.
 *
 * gather: y[r] = table[number[r]]. The shapes are table [n][width], numbers [rows] i32, y [rows][width]. A number
 * outside [0, n) gives a row of zeros. With attr.wide y is f32. A table of i8 has scales [n] f32, by which its rows are
 * multiplied. The gradient of the table sums rows in their order.
 *
 * keep: cache[place[r]] = x[r]. The shapes are x [rows][width], cache [slots][width] and places [rows] i32. The cache
 * has the type of x, which may be i32. Places differ. A row whose place is outside [0, slots) is blank. The cache keeps
 * its other rows.
 *
 * attention_kept: y = softmax(q k' / sqrt(d)) v, for rows of several requests, over what `keep` stored. Rows q and y
 * are [rows][attr.heads d]. Caches of keys and of values are [slots][attr.kv_heads d]. Pages are i32 [requests][pages
 * of a request]. Page p has the slots [16 p, 16 p + 16). A negative page is none. Position i of a request is in its
 * page i / 16. Rows are i32 [rows][2]: request, position. A row sees the positions up to its own. With attr.window it
 * sees the last so many of them. A row with a negative request or position gives zeros. A row has the same bits
 * whatever other rows and requests the call has, and on any number of threads. (Kwon et al., "Efficient memory
 * management for large language model serving with PagedAttention", SOSP 2023. The softmax goes from page to page.)
 *
 * pick: a token of each row of logits. Logits are f32 [rows][vocabulary], tokens i32 [rows]. Wishes are f32 [rows][4]:
 * temperature, top-p, repetition penalty, one unused. Numbers are i32 [rows][5]: top-k, the low half of the seed,
 * position, request, the high half. Two more inputs may tell the tokens before the position. They are what keep stored
 * of them, i32 [slots][1], and the pages of attention_kept. The penalty divides logits of these tokens that are above
 * 0, and multiplies others. 1 or 0 leaves them (Keskar et al., "CTRL", 2019, in the form of transformers). Then
 * temperature 0 takes the first of the largest logits. Else a random number chooses by the softmax of logits /
 * temperature. Top-k leaves the largest logits, and those that equal the last of them; 0 leaves all. Then top-p leaves
 * the most likely tokens, each of which has less than top-p before it; 1 leaves all. This is the order of transformers.
 * Philox of seed and position makes the random number. So a row has the same token in any call. Not a number is the
 * least logit.
 *
 * steady_linear: y = act(x w' + b), forward alone. The shapes are x [..][k], w [m][k], b [m] f32 or none, y [..][m].
 * The weights may have another type than x and y. Weights of i8 have scales [m] f32. A row has the same bits whatever
 * other rows the call has, and on any number of threads. Few rows take the time in which the weights are read.
 *
 * rope: numbers i and i + d / 2 of every head of d numbers turn by position[r] frequency[i] radians. The shapes are x
 * [..][attr.heads d], positions [rows] i32, frequencies [d / 2] f32. (Su et al., "RoFormer", 2021. Files of Llama want
 * halves, and not neighbours.)
 *
 * gated: y = silu(a) b, where a and b are the halves of the columns. The shapes are x [..][2 m], y [..][m]. (Shazeer,
 * "GLU variants improve transformer", 2020.) */
#include "kernels/net/kept.h"
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

int mf_weights_fit(const struct mf_shape *w, const struct mf_shape *scale)
{
    const size_t wanted = w->type == MF_I8 ? mf_shape_rows(w) : 0;

    if (w->type != MF_F32 && w->type != MF_BF16 && w->type != MF_F16 && w->type != MF_I8)
        return mf_fail(MF_USAGE, "its weights are %s", mf_type_name(w->type));
    if (mf_shape_count(scale) == wanted && (!wanted || scale->type == MF_F32)) return MF_OK;
    return mf_fail(MF_USAGE, "its weights of %s have %zu scales, not %zu of f32", mf_type_name(w->type),
                   mf_shape_count(scale), wanted);
}

static int gather_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n != 2) return mf_fail(MF_USAGE, "its table has %d axes, not 2", in[0].n);
    MF_TRY(check_numbers(&in[1], mf_shape_count(&in[1]), 1));
    MF_TRY(mf_weights_fit(&in[0], &in[2]));
    if (in[0].type == MF_I8 && !attr->wide) return mf_fail(MF_USAGE, "its rows of int8 must be wide");
    out[0] = (struct mf_shape){attr->wide ? MF_F32 : in[0].type, 2, {mf_shape_count(&in[1]), in[0].d[1]}};
    return MF_OK;
}

static void gather_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 2;
    *out = 0;
}

const struct mf_op mf_op_gather = {.name = "gather",
                                   .shape = gather_shape,
                                   .reads = gather_reads,
                                   .shared = 5,
                                   .f32 = 4,
                                   .constant = 6,
                                   .adds = 1,
                                   .cheap = 1};

/* -- keep -- */

static int keep_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr, (void)out;
    if (in[0].n < 2 || in[1].n != 2 || mf_shape_last(&in[0]) != in[1].d[1] || in[0].type != in[1].type)
        return mf_fail(MF_USAGE, "its rows have %zu numbers of %s, those of its cache %zu of %s",
                       in[0].n ? mf_shape_last(&in[0]) : 0, mf_type_name(in[0].type),
                       in[1].n ? mf_shape_last(&in[1]) : 0, mf_type_name(in[1].type));
    return check_numbers(&in[2], mf_shape_rows(&in[0]), 1);
}

const struct mf_op mf_op_keep = {.name = "keep", .shape = keep_shape, .modifies = 2};

/* -- attention_kept -- */

static int check_caches(const struct mf_attr *attr, const struct mf_shape in[])
{
    const size_t heads = (size_t)attr->heads, groups = attr->kv_heads ? (size_t)attr->kv_heads : heads;
    const size_t columns = in[0].n ? mf_shape_last(&in[0]) : 0, d = attr->heads > 0 ? columns / heads : 0;

    if (attr->heads < 1 || attr->kv_heads < 0 || columns % heads != 0 || heads % groups != 0 || d > MF_KEPT_HEAD)
        return mf_fail(MF_USAGE, "its %zu columns are not %d heads of at most %d numbers, in %d groups", columns,
                       attr->heads, MF_KEPT_HEAD, attr->kv_heads);
    for (int j = 1; j < 3; ++j)
        if (in[j].n != 2 || in[j].type != in[0].type || in[j].d[0] != in[1].d[0] || in[j].d[1] != groups * d)
            return mf_fail(MF_USAGE, "its caches are not slots of %zu numbers of %s", groups * d,
                           mf_type_name(in[0].type));
    return MF_OK;
}

static int kept_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    MF_TRY(check_caches(attr, in));
    if (in[3].n != 2) return mf_fail(MF_USAGE, "its pages have %d axes, not 2", in[3].n);
    MF_TRY(check_numbers(&in[3], in[3].d[0], in[3].d[1]));
    MF_TRY(check_numbers(&in[4], mf_shape_rows(&in[0]), 2));
    out[0] = in[0];
    return MF_OK;
}

/* If every row sees all pages of a request. */
static double kept_operations(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr;
    return 4.0 * (double)mf_shape_count(out) * (double)in[3].d[1] * MF_KEPT_PAGE;
}

const struct mf_op mf_op_attention_kept = {
    .name = "attention_kept", .shape = kept_shape, .operations = kept_operations, .constant = 31};

/* -- pick -- */

enum { MOST_TOKENS = 1 << 22 }; /* sums of weights have 64 bits */

static int pick_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n != 2 || in[0].type != MF_F32 || in[0].d[1] < 1 || in[0].d[1] > MOST_TOKENS)
        return mf_fail(MF_USAGE, "its logits are not rows of 1 to %d numbers of type f32", MOST_TOKENS);
    if (in[1].type != MF_F32 || mf_shape_count(&in[1]) != MF_PICK_WISHES * in[0].d[0])
        return mf_fail(MF_USAGE, "it has %zu rows and %zu wishes, not %d for each", in[0].d[0], mf_shape_count(&in[1]),
                       MF_PICK_WISHES);
    MF_TRY(check_numbers(&in[2], in[0].d[0], MF_PICK_NUMBERS));
    if (in[3].n && (in[3].n != 2 || in[4].n != 2)) return mf_fail(MF_USAGE, "its tokens or their pages are no table");
    for (int j = 3; in[3].n && j < MF_INS; ++j) MF_TRY(check_numbers(&in[j], in[j].d[0], j == 3 ? 1 : in[j].d[1]));
    out[0] = (struct mf_shape){MF_I32, 1, {in[0].d[0]}};
    return MF_OK;
}

const struct mf_op mf_op_pick = {.name = "pick", .shape = pick_shape, .f32 = 3, .constant = 31};

/* -- steady_linear -- */

static int steady_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 1 || in[1].n != 2 || mf_shape_last(&in[0]) != in[1].d[1])
        return mf_fail(MF_USAGE, "its input has %zu columns, its weights %zu", in[0].n ? mf_shape_last(&in[0]) : 0,
                       in[1].n ? mf_shape_last(&in[1]) : 0);
    if (in[2].n && (in[2].n != 1 || in[2].d[0] != in[1].d[0]))
        return mf_fail(MF_USAGE, "its bias has %zu numbers, its weights %zu rows", in[2].d[0], in[1].d[0]);
    MF_TRY(mf_weights_fit(&in[1], &in[3]));
    out[0] = in[0];
    out[0].d[in[0].n - 1] = in[1].d[0];
    return MF_OK;
}

const struct mf_op mf_op_steady_linear = {.name = "steady_linear",
                                          .shape = steady_shape,
                                          .operations = mf_linear_operations,
                                          .shared = 14,
                                          .f32 = 12,
                                          .constant = 15};

/* -- rope -- */

static int rope_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (attr->heads < 1 || in[0].n < 2 || in[2].n != 1 || mf_shape_last(&in[0]) != 2 * (size_t)attr->heads * in[2].d[0])
        return mf_fail(MF_USAGE, "its %zu columns are not %d heads of twice %zu frequencies",
                       in[0].n ? mf_shape_last(&in[0]) : 0, attr->heads, mf_shape_count(&in[2]));
    MF_TRY(check_numbers(&in[1], mf_shape_rows(&in[0]), 1));
    out[0] = in[0];
    return MF_OK;
}

static void rope_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 6;
    *out = 0;
}

static double few(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out)
{
    (void)attr, (void)in;
    return 3 * (double)mf_shape_count(out);
}

const struct mf_op mf_op_rope = {.name = "rope",
                                 .shape = rope_shape,
                                 .reads = rope_reads,
                                 .operations = few,
                                 .shared = 4,
                                 .f32 = 4,
                                 .constant = 6,
                                 .over = 1,
                                 .back_over = 1,
                                 .adds = 1,
                                 .cheap = 1};

/* -- gated -- */

static int gated_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    (void)attr;
    if (in[0].n < 2 || mf_shape_last(&in[0]) % 2 != 0)
        return mf_fail(MF_USAGE, "its input has %zu columns, which are not two halves",
                       in[0].n ? mf_shape_last(&in[0]) : 0);
    out[0] = in[0];
    out[0].d[in[0].n - 1] /= 2;
    return MF_OK;
}

static void gated_reads(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 1;
    *out = 0;
}

const struct mf_op mf_op_gated = {
    .name = "gated", .shape = gated_shape, .reads = gated_reads, .operations = few, .adds = 1, .cheap = 1};
