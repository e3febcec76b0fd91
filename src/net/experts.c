/* See experts.h. */
#include "src/net/experts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/rounds.h"

static const double SLACK = 1.25; /* room for rows of other ranks, in those that come where rows spread evenly */

void mf_experts_first(struct mf_experts *experts, size_t count)
{
    experts->count = count;
    experts->ways = experts->way = experts->tensor = 0;
    for (size_t e = 0; e < count; ++e) experts->id[e] = (long)e;
}

size_t mf_experts_find(const struct mf_experts *experts, long id)
{
    size_t e = 0;

    while (e < experts->count && experts->id[e] != id) ++e;
    return e;
}

int mf_experts_same(const struct mf_experts *a, const struct mf_experts *b)
{
    return a->count == b->count && memcmp(a->id, b->id, a->count * sizeof *a->id) == 0;
}

/* -- parts -- */

struct mf_span mf_experts_part(const struct mf_experts *experts, size_t way)
{
    const size_t first = way > 0 ? experts->end[way - 1] : 0;

    return (struct mf_span){first, experts->end[way] - first};
}

struct mf_span mf_experts_own(const struct mf_experts *experts)
{
    return experts->ways > 1 ? mf_experts_part(experts, experts->way) : (struct mf_span){0, experts->count};
}

size_t mf_experts_traders(const struct mf_experts *experts)
{
    return experts->ways > 1 ? experts->ways / mf_max(1, experts->tensor) : 1;
}

struct mf_span mf_experts_traded(const struct mf_experts *experts)
{
    const size_t traders = mf_experts_traders(experts), first = experts->way / traders * traders;
    struct mf_span all = {0, experts->count};

    if (experts->ways <= 1) return all;
    all.first = mf_experts_part(experts, first).first;
    all.count = experts->end[first + traders - 1] - all.first;
    return all;
}

/* Equal parts, in the order that there is. */
static void cut_evenly(struct mf_experts *experts)
{
    size_t end = 0;

    for (size_t w = 0; w < experts->ways; ++w) experts->end[w] = end += mf_cut(experts->count, experts->ways, w).count;
}

/* The part that would be done first with one more expert: with the least time, then the fewest experts. */
static size_t soonest(size_t ways, const double *time, const double *speed, const size_t *held, double cost)
{
    size_t best = 0;

    for (size_t w = 1; w < ways; ++w) {
        const double one = time[w] + cost / speed[w], other = time[best] + cost / speed[best];

        if (one < other || (one <= other && held[w] < held[best])) best = w;
    }
    return best;
}

/* The costliest expert first (Graham, "Bounds on multiprocessing timing anomalies", 1969). No part stays empty. */
static void assign(const struct mf_experts *experts, const double *cost, const double *speed, size_t *part)
{
    const size_t n = experts->count, ways = experts->ways;
    double time[MF_EXPERTS] = {0};
    size_t held[MF_EXPERTS] = {0}, empty = ways;
    unsigned char done[MF_EXPERTS] = {0};

    for (size_t k = 0; k < n; ++k) {
        size_t e = n, w;

        for (size_t i = 0; i < n; ++i)
            if (!done[i] && (e == n || cost[i] > cost[e])) e = i;
        w = soonest(ways, time, speed, held, cost[e]);
        if (empty >= n - k && held[w] > 0)
            for (w = 0; held[w] > 0;) ++w;
        empty -= held[w]++ == 0;
        time[w] += cost[e] / speed[w];
        done[e] = 1;
        part[e] = w;
    }
}

void mf_experts_share(struct mf_experts *experts, size_t ways, size_t way, const double *cost, const double *speed)
{
    const struct mf_experts before = *experts;
    double same[MF_EXPERTS];
    size_t part[MF_EXPERTS], n = 0;

    experts->ways = ways;
    experts->way = way;
    if (!cost) {
        cut_evenly(experts);
        return;
    }
    for (size_t w = 0; w < ways; ++w) same[w] = 1;
    assign(experts, cost, speed ? speed : same, part);
    for (size_t w = 0; w < ways; ++w) {
        for (size_t e = 0; e < before.count; ++e)
            if (part[e] == w) experts->id[n++] = before.id[e];
        experts->end[w] = n;
    }
}

/* -- weights -- */

/* @p group: of the ranks that have it where this one does not. */
static void part_of(struct mf_build *build, const char *name, int stack, size_t shift, struct mf_shape shape, int away,
                    int group)
{
    const int v = mf_build_part(build, name, stack, shift, shape, away);

    if (v >= 0 && away) build->list->net->value[v].weight->shard.group = group;
}

/* Names the parts of a new stacked parameter, one of each expert. Those of other ranks have no memory. */
static void name_parts(struct mf_build *build, int stack, const struct mf_experts *experts, size_t layer,
                       const char *part)
{
    struct mf_net *net = build->list->net;
    const struct mf_span own = mf_experts_own(experts), traded = mf_experts_traded(experts);
    struct mf_shape shape = net->value[stack].shape;

    --shape.n;
    for (int i = 0; i < shape.n; ++i) shape.d[i] = shape.d[i + 1];
    shape.d[shape.n] = 0;
    net->value[stack].flat = 1;
    if (experts->ways > 1)
        net->value[stack].weight->shard = (struct mf_shard){0, own.first, own.count, experts->count, MF_GROUP_EXPERTS};
    for (size_t e = 0; e < experts->count; ++e) {
        char *name = mf_format("experts.%ld.fc%zu.%s", experts->id[e], layer, part);
        const int is_here = e >= own.first && e < own.first + own.count;

        part_of(build, name, stack, is_here ? (e - own.first) * mf_shape_bytes(&shape) : 0, shape, !is_here,
                e >= traded.first && e < traded.first + traded.count ? MF_GROUP_EXPERTS : MF_GROUP_TENSOR);
        free(name);
    }
}

static int stacked(struct mf_build *build, const struct mf_experts *experts, size_t layer, const char *part,
                   struct mf_shape shape, double spread)
{
    char *name = mf_format("experts.fc%zu.%s", layer, part);
    const size_t before = build->list->net->values;
    const int set = build->set;
    int stack;

    build->set = MF_SET_EXPERTS;
    stack = mf_build_parameter(build, name, shape, MF_START_UNIFORM, spread);
    if (stack >= 0 && build->list->net->values > before) name_parts(build, stack, experts, layer, part);
    build->set = set;
    free(name);
    return stack;
}

/* Layer @p layer of the experts of this rank, on rows in groups of one expert. */
static int layer_of(struct mf_build *build, const struct mf_experts *experts, size_t layer, int rows, int offsets,
                    size_t columns)
{
    const struct mf_attr attr = {.row_groups = (int)(mf_experts_own(experts).count * mf_experts_traders(experts))};
    const struct mf_shape x = mf_build_shape(build, rows);
    const size_t n = mf_experts_own(experts).count, k = mf_shape_last(&x);
    const double spread = 1 / sqrt((double)k);
    const struct mf_shape weight = {.type = MF_F32, .n = 3, .d = {n, columns, k}};
    const struct mf_shape bias = {.type = MF_F32, .n = 2, .d = {n, columns}};
    const int in[] = {rows, stacked(build, experts, layer, "weight", weight, spread),
                      stacked(build, experts, layer, "bias", bias, spread), offsets};
    char *name = mf_format("experts.fc%zu", layer);
    const int out = mf_build_node(build, MF_OP_GROUPED_LINEAR, attr, name, 4, in);

    free(name);
    return out;
}

static int hidden_and_output(struct mf_build *build, int rows, int offsets, const struct mf_mixture *m)
{
    for (size_t layer = 1; layer <= m->depth; ++layer) {
        char *name = mf_format("experts.act%zu", layer);

        rows = mf_build_one(build, MF_OP_RELU, name, layer_of(build, m->experts, layer, rows, offsets, m->width));
        free(name);
    }
    return layer_of(build, m->experts, m->depth + 1, rows, offsets, m->columns);
}

/* -- the layer -- */

int mf_build_scores(struct mf_build *build, const char *name, int x, const struct mf_experts *experts)
{
    const int y = mf_build_linear(build, name, x, experts->count);
    const struct mf_list *list = build->list;

    for (int j = 1; build->rc == MF_OK && j <= 2; ++j)
        list->net->value[list->node[list->nodes - 1].in[j]].weight->by_expert = 1;
    return y;
}

/* The second output of the last node. */
static int second(const struct mf_build *build)
{
    return build->rc == MF_OK ? build->list->node[build->list->nodes - 1].out[1] : -1;
}

static int as_rows(struct mf_build *build, int x)
{
    const struct mf_shape s = mf_build_shape(build, x);

    return mf_build_reshape(build, x, (struct mf_shape){.n = 2, .d = {mf_shape_rows(&s), mf_shape_last(&s)}});
}

/* Rows by expert to what experts make of them. Where ranks share experts, rows travel to these and back. */
static int trade_and_work(struct mf_build *build, int rows, int places, const struct mf_mixture *m)
{
    const struct mf_shape all = mf_build_shape(build, rows);
    const struct mf_span own = mf_experts_own(m->experts), traded = mf_experts_traded(m->experts);
    const size_t ways = mf_experts_traders(m->experts);
    const struct mf_attr there = {.group = MF_GROUP_EXPERTS,
                                  .ways = (int)ways,
                                  .first_expert = own.first - traded.first,
                                  .own_experts = (int)own.count,
                                  .room = mf_rounds_room(all.d[0], ways, own.count, m->experts->count, SLACK)};
    const struct mf_attr back = {.group = MF_GROUP_EXPERTS, .room = all.d[0]};

    if (ways == 1) return hidden_and_output(build, rows, places, m);
    build->region = ++build->list->regions;
    rows = mf_build_node(build, MF_OP_TRADE, there, "experts.there", 2, (const int[]){rows, places});
    rows = hidden_and_output(build, rows, second(build), m);
    rows = mf_build_node(build, MF_OP_TRADE_BACK, back, "experts.back", 2, (const int[]){rows, places});
    build->region = 0;
    return rows;
}

/* They begin with 0, and change from step to step so that all experts get rows. */
static int balance_biases(struct mf_build *build, size_t count)
{
    const struct mf_shape shape = {.type = MF_F32, .n = 1, .d = {count}};
    const int set = build->set;
    int v;

    build->set = MF_SET_BALANCE;
    v = mf_build_parameter(build, "gate.balance_bias", shape, MF_START_NUMBER, 0);
    if (v >= 0) build->list->net->value[v].weight->by_expert = 1;
    build->set = set;
    return v;
}

/* The trainer puts them there, for noise. They are no weights. */
static int ids(struct mf_build *build, size_t count)
{
    const struct mf_shape shape = {.type = MF_I32, .n = 1, .d = {count}};
    const int set = build->set;
    int v;

    build->set = MF_SET_BALANCE;
    v = mf_build_parameter(build, "gate.ids", shape, MF_START_NUMBER, 0);
    if (v >= 0) build->list->net->value[v].flat = 1;
    build->set = set;
    return v;
}

/* All ranks that share layers have it, and each has a part of its gradient. */
static int shared(struct mf_build *build, int x, const struct mf_experts *experts)
{
    struct mf_net *net = build->list->net;

    if (experts->tensor <= 1 || build->rc != MF_OK) return x;
    x = mf_value_view(net, x, 0, net->value[x].shape, "&");
    net->value[x].summed = 1;
    net->value[x].group = MF_GROUP_TENSOR;
    return x;
}

/* Each of these ranks has the rows of its experts. */
static int sum(struct mf_build *build, int y, const struct mf_experts *experts)
{
    if (experts->tensor <= 1 || build->rc != MF_OK) return y;
    build->list->net->value[y].group = MF_GROUP_TENSOR;
    mf_list_sum(build->list, y, build->segment);
    return y;
}

int mf_build_experts(struct mf_build *build, int x, int scores, const struct mf_mixture *m)
{
    struct mf_shape shape = mf_build_shape(build, x);
    const struct mf_attr route = {.choices = m->top,
                                  .sample_rows = mf_shape_rows(&shape) / shape.d[0],
                                  .temperature = m->temperature,
                                  .deviation = m->noise,
                                  .stream = build->dropouts};
    const struct mf_span traded = mf_experts_traded(m->experts);
    const struct mf_attr sort = {.experts = traded.count, .first_expert = traded.first, .capacity = m->capacity};
    const int rows = as_rows(build, x), s = as_rows(build, scores);
    const int in[] = {s, m->balance > 0 ? balance_biases(build, m->experts->count) : -1,
                      m->noise > 0 ? ids(build, m->experts->count) : -1};
    const int weights = mf_build_node(build, MF_OP_ROUTE, route, "route", 3, in), choice = second(build);
    int places, y;

    build->dropouts += m->noise > 0;
    mf_build_two(build, MF_OP_ROUTE_LOAD, "load", s, choice);
    y = mf_build_node(build, MF_OP_PERMUTE, sort, "experts.rows", 2,
                      (const int[]){shared(build, rows, m->experts), choice});
    places = second(build);
    y = trade_and_work(build, y, places, m);
    y = mf_build_node(build, MF_OP_COMBINE, (struct mf_attr){0}, "experts", 3,
                      (const int[]){y, shared(build, weights, m->experts), places});
    y = sum(build, y, m->experts);
    shape.d[shape.n - 1] = m->columns;
    return mf_build_reshape(build, y, shape);
}
