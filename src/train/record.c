/* See record.h. */
#include "src/train/record.h"

static size_t columns_of(const struct mf_network *n, int v) { return mf_shape_last(&n->net->value[v].shape); }

static int is_same(const struct mf_net *net, int a, int b)
{
    size_t shift_a, shift_b;

    return mf_value_root(net, a, &shift_a) == mf_value_root(net, b, &shift_b) && shift_a == shift_b;
}

struct mf_record mf_record_of(const struct mf_network *n)
{
    const struct mf_routing *v = &n->routing;
    struct mf_record r = {.columns = columns_of(n, v->rows),
                          .hidden = is_same(n->net, v->rows, v->hidden) ? 0 : columns_of(n, v->hidden),
                          .top = columns_of(n, v->choice),
                          .outputs = columns_of(n, v->outputs)};

    r.weight = MF_RECORD_IDS + r.top;
    r.input = r.weight + r.top;
    r.inner = r.input + r.columns;
    r.output = r.inner + r.hidden;
    r.numbers = r.output + r.top * r.outputs;
    return r;
}

size_t mf_record_room(const struct mf_record *r, size_t most, size_t bytes)
{
    const size_t fit = bytes / (r->numbers * sizeof(float));

    return fit < most ? fit : most;
}
