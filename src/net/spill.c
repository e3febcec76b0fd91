/* The pass spill: large activations that backward reads much later wait in host memory. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/copies.h"
#include "src/net/pass.h"
#include "src/net/region.h"

enum { DISTANCE = 8 /* nodes between the uses: time for two copies */ };

/* An activation on its way. */
struct trip {
    int value, host, back; /* back: what backward reads instead */
    ptrdiff_t last, first; /* its last use in forward, its first in backward */
};

/* A copy that begins or ends before node @p at. */
struct event {
    size_t at;
    int from, to, ends;
};

struct spill {
    struct mf_list *list;
    size_t seed; /* node with which backward begins */
    struct trip *trip;
    size_t trips;
    struct event *event; /* in the order of the list */
    size_t events;
    int *back; /* [values] what stands for a value in backward; -1: itself */
};

/* The first or the last node of the stretch in which node @p i is; itself: it is in none. */
static ptrdiff_t border(const struct mf_stretch *stretch, size_t i, int last)
{
    return (ptrdiff_t)(!stretch ? i : last ? stretch->last : stretch->first);
}

/* First and last uses of all memories; none of those that are new in every round of a region. */
static void find_uses(const struct spill *s, struct trip *all)
{
    const struct mf_net *net = s->list->net;
    struct mf_operand operand[MF_OPERANDS];
    struct mf_stretch *stretch;
    const size_t n = mf_stretches(s->list, &stretch);
    int *inner = mf_region_inner(s->list);

    for (size_t v = 0; v < net->values; ++v) all[v] = (struct trip){.value = (int)v, .last = -1, .first = -1};
    for (size_t i = 0; i < s->list->nodes; ++i)
        for (size_t j = mf_node_operands(&s->list->node[i], operand); j-- > 0;) {
            const int root = mf_value_root(net, operand[j].value, NULL);
            struct trip *t = &all[root];

            if (inner[root]) continue;
            if (i < s->seed)
                t->last = border(mf_stretch_of(stretch, n, i), i, 1);
            else if (t->first < 0)
                t->first = border(mf_stretch_of(stretch, n, i), i, 0);
        }
    free(stretch);
    free(inner);
}

static int is_worth_it(const struct mf_net *net, const struct trip *t, size_t bytes)
{
    const struct mf_value *value = &net->value[t->value];

    return value->role == MF_ROLE_ACTIVATION && !value->flat && value->base < 0 && t->last >= 0 &&
           t->first >= t->last + DISTANCE && mf_shape_bytes(&value->shape) >= bytes;
}

/* Views of what is kept share its memory. */
static void mark_kept(const struct mf_net *net, struct trip *all)
{
    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].kept) all[mf_value_root(net, (int)v, NULL)].last = -1;
}

static void find_trips(struct spill *s, size_t bytes)
{
    struct mf_net *net = s->list->net;
    const size_t values = net->values;
    struct trip *all = MF_MUST(malloc((values + 1) * sizeof *all), "activations");

    find_uses(s, all);
    mark_kept(net, all);
    s->trip = all;
    for (size_t v = 0; v < values; ++v)
        if (is_worth_it(net, &all[v], bytes)) all[s->trips++] = all[v];
    s->back = MF_MUST(malloc((values + 1) * sizeof *s->back), "activations");
    for (size_t v = 0; v < values; ++v) s->back[v] = -1;
    for (size_t k = 0; k < s->trips; ++k) {
        struct trip *t = &all[k];
        const struct mf_shape shape = net->value[t->value].shape;

        t->host = mf_value_new(net, MF_ROLE_ACTIVATION, shape, "%s.host", net->value[t->value].name);
        t->back = mf_value_new(net, MF_ROLE_ACTIVATION, shape, "%s.back", net->value[t->value].name);
        net->value[t->host].place = MF_PLACE_HOST;
        s->back[t->value] = t->back;
    }
}

static int by_last(const void *a, const void *b)
{
    const struct trip *x = a, *y = b;

    if (x->last != y->last) return x->last < y->last ? -1 : 1;
    return x->value - y->value;
}

static int by_first(const void *a, const void *b)
{
    const struct trip *x = a, *y = b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->value - y->value;
}

static void add(struct spill *s, size_t at, int from, int to, int ends)
{
    s->event[s->events++] = (struct event){at, from, to, ends};
}

/* A copy out ends when the next has begun; a copy in begins when the one before is needed. */
static void plan_copies(struct spill *s)
{
    const size_t n = s->trips;
    const struct trip *t = s->trip;

    s->event = MF_MUST(malloc((4 * n + 1) * sizeof *s->event), "copies");
    qsort(s->trip, n, sizeof *s->trip, by_last);
    for (size_t k = 0; k < n; ++k) {
        add(s, (size_t)t[k].last + 1, t[k].value, t[k].host, 0);
        if (k > 0) add(s, (size_t)t[k].last + 1, t[k - 1].value, t[k - 1].host, 1);
    }
    if (n > 0) add(s, s->seed, t[n - 1].value, t[n - 1].host, 1);
    qsort(s->trip, n, sizeof *s->trip, by_first);
    for (size_t k = 0; k < n; ++k) {
        add(s, k > 0 ? (size_t)t[k - 1].first : s->seed + 1, t[k].host, t[k].back, 0);
        add(s, (size_t)t[k].first, t[k].host, t[k].back, 1);
    }
}

/* The value that backward reads for @p v. */
static int stand_in(struct spill *s, int v)
{
    struct mf_net *net = s->list->net;
    size_t shift;
    int root;

    if (v < 0 || s->back[v] >= 0) return v < 0 ? v : s->back[v];
    root = mf_value_root(net, v, &shift);
    if (s->back[root] >= 0) return s->back[v] = mf_value_view(net, s->back[root], shift, net->value[v].shape, "");
    return v;
}

static void replace(struct spill *s)
{
    for (size_t i = s->seed; i < s->list->nodes; ++i) {
        struct mf_node *node = &s->list->node[i];

        for (int j = 0; j < MF_INS; ++j) node->in[j] = stand_in(s, node->in[j]);
        for (int j = 0; j < MF_OUTS && node->back; ++j) node->out[j] = stand_in(s, node->out[j]);
    }
}

/* From the last to the first, so that places in the list stay true. */
static void insert(struct spill *s)
{
    for (size_t k = s->events; k-- > 0;) {
        const struct event *e = &s->event[k];

        if (e->ends)
            mf_copy_end(s->list, e->at, e->from, e->to, MF_WAITS_DEVICE);
        else
            mf_copy_begin(s->list, e->at, e->from, e->to);
    }
}

size_t mf_pass_spill(struct mf_list *list, size_t bytes)
{
    struct spill s = {.list = list};

    if (bytes == 0) return 0;
    s.seed = mf_list_seed(list);
    find_trips(&s, bytes);
    plan_copies(&s);
    replace(&s);
    insert(&s);
    for (size_t k = 0; k < s.trips; ++k) mf_copy_end(list, list->nodes, s.trip[k].host, -1, MF_WAITS_HOST);
    free(s.trip);
    free(s.event);
    free(s.back);
    return s.trips;
}
