/* The pass layout: parameters, gradients and moments as flat arrays. */
#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

enum {
    LINE = 64, /* bytes at which a tensor begins */
    SMALL = 16 /* a bucket is small below this part of the usual size */
};

struct place {
    int parameter;
    ptrdiff_t written; /* the last node that writes its gradient */
    int segment;       /* of that node */
    const struct mf_weight *weight;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->written != y->written) return x->written < y->written ? -1 : 1;
    return x->parameter - y->parameter;
}

/* In a bucket, those stand side by side that are optimised alike. */
static int by_group(const void *a, const void *b)
{
    const struct mf_weight *x = ((const struct place *)a)->weight, *y = ((const struct place *)b)->weight;

    if (x->plain != y->plain) return x->plain - y->plain;
    if (x->factor != y->factor) return x->factor < y->factor ? -1 : 1;
    return by_place(a, b);
}

static struct place place_of(const struct mf_list *list, const struct mf_uses *uses, int parameter)
{
    const struct mf_weight *weight = list->net->value[parameter].weight;
    const ptrdiff_t written = mf_uses_last(uses, list->net, weight->gradient, MF_WRITES);

    return (struct place){parameter, written, written < 0 ? 0 : list->node[written].segment, weight};
}

/* The trained parameters in the order in which backward finishes their gradients. */
static struct place *places(const struct mf_list *list, unsigned sets, size_t *n)
{
    const struct mf_net *net = list->net;
    struct place *place = MF_MUST(malloc((net->values + 1) * sizeof *place), "an order of parameters");
    struct mf_uses uses;

    *n = 0;
    mf_uses_make(list, &uses);
    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];

        if (value->base < 0 && mf_value_in(value, sets) && value->weight->gradient >= 0)
            place[(*n)++] = place_of(list, &uses, (int)v);
    }
    mf_uses_free(&uses);
    qsort(place, *n, sizeof *place, by_place);
    return place;
}

static struct mf_shape flat(size_t numbers) { return (struct mf_shape){.type = MF_F32, .n = 1, .d = {numbers}}; }

/* The own piece of an array; all of it where there is one piece. */
static int piece_of(struct mf_net *net, int array, const struct mf_bucket *bucket)
{
    const size_t numbers = net->value[array].shape.d[0] / bucket->pieces;

    if (bucket->pieces == 1) return array;
    return mf_value_view(net, array, bucket->piece * numbers * sizeof(float), flat(numbers), ".own");
}

static int in_host_memory(struct mf_net *net, int value)
{
    net->value[value].place = MF_PLACE_HOST;
    return value;
}

/* What the optimiser works on in host memory. In stage 3 the own piece of the parameters is nowhere else. */
static void move_bucket(struct mf_net *net, const char *name, struct mf_bucket *b, size_t k)
{
    const struct mf_shape all = net->value[b->parameters].shape;

    if (net->value[b->parameters].role == MF_ROLE_PARAMETER)
        b->master = in_host_memory(net, mf_value_new(net, MF_ROLE_PARAMETER, all, "%s.master.%zu", name, k));
    b->total = in_host_memory(net, mf_value_new(net, MF_ROLE_GRADIENT, all, "%s.total.%zu", name, k));
    net->value[b->master].flat = 1;
    in_host_memory(net, b->first);
    in_host_memory(net, b->second);
    in_host_memory(net, b->average);
}

/* Its sums are as large as theirs, and so stand among the arrays of this group. */
static void exchange_in_group(struct mf_net *net, const struct mf_bucket *b)
{
    const int array[] = {b->parameters, b->gradients, b->master, b->total, b->own_gradients};

    for (size_t k = 0; k < sizeof array / sizeof *array; ++k) net->value[array[k]].group = b->group;
}

static void new_bucket(struct mf_net *net, const char *name, size_t numbers, struct mf_layout *layout)
{
    struct mf_bucket *b = &layout->bucket[layout->buckets];
    const struct mf_shape own = flat(numbers / layout->pieces);
    const size_t k = layout->buckets++;

    b->group = layout->group;
    b->pieces = layout->pieces;
    b->piece = layout->piece;
    b->copies = layout->copies;
    b->parameters = mf_value_new(net, layout->stage == 3 ? MF_ROLE_ACTIVATION : MF_ROLE_PARAMETER, flat(numbers),
                                 "%s.parameters.%zu", name, k);
    net->value[b->parameters].flat = 1;
    b->gradients = mf_value_new(net, MF_ROLE_GRADIENT, flat(numbers), "%s.gradients.%zu", name, k);
    b->first = mf_value_new(net, MF_ROLE_OPTIMISER, own, "%s.first.%zu", name, k);
    b->second = mf_value_new(net, MF_ROLE_OPTIMISER, own, "%s.second.%zu", name, k);
    b->average = mf_value_new(net, MF_ROLE_OPTIMISER, own, "%s.average.%zu", name, k);
    b->master = b->parameters;
    b->total = b->gradients;
    if (layout->offload) move_bucket(net, name, b, k);
    b->own_parameters = layout->stage == 3 ? mf_value_new(net, MF_ROLE_PARAMETER, own, "%s.parameters.%zu.own", name, k)
                                           : piece_of(net, b->master, b);
    net->value[b->own_parameters].flat = 1;
    net->value[b->own_parameters].place = net->value[b->total].place;
    b->own_gradients = b->summed = piece_of(net, b->total, b);
    if (layout->stage >= 2) b->own_gradients = mf_value_new(net, MF_ROLE_GRADIENT, own, "%s.sums.%zu", name, k);
    net->value[b->own_gradients].place = net->value[b->total].place;
    exchange_in_group(net, b);
    layout->numbers += numbers;
}

/* The parameters place[from .. to) become views of one bucket. */
static void fill_bucket(struct mf_net *net, const char *name, struct place *place, size_t from, size_t to,
                        struct mf_layout *layout)
{
    const size_t unit = LINE * layout->pieces;
    size_t bytes = 0;

    qsort(place + from, to - from, sizeof *place, by_group);
    for (size_t k = from; k < to; ++k) bytes += mf_whole_lines(mf_shape_bytes(&net->value[place[k].parameter].shape));
    new_bucket(net, name, (bytes + unit - 1) / unit * unit / sizeof(float), layout);
    bytes = 0;
    for (size_t k = from; k < to; ++k) {
        const struct mf_bucket *bucket = &layout->bucket[layout->buckets - 1];
        struct mf_value *parameter = &net->value[place[k].parameter],
                        *gradient = &net->value[parameter->weight->gradient];

        parameter->base = bucket->parameters;
        gradient->base = bucket->gradients;
        parameter->shift = gradient->shift = bytes;
        bytes += mf_whole_lines(mf_shape_bytes(&parameter->shape));
    }
}

/* Does another bucket begin with place[to]? This one has @p size bytes; with that parameter it had @p next. In stage 3
 * a bucket is a block, or several small ones, since every exchange makes ranks wait for each other. */
static int begins(const struct mf_layout *layout, const struct place *place, size_t to, size_t size, size_t next,
                  size_t bytes)
{
    const int is_block = layout->stage == 3 && place[to].segment != place[to - 1].segment;

    return next > bytes || (is_block && size >= bytes / SMALL);
}

static int by_written(const void *a, const void *b)
{
    const struct mf_bucket *x = a, *y = b;

    if (x->written != y->written) return x->written < y->written ? -1 : 1;
    return x->parameters - y->parameters;
}

/* Exchanges begin in the order of the buckets, as soon as backward has written each. */
static void sort_buckets(const struct mf_list *list, struct mf_layout *layout)
{
    struct mf_uses uses;

    mf_uses_make(list, &uses);
    for (size_t k = 0; k < layout->buckets; ++k)
        layout->bucket[k].written = mf_uses_last(&uses, list->net, layout->bucket[k].gradients, MF_WRITES);
    mf_uses_free(&uses);
    qsort(layout->bucket, layout->buckets, sizeof *layout->bucket, by_written);
}

void mf_pass_layout(const struct mf_list *list, unsigned sets, size_t bytes, struct mf_layout *layout)
{
    struct mf_net *net = list->net;
    size_t n, to;
    struct place *place = places(list, sets, &n);

    if (layout->pieces == 0 || layout->stage == 0) layout->pieces = 1;
    layout->bucket = MF_MUST(realloc(layout->bucket, (layout->buckets + n + 1) * sizeof *layout->bucket), "buckets");
    for (size_t from = 0; from < n; from = to) {
        size_t size = 0;

        for (to = from; to < n; ++to) {
            const size_t next = size + mf_whole_lines(mf_shape_bytes(&net->value[place[to].parameter].shape));

            if (to > from && begins(layout, place, to, size, next, bytes)) break;
            size = next;
        }
        fill_bucket(net, list->name, place, from, to, layout);
    }
    free(place);
    sort_buckets(list, layout);
}

void mf_layout_free(struct mf_layout *layout)
{
    free(layout->bucket);
    *layout = (struct mf_layout){0};
}

/* -- padding -- */

/* The parameters whose gradients are views of @p array, by their beginnings. */
struct part {
    size_t from, to; /* [bytes] */
    const struct mf_weight *weight;
};

static int by_beginning(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

static struct part *parts_of(const struct mf_net *net, int array, size_t *n)
{
    struct part *part = MF_MUST(malloc((net->values + 1) * sizeof *part), "parts of an array");

    *n = 0;
    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];

        if (mf_value_gradient(value) >= 0 && net->value[mf_value_gradient(value)].base == array)
            part[(*n)++] = (struct part){value->shift, value->shift + mf_shape_bytes(&value->shape), value->weight};
    }
    qsort(part, *n, sizeof *part, by_beginning);
    return part;
}

static void clear(struct mf_list *list, size_t at, int array, size_t from, size_t to)
{
    struct mf_net *net = list->net;

    if (from < to)
        mf_list_insert(list, at, MF_OP_FILL, net->value[array].name)->out[0] =
            mf_value_view(net, array, from, flat((to - from) / sizeof(float)), ".gap");
}

/* Before the first node that writes the array. */
static void clear_gaps(struct mf_list *list, int array)
{
    struct mf_uses uses;
    size_t n, end = 0, at;
    struct part *part = parts_of(list->net, array, &n);

    mf_uses_make(list, &uses);
    at = uses.first[array] < uses.first[array + 1] ? uses.use[uses.first[array]].node : list->nodes;
    mf_uses_free(&uses);
    for (size_t k = 0; k < n; ++k) {
        clear(list, at, array, end, part[k].from);
        end = part[k].to;
    }
    clear(list, at, array, end, mf_shape_bytes(&list->net->value[array].shape));
    free(part);
}

void mf_pass_clear(struct mf_list *list, const struct mf_layout *layout)
{
    for (size_t k = 0; k < layout->buckets; ++k) clear_gaps(list, layout->bucket[k].gradients);
}

/* -- what works on the arrays -- */

void mf_pass_norm(struct mf_list *list, const struct mf_layout *layout, int *norm)
{
    for (size_t k = 0; k < layout->buckets; ++k) {
        const int gradients = layout->bucket[k].own_gradients;
        const struct mf_attr none = {0};

        MF_ASSERT(mf_list_apply(list, MF_OP_SQUARE_SUM, &none, list->net->value[gradients].name, 1, &gradients,
                                &norm[k]) == MF_OK);
        list->net->value[norm[k]].kept = 1;
    }
}

/* Numbers [first, first + count) of an array; -1: there is none. */
static int range_of(struct mf_net *net, int array, size_t first, size_t count)
{
    if (array < 0 || count == net->value[array].shape.d[0]) return array;
    array = mf_value_view(net, array, first * sizeof(float), flat(count), ".range");
    net->value[array].flat = 1;
    return array;
}

/* @p of: optimises these numbers of the own piece. */
static void optimise_range(struct mf_list *list, const struct mf_bucket *bucket, const struct mf_node *of, size_t first,
                           size_t count)
{
    struct mf_node *node = mf_list_insert(list, list->nodes, of->op, list->net->value[bucket->parameters].name);

    node->attr = of->attr;
    for (int j = 0; j < 4; ++j) node->in[j] = range_of(list->net, of->in[j], first, count);
}

static int are_alike(const struct part *a, const struct part *b)
{
    return a->weight->plain == b->weight->plain && a->weight->factor == b->weight->factor;
}

/* Padding belongs to the parameters before it. */
static void optimise_bucket(struct mf_list *list, const struct mf_bucket *bucket, struct mf_node *of)
{
    const size_t all = list->net->value[bucket->gradients].shape.d[0], own = all / bucket->pieces;
    const size_t begin = bucket->pieces > 1 ? bucket->piece * own : 0;
    size_t n;
    struct part *part = parts_of(list->net, bucket->gradients, &n);

    for (size_t k = 0, next; k < n; k = next) {
        size_t from, to;

        for (next = k + 1; next < n && are_alike(&part[k], &part[next]);) ++next;
        from = mf_max(part[k].from / sizeof(float), begin);
        to = mf_min(next < n ? part[next].from / sizeof(float) : all, begin + own);
        of->attr.factor = part[k].weight->factor;
        of->attr.plain = part[k].weight->plain;
        if (from < to) optimise_range(list, bucket, of, from - begin, to - from);
    }
    free(part);
}

void mf_pass_optimise(struct mf_list *list, const struct mf_layout *layout, enum mf_op_id op,
                      const struct mf_attr *attr)
{
    static const struct mf_attr usual = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8};

    if (!attr) attr = &usual;
    for (size_t k = 0; k < layout->buckets; ++k) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        struct mf_node of = {.op = op,
                             .attr = *attr,
                             .in = {bucket->own_parameters, bucket->own_gradients,
                                    op == MF_OP_SGD && attr->momentum <= 0 ? -1 : bucket->first,
                                    op == MF_OP_SGD ? -1 : bucket->second}};

        optimise_bucket(list, bucket, &of);
    }
}

/* -- moving averages -- */

static void copy(struct mf_list *list, int from, int to)
{
    struct mf_node *node = mf_list_insert(list, list->nodes, MF_OP_SLICE, list->net->value[to].name);

    node->in[0] = from;
    node->out[0] = to;
    node->attr.count = list->net->value[from].shape.d[0];
}

void mf_pass_average_begin(struct mf_list *list, const struct mf_layout *layout)
{
    for (size_t k = 0; k < layout->buckets; ++k)
        copy(list, layout->bucket[k].own_parameters, layout->bucket[k].average);
}

void mf_pass_average(struct mf_list *list, const struct mf_layout *layout, double keep)
{
    for (size_t k = 0; k < layout->buckets; ++k) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        struct mf_node *node = mf_list_insert(list, list->nodes, MF_OP_AVERAGE, list->net->value[bucket->average].name);

        node->in[0] = bucket->average;
        node->in[1] = bucket->own_parameters;
        node->attr.momentum = keep;
    }
}

void mf_pass_average_swap(struct mf_list *list, const struct mf_layout *layout)
{
    struct mf_net *net = list->net;

    for (size_t k = 0; k < layout->buckets; ++k) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        const int kept = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[bucket->average].shape, "%s'",
                                      net->value[bucket->average].name);

        net->value[kept].place = net->value[bucket->average].place;
        copy(list, bucket->own_parameters, kept);
        copy(list, bucket->average, bucket->own_parameters);
        copy(list, kept, bucket->average);
    }
}

void mf_pass_accumulate(struct mf_list *list)
{
    for (size_t i = 0; i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            struct mf_node *node = &list->node[i];

            if (node->din[j] >= 0 && list->net->value[node->din[j]].role == MF_ROLE_GRADIENT) node->add |= 1u << j;
        }
}
