/* See decoder.h. */
#include "src/model/decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/text.h"

static struct mf_shape whole(size_t n) { return (struct mf_shape){.type = MF_I32, .n = 1, .d = {n}}; }

static struct mf_shape whole_rows(size_t n, size_t each)
{
    return (struct mf_shape){.type = MF_I32, .n = 2, .d = {n, each}};
}

/* The builder of a list. */
struct decoder {
    const struct mf_language *m;
    const struct mf_decoder_room *room;
    struct mf_partners split; /* ranks 1: this one has everything */
    struct mf_build b;
    struct mf_decoder_list *to;
};

/* -- parts -- */

/* Columns of this rank's heads. */
static size_t key_width(const struct decoder *d) { return d->m->key_heads / d->split.ranks * d->m->head_width; }

static size_t query_width(const struct decoder *d) { return d->m->heads / d->split.ranks * d->m->head_width; }

/* A weight of which this rank has the part @p own of @p all rows or columns (axis). */
static int cut_weight(struct decoder *d, const char *layer, const char *end, struct mf_shape shape, int axis,
                      struct mf_span own, size_t all)
{
    char name[40];
    int v;

    snprintf(name, sizeof name, "%s.%s", layer, end);
    v = mf_build_parameter(&d->b, name, shape, MF_START_NORMAL, 0.02);
    if (v >= 0 && d->split.ranks > 1 && all > 0)
        d->b.list->net->value[v].weight->shard = (struct mf_shard){axis, own.first, own.count, all, d->split.group};
    return v;
}

static int weight(struct decoder *d, const char *layer, const char *end, struct mf_shape shape)
{
    char name[40];

    snprintf(name, sizeof name, "%s.%s", layer, end);
    return mf_build_parameter(&d->b, name, shape, MF_START_NORMAL, 0.02);
}

/* A table, or the weights of a product, of which this rank may have a part. Weights of 8 bits have *scale, a factor of
 * each row, which no file has. */
static int matrix(struct decoder *d, const char *layer, size_t rows, size_t columns, enum mf_type type,
                  const struct mf_shard *shard, int *scale)
{
    const struct mf_span own = {shard->first, shard->count};
    const int w =
        cut_weight(d, layer, "weight", (struct mf_shape){type, 2, {rows, columns}}, shard->axis, own, shard->of);

    *scale = -1;
    if (type != MF_I8 || w < 0) return w;
    *scale = weight(d, layer, "scale", (struct mf_shape){MF_F32, 1, {rows}});
    if (*scale >= 0) d->b.list->net->value[*scale].weight->set = MF_SET_BORROWED;
    return w;
}

/* x w' or x w' + b, where this rank has @p columns of y. @p shard: of the weights. */
static int times(struct decoder *d, const char *node, const char *name, int x, size_t columns, int bias,
                 const struct mf_shard *shard, enum mf_type type)
{
    const struct mf_shape shape = mf_build_shape(&d->b, x), row = {MF_F32, 1, {columns}};
    int in[4] = {x, -1, -1, -1};

    in[1] = matrix(d, name, columns, mf_shape_last(&shape), type, shard, &in[3]);
    if (bias) in[2] = cut_weight(d, name, "bias", row, 0, (struct mf_span){shard->first, shard->count}, shard->of);
    return mf_build_steady_linear(&d->b, node, in);
}

static const struct mf_shard whole_weight = {0};

/* The type of a table or of a product in memory. */
static enum mf_type type_of(const struct decoder *d, const char *name)
{
    char *full = mf_build_name(&d->b, name), *weight = mf_format("%s.weight", full);
    const enum mf_type type = mf_language_type(d->m, weight);

    free(full);
    free(weight);
    return type;
}

static int product(struct decoder *d, const char *name, int x, size_t columns, int bias)
{
    return times(d, name, name, x, columns, bias, &whole_weight, type_of(d, name));
}

/* The same, with this rank's part of @p columns. */
static int first_product(struct decoder *d, const char *name, int x, size_t columns, int bias)
{
    const size_t n = columns / d->split.ranks;
    const struct mf_shard shard = {.first = n * d->split.rank, .count = n, .of = columns};

    return times(d, name, name, x, n, bias, &shard, type_of(d, name));
}

/* Appends the sum over the ranks that share the layers. */
static int summed(struct decoder *d, int y)
{
    if (y < 0 || d->split.ranks == 1) return y;
    d->b.list->net->value[y].group = d->split.group;
    mf_list_sum(d->b.list, y, d->b.segment);
    return y;
}

/* The product behind it, whose input is this rank's part. Every rank adds the bias, behind the sum. */
static int second_product(struct decoder *d, const char *name, int x, size_t columns, int bias)
{
    const struct mf_shape shape = mf_build_shape(&d->b, x);
    const size_t n = mf_shape_last(&shape);
    const struct mf_shard shard = {1, n * d->split.rank, n, n * d->split.ranks, 0};
    int y;

    if (d->split.ranks == 1) return product(d, name, x, columns, bias);
    y = summed(d, times(d, "part", name, x, columns, 0, &shard, type_of(d, name)));
    if (!bias) return y;
    return mf_build_two(&d->b, MF_OP_ADD, name, y, weight(d, name, "bias", (struct mf_shape){MF_F32, 1, {columns}}));
}

static int is_rms(const struct mf_language *m) { return m->family != MF_GPT2 && m->family != MF_OPT; }

static int norm(struct decoder *d, const char *name, int x)
{
    return is_rms(d->m) ? mf_build_rms_norm(&d->b, name, x, d->m->epsilon)
                        : mf_build_layer_norm_by(&d->b, name, x, d->m->epsilon);
}

static int part(struct decoder *d, const char *name, int x, size_t first, size_t count)
{
    return mf_build_slice(&d->b, name, x, 1, first, count);
}

static int turned(struct decoder *d, const char *name, int x, size_t heads)
{
    if (d->to->frequencies < 0) return x;
    return mf_build_rope(&d->b, name, x, d->to->positions, d->to->frequencies, (int)heads);
}

/* A cache, which all lists share: so many numbers for each position. */
static int cache(struct decoder *d, const char *name, enum mf_type type, size_t width)
{
    const struct mf_shape shape = {.type = type, .n = 2, .d = {d->room->pages * MF_KEPT_PAGE, width}};
    const int v = mf_value_find(d->b.list->net, name);

    return v >= 0 ? v : mf_value_new(d->b.list->net, MF_ROLE_ACTIVATION, shape, "%s", name);
}

static int layer_cache(struct decoder *d, const char *what, size_t layer)
{
    char name[60];

    snprintf(name, sizeof name, "cache.%s.%zu", what, layer);
    return cache(d, name, MF_F32, key_width(d));
}

static int attention(struct decoder *d, int x, size_t layer)
{
    const struct mf_language *m = d->m;
    const size_t q = query_width(d), k = key_width(d), ranks = d->split.ranks;
    const int keys = layer_cache(d, "keys", layer), values = layer_cache(d, "values", layer);
    const int qkv = first_product(d, "qkv", x, (q + 2 * k) * ranks, m->attention_bias);
    const int query = turned(d, "query_turned", part(d, "query", qkv, 0, q), m->heads / ranks);
    const int key = turned(d, "key_turned", part(d, "key", qkv, q, k), m->key_heads / ranks);
    const int in[] = {query, keys, values, d->to->pages, d->to->who};
    const struct mf_attr attr = {
        .heads = (int)(m->heads / ranks), .kv_heads = (int)(m->key_heads / ranks), .window = m->window};

    mf_build_keep(&d->b, "keep_keys", key, keys, d->to->places);
    mf_build_keep(&d->b, "keep_values", part(d, "value", qkv, q + k, k), values, d->to->places);
    return second_product(d, "out", mf_build_attention_kept(&d->b, "attention", in, attr), m->width, m->attention_bias);
}

static enum mf_op_id act_of(enum mf_act act)
{
    switch (act) {
    case MF_ACT_RELU: return MF_OP_RELU;
    case MF_ACT_SILU: return MF_OP_SILU;
    case MF_ACT_GELU: return MF_OP_GELU;
    default: return MF_OP_GELU_TANH;
    }
}

static int is_gated(const struct mf_language *m) { return is_rms(m); }

static int inner(struct decoder *d, int x)
{
    const struct mf_language *m = d->m;
    int h;

    if (is_gated(m))
        h = mf_build_one(&d->b, MF_OP_GATED, "gated", first_product(d, "in", x, 2 * m->inner, m->inner_bias));
    else
        h = mf_build_one(&d->b, act_of(m->act), "act", first_product(d, "in", x, m->inner, m->inner_bias));
    return second_product(d, "inner", h, m->width, m->inner_bias);
}

/* -- experts -- */

/* Arrays of all experts, one behind the other. An expert has a view of them, experts.ID.NAME.END, of shape @p one. This
 * rank may have a part of each. @p shard: NULL: no file has them. */
static int stacked(struct decoder *d, const char *name, const char *end, struct mf_shape one,
                   const struct mf_shard *shard)
{
    const size_t experts = d->m->experts, before = d->b.list->net->values;
    struct mf_shape all = {one.type, one.n + 1, {experts}};
    char text[60];
    int stack, part;

    for (int i = 0; i < one.n; ++i) all.d[i + 1] = one.d[i];
    snprintf(text, sizeof text, "experts.%s.%s", name, end);
    stack = mf_build_parameter(&d->b, text, all, MF_START_NORMAL, 0.02);
    if (stack < 0 || before == d->b.list->net->values) return stack; /* another list made them */
    d->b.list->net->value[stack].flat = 1;
    if (!shard) d->b.list->net->value[stack].weight->set = MF_SET_BORROWED;
    for (size_t e = 0; e < experts; ++e) {
        snprintf(text, sizeof text, "experts.%zu.%s.%s", e, name, end);
        part = mf_build_part(&d->b, text, stack, e * mf_shape_bytes(&one), one, 0);
        if (part >= 0 && shard) d->b.list->net->value[part].weight->shard = *shard;
    }
    return stack;
}

/* A product of rows in groups of one expert, with the weights [rows][columns] of each. Ranks share all experts, and cut
 * the weights along @p axis. */
static int expert_product(struct decoder *d, const char *name, int x, int offsets, size_t rows, int axis)
{
    const struct mf_attr attr = {.row_groups = (int)d->m->experts, .steady = 1};
    const struct mf_shape in = mf_build_shape(&d->b, x);
    struct mf_shape one = {MF_F32, 2, {rows, mf_shape_last(&in)}};
    const size_t n = one.d[axis], ranks = d->split.ranks;
    const struct mf_shard cut = {axis, n * d->split.rank, n, n * ranks, d->split.group};
    int from[] = {x, -1, -1, offsets, -1};
    char text[60];

    snprintf(text, sizeof text, "experts.%s", name);
    one.type = type_of(d, text);
    from[1] = stacked(d, name, "weight", one, ranks > 1 ? &cut : &whole_weight);
    if (one.type == MF_I8) from[4] = stacked(d, name, "scale", (struct mf_shape){MF_F32, 1, {rows}}, NULL);
    return mf_build_node(&d->b, MF_OP_GROUPED_LINEAR, attr, text, 5, from);
}

/* The second output of the last node. */
static int second(const struct decoder *d)
{
    return d->b.rc == MF_OK ? d->b.list->node[d->b.list->nodes - 1].out[1] : -1;
}

/* Each row goes to the experts with the highest scores, by the softmax of these scores (A. Q. Jiang et al., "Mixtral of
 * experts", arXiv:2401.04088, 2024). The last softmax matters where one expert is chosen. */
static int experts(struct decoder *d, int x)
{
    const struct mf_language *m = d->m;
    const int scores = times(d, "router", "router", x, m->experts, 0, &whole_weight, MF_F32);
    const struct mf_attr route = {.choices = m->chosen, .temperature = 1}, permute = {.experts = m->experts};
    int weights = mf_build_node(&d->b, MF_OP_ROUTE, route, "route", 1, &scores), places, y;
    const int in[] = {x, second(d)};

    if (m->chosen == 1) weights = mf_build_one(&d->b, MF_OP_SOFTMAX, "alone", weights);
    y = mf_build_node(&d->b, MF_OP_PERMUTE, permute, "experts.rows", 2, in);
    places = second(d);
    y = expert_product(d, "in", y, places, 2 * m->inner / d->split.ranks, 0);
    y = expert_product(d, "inner", mf_build_one(&d->b, MF_OP_GATED, "experts.gated", y), places, m->width, 1);
    y = mf_build_node(&d->b, MF_OP_COMBINE, (struct mf_attr){0}, "experts", 3, (const int[]){y, weights, places});
    return summed(d, y);
}

/* -- the whole -- */

/* A part of a layer and its norm, which stands in front of it or behind the sum. */
static int add(struct decoder *d, const char *name, const char *sum, int x, int y)
{
    const int added = mf_build_two(&d->b, MF_OP_ADD, sum, x, y);

    return d->m->norms_behind ? norm(d, name, added) : added;
}

static int layer(struct decoder *d, int x, size_t number)
{
    const int before = !d->m->norms_behind;
    int y;

    mf_build_block(&d->b, "layers", (long)number);
    x = add(d, "first", "with_attention", x, attention(d, before ? norm(d, "first", x) : x, number));
    y = before ? norm(d, "second", x) : x;
    x = add(d, "second", "with_inner", x, d->m->experts ? experts(d, y) : inner(d, y));
    mf_build_block(&d->b, NULL, -1);
    return x;
}

/* Rows of each rank's part of a table of tokens; the last parts may have fewer. Logits of 16 tokens are exchanged
 * together. */
static size_t table_rows(const struct decoder *d)
{
    const size_t n = d->m->vocabulary, ranks = d->split.ranks;

    return ranks == 1 ? n : ((n + ranks - 1) / ranks + 15) / 16 * 16;
}

static int table(struct decoder *d, const char *name, int *scale)
{
    const size_t n = d->m->vocabulary, rows = table_rows(d), first = mf_min(rows * d->split.rank, n);
    const struct mf_shard shard = {.first = first, .count = mf_min(rows, n - first), .of = n};

    return matrix(d, name, rows, d->m->embedding, type_of(d, name), &shard, scale);
}

static int embedded(struct decoder *d)
{
    const struct mf_language *m = d->m;
    int in[3] = {-1, d->to->own_tokens, -1}, x;

    in[0] = table(d, "tokens", &in[2]);
    x = summed(d, mf_build_node(&d->b, MF_OP_GATHER, (struct mf_attr){.wide = 1}, "tokens", 3, in));
    d->to->first_token = table_rows(d) * d->split.rank;

    if (m->embedding != m->width) x = product(d, "before", x, m->width, 0);
    if (m->rope.kind != MF_ROPE_NONE) return x;
    return mf_build_two(&d->b, MF_OP_ADD, "placed", x,
                        mf_build_embedding(&d->b, "positions", d->to->positions, m->context + m->shift, m->width));
}

/* Each rank has the logits of its tokens: [ranks][rows][tokens of a rank]. */
static int gathered(struct decoder *d, int y)
{
    struct mf_net *net = d->b.list->net;
    const struct mf_shape own = mf_build_shape(&d->b, y);
    const size_t rows = mf_shape_rows(&own), n = mf_shape_last(&own), ranks = d->split.ranks;
    const struct mf_shape flat = {MF_F32, 2, {rows, ranks * n}};
    int all;

    if (d->b.rc != MF_OK) return -1;
    all = mf_value_new(net, MF_ROLE_ACTIVATION, (struct mf_shape){MF_F32, 3, {ranks, rows, n}}, "%s.all",
                       d->b.list->name);
    net->value[all].group = d->split.group;
    d->b.list->node[d->b.list->nodes - 1].out[0] =
        mf_value_view(net, all, d->split.rank * mf_shape_bytes(&own), own, "own");
    mf_list_gather(d->b.list, all, d->b.segment);
    y = mf_build_transpose(&d->b, "logits_beside", all, 0, 1);
    return mf_build_slice(&d->b, "logits", mf_build_reshape(&d->b, y, flat), 1, 0, d->m->vocabulary);
}

/* The last product, by the table of tokens or a weight of its own. */
static int logits(struct decoder *d, int x)
{
    int in[4] = {x, -1, -1, -1}, y;

    in[1] = table(d, d->m->tied ? "tokens" : "head", &in[3]);
    y = mf_build_steady_linear(&d->b, "logits", in);
    return d->split.ranks == 1 ? y : gathered(d, y);
}

/* The next token. It depends on those before it, which are kept. */
static int picked(struct decoder *d)
{
    struct mf_decoder_list *to = d->to;
    const int kept = cache(d, "cache.tokens", MF_I32, 1), in[] = {to->logits, to->wishes, to->numbers, kept, to->pages};

    mf_build_keep(&d->b, "keep_tokens", mf_build_reshape(&d->b, to->tokens, whole_rows(to->rows, 1)), kept, to->places);
    return mf_build_pick(&d->b, "picked", in);
}

static void inputs(struct decoder *d)
{
    struct mf_decoder_list *to = d->to;
    const struct mf_decoder_room *room = d->room;

    to->tokens = to->own_tokens = mf_build_input(&d->b, "in.tokens", whole(to->rows));
    if (d->split.ranks > 1) to->own_tokens = mf_build_input(&d->b, "in.own_tokens", whole(to->rows));
    to->positions = mf_build_input(&d->b, "in.positions", whole(to->rows));
    to->places = mf_build_input(&d->b, "in.places", whole(to->rows));
    to->who = mf_build_input(&d->b, "in.who", whole_rows(to->rows, 2));
    to->pages = mf_build_input(&d->b, "in.pages", whole_rows(room->requests, room->pages_each));
    to->last = mf_build_input(&d->b, "in.last", whole(to->answers));
    to->wishes = mf_build_input(&d->b, "in.wishes",
                                (struct mf_shape){.type = MF_F32, .n = 2, .d = {to->answers, MF_PICK_WISHES}});
    to->numbers = mf_build_input(&d->b, "in.numbers", whole_rows(to->answers, MF_PICK_NUMBERS));
    to->frequencies = -1;
    if (d->m->rope.kind != MF_ROPE_NONE)
        to->frequencies = mf_build_input(&d->b, "in.frequencies",
                                         (struct mf_shape){.type = MF_F32, .n = 1, .d = {d->m->head_width / 2}});
}

static int can_share(const struct mf_language *m, size_t ranks)
{
    return ranks == 1 || (m->heads % ranks == 0 && m->key_heads % ranks == 0 && m->inner % ranks == 0);
}

int mf_decoder_can_split(const struct mf_language *m, size_t ranks)
{
    size_t most = m->key_heads;

    if (can_share(m, ranks)) return MF_OK;
    while (!can_share(m, most)) --most;
    return mf_fail(MF_USAGE,
                   "%zu ranks cannot share layers of %zu heads, %zu heads of keys and %zu inner columns; numbers that "
                   "divide all three can, and the largest is %zu",
                   ranks, m->heads, m->key_heads, m->inner, most);
}

int mf_decoder_build(const struct mf_language *m, const struct mf_decoder_room *room, const struct mf_partners *split,
                     struct mf_net *net, const char *name, size_t rows, size_t answers, struct mf_decoder_list *to)
{
    struct decoder d = {.m = m, .room = room, .split = {.ranks = 1}, .b = {.list = mf_list_new(net, name)}, .to = to};
    int x;

    if (split) d.split = *split;
    MF_TRY(mf_decoder_can_split(m, d.split.ranks));
    *to = (struct mf_decoder_list){.list = d.b.list, .rows = rows, .answers = answers};
    inputs(&d);
    x = embedded(&d);
    for (size_t k = 0; k < m->layers; ++k) x = layer(&d, x, k);
    x = mf_build_two(&d.b, MF_OP_GATHER, "wanted", x, to->last);
    if (m->last_norm) x = norm(&d, "last", x);
    if (m->embedding != m->width) x = product(&d, "behind", x, m->embedding, 0);
    to->logits = logits(&d, x);
    to->picked = picked(&d);
    MF_TRY(mf_build_end(&d.b));
    net->value[to->logits].kept = net->value[to->picked].kept = 1;
    return MF_OK;
}
