/* Rows of a mixture of experts travel to the ranks of their experts and back. A walk executes both (src/net/rounds.h).
 * `ways` ranks share the experts; this one has attr.own_experts of them, from expert attr.first_expert on. */
#include "kernels/net/kinds.h"
#include "src/base/err.h"

static void reads_places(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out)
{
    (void)attr, (void)wanted;
    *in = 2;
    *out = 0;
}

/* -- trade: rows [n][d] by expert, what permute says of places [n + experts + 1] -> rows of the own experts from all
 * ranks [count][d], by rank and then by expert; where the ways x own groups begin and the last one ends -- */

static int trade_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    const size_t own = (size_t)attr->own_experts, ways = (size_t)attr->ways;

    if (in[0].n != 2 || in[1].type != MF_I32 || mf_shape_count(&in[1]) < in[0].d[0] + 2)
        return mf_fail(MF_USAGE, "its rows have no places");
    if (attr->ways < 1 || attr->own_experts < 1 || attr->first_expert + own > mf_shape_count(&in[1]) - in[0].d[0] - 1)
        return mf_fail(MF_USAGE, "its part of the experts is [%zu, %zu) of %zu", attr->first_expert,
                       attr->first_expert + own, mf_shape_count(&in[1]) - in[0].d[0] - 1);
    if (attr->room < ways)
        return mf_fail(MF_USAGE, "it has room for %zu rows, and needs it for one of each of %zu ranks", attr->room,
                       ways);
    if (attr->room > INT32_MAX)
        return mf_fail(MF_USAGE, "it has room for %zu rows; offsets reach %d", attr->room, INT32_MAX);
    out[0] = in[0];
    out[0].d[0] = attr->room;
    out[1] = (struct mf_shape){.type = MF_I32, .n = 1, .d = {ways * own + 1}};
    return MF_OK;
}

const struct mf_op mf_op_trade = {.name = "trade", .shape = trade_shape, .reads = reads_places, .leaves = 1};

/* -- trade_back: rows of the own experts [..][m], the same places -> own rows [count][m] by expert -- */

static int back_shape(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[])
{
    if (in[0].n != 2 || in[1].type != MF_I32 || mf_shape_count(&in[1]) < attr->room + 2)
        return mf_fail(MF_USAGE, "its rows have no places");
    out[0] = in[0];
    out[0].d[0] = attr->room;
    return MF_OK;
}

const struct mf_op mf_op_trade_back = {.name = "trade_back", .shape = back_shape, .reads = reads_places, .leaves = 1};
