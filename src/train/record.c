/* See record.h. */
#include "src/train/record.h"

#include "src/base/bounds.h"

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

static size_t behind(size_t *end, size_t numbers)
{
    const size_t at = *end;

    *end += numbers;
    return at;
}

/* Values of any type pass through `raw`. */
struct mf_look_layout mf_look_layout_of(const struct mf_network *n)
{
    const struct mf_routing *v = &n->routing;
    const struct mf_record r = mf_record_of(n);
    const size_t experts = columns_of(n, v->scores);
    const size_t widest = mf_max(mf_max(r.columns, r.hidden), mf_max(r.outputs, experts));
    struct mf_look_layout l = {.rows = mf_shape_rows(&n->net->value[v->rows].shape),
                               .sorted_rows = mf_shape_rows(&n->net->value[v->outputs].shape)};
    size_t end = 0;

    l.input = behind(&end, l.rows * r.columns);
    l.inner = behind(&end, l.rows * r.hidden);
    l.score = behind(&end, l.rows * experts);
    l.weight = behind(&end, l.rows * r.top);
    l.choice = behind(&end, l.rows * r.top);
    l.output = behind(&end, l.rows * r.top * r.outputs);
    l.place = behind(&end, l.rows * r.top);
    l.raw = behind(&end, mf_max(l.rows, l.sorted_rows) * widest);
    l.sorted = behind(&end, l.sorted_rows * r.outputs);
    l.bytes = end * sizeof(float);
    return l;
}
