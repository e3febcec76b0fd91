/* See idle.h. */
#include "src/net/idle.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/region.h"

enum { DISTANCE = 8 /* nodes between the uses: time for two copies */ };

/* The first or the last node of the stretch in which node @p i is; itself: it is in none. */
static ptrdiff_t border(const struct mf_stretch *stretch, size_t i, int last)
{
    return (ptrdiff_t)(!stretch ? i : last ? stretch->last : stretch->first);
}

static void note(struct mf_idle *one, unsigned access, int is_back, const struct mf_stretch *stretch, size_t i)
{
    if (is_back) {
        if (one->first < 0) one->first = border(stretch, i, 0);
        return;
    }
    one->last = border(stretch, i, 1);
    if (access & MF_WRITES) one->made = one->last;
}

/* First and last uses of all memories; none of those that are new in every round of a region. */
static void find_uses(const struct mf_list *list, size_t seed, struct mf_idle *all)
{
    const struct mf_net *net = list->net;
    struct mf_operand operand[MF_OPERANDS];
    struct mf_stretch *stretch;
    const size_t n = mf_stretches_of(list, seed, &stretch);
    int *inner = mf_region_inner(list);

    for (size_t v = 0; v < net->values; ++v) all[v] = (struct mf_idle){(int)v, -1, -1, -1, -1};
    for (size_t i = 0; i < list->nodes; ++i)
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;) {
            const int root = mf_value_root(net, operand[j].value, NULL);

            if (!inner[root]) note(&all[root], operand[j].access, i >= seed, mf_stretch_of(stretch, n, i), i);
        }
    free(stretch);
    free(inner);
}

/* Views of what is kept share its memory. */
static void mark_kept(const struct mf_net *net, struct mf_idle *all)
{
    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].kept) all[mf_value_root(net, (int)v, NULL)].last = -1;
}

static int is_idle(const struct mf_net *net, const struct mf_idle *one)
{
    const struct mf_value *value = &net->value[one->value];

    return value->role == MF_ROLE_ACTIVATION && !value->flat && value->base < 0 && one->last >= 0 &&
           one->first >= one->last + DISTANCE;
}

size_t mf_idle_find(const struct mf_list *list, size_t seed, struct mf_idle **idle)
{
    const struct mf_net *net = list->net;
    struct mf_idle *all = MF_MUST(malloc((net->values + 1) * sizeof *all), "activations");
    size_t n = 0;

    find_uses(list, seed, all);
    mark_kept(net, all);
    for (size_t v = 0; v < net->values; ++v)
        if (is_idle(net, &all[v])) all[n++] = all[v];
    *idle = all;
    return n;
}

/* The value that backward reads for @p v. @p back [values]: what is known of that; -1: nothing. */
static int stand_in(struct mf_net *net, int *back, int v)
{
    size_t shift;
    int root;

    if (v < 0 || back[v] >= 0) return v < 0 ? v : back[v];
    root = mf_value_root(net, v, &shift);
    if (back[root] >= 0) return back[v] = mf_value_view(net, back[root], shift, net->value[v].shape, "");
    return v;
}

void mf_idle_replace(struct mf_list *list, size_t seed, size_t n, const struct mf_idle idle[])
{
    struct mf_net *net = list->net;
    int *back = MF_MUST(malloc((net->values + 1) * sizeof *back), "activations");

    for (size_t v = 0; v < net->values; ++v) back[v] = -1;
    for (size_t k = 0; k < n; ++k) back[idle[k].value] = idle[k].back;
    for (size_t i = seed; i < list->nodes; ++i) {
        struct mf_node *node = &list->node[i];

        for (int j = 0; j < MF_INS; ++j) node->in[j] = stand_in(net, back, node->in[j]);
        for (int j = 0; j < MF_OUTS && node->back; ++j) node->out[j] = stand_in(net, back, node->out[j]);
    }
    free(back);
}

static int compare(ptrdiff_t x, ptrdiff_t y, const struct mf_idle *a, const struct mf_idle *b)
{
    if (x != y) return x < y ? -1 : 1;
    return a->value - b->value;
}

int mf_idle_by_made(const void *a, const void *b)
{
    const struct mf_idle *x = a, *y = b;

    return compare(x->made, y->made, x, y);
}

int mf_idle_by_last(const void *a, const void *b)
{
    const struct mf_idle *x = a, *y = b;

    return compare(x->last, y->last, x, y);
}

int mf_idle_by_first(const void *a, const void *b)
{
    const struct mf_idle *x = a, *y = b;

    return compare(x->first, y->first, x, y);
}
