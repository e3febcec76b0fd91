/* The pass stream: weights that are not on the device come while a list is walked. */
#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/net/copies.h"
#include "src/net/pass.h"

enum { LINE = 64 /* bytes at which a tensor begins */ };

static struct mf_shape flat(size_t bytes)
{
    return (struct mf_shape){.type = MF_F32, .n = 1, .d = {bytes / sizeof(float)}};
}

/* -- buckets -- */

static size_t bytes_in(const struct mf_net *net, const int *number, size_t values, int k)
{
    size_t bytes = 0;

    for (size_t v = 0; v < values; ++v)
        if (number[v] == k) bytes += mf_whole_lines(mf_shape_bytes(&net->value[v].shape));
    return bytes;
}

static int new_array(struct mf_net *net, enum mf_role role, enum mf_place place, size_t bytes, size_t k)
{
    const int v = mf_value_new(net, role, flat(bytes), "streamed.%zu%s", k, role == MF_ROLE_PARAMETER ? ".own" : "");

    net->value[v].place = place;
    net->value[v].flat = 1;
    return v;
}

/* Weights become views of their bucket. In host memory this rank has all of it. */
static void fill(struct mf_net *net, const int *number, size_t values, size_t k, struct mf_layout *layout)
{
    struct mf_bucket *b = &layout->bucket[layout->buckets++];
    const size_t unit = LINE * layout->pieces, bytes = bytes_in(net, number, values, (int)k);
    const size_t all = (bytes + unit - 1) / unit * unit;
    size_t shift = 0;

    *b = (struct mf_bucket){.group = layout->group, .pieces = layout->pieces, .piece = layout->piece};
    b->own_parameters =
        new_array(net, MF_ROLE_PARAMETER, layout->offload ? MF_PLACE_HOST : MF_PLACE_DEVICE, all / layout->pieces, k);
    b->parameters =
        layout->pieces > 1 ? new_array(net, MF_ROLE_ACTIVATION, MF_PLACE_DEVICE, all, k) : b->own_parameters;
    b->master = b->parameters;
    for (size_t v = 0; v < values; ++v) {
        if (number[v] != (int)k) continue;
        net->value[v].base = b->parameters;
        net->value[v].shift = shift;
        shift += mf_whole_lines(mf_shape_bytes(&net->value[v].shape));
    }
}

/* Views of a bucket are where it is. */
static void place(struct mf_net *net, const struct mf_layout *layout)
{
    for (size_t v = 0; layout->offload && v < net->values; ++v)
        for (size_t k = 0; k < layout->buckets; ++k)
            if (mf_value_root(net, (int)v, NULL) == layout->bucket[k].own_parameters)
                net->value[v].place = MF_PLACE_HOST;
}

/* -- lists -- */

/* A time in which a bucket is on the device. */
struct arrival {
    size_t bucket, first, last; /* nodes that read it */
    int array;
};

struct arrivals {
    struct mf_list *list;
    const struct mf_layout *layout;
    size_t count;
    struct arrival *at;
    int *now; /* [buckets] the last arrival of each; -1: none yet */
};

static int bucket_of(const struct arrivals *a, int value)
{
    const int root = mf_value_root(a->list->net, value, NULL);

    for (size_t k = 0; k < a->layout->buckets; ++k)
        if (a->layout->bucket[k].parameters == root) return (int)k;
    return -1;
}

static int arrive(struct arrivals *a, size_t bucket, size_t node)
{
    struct mf_net *net = a->list->net;
    const struct mf_bucket *b = &a->layout->bucket[bucket];
    const int array = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[b->parameters].shape, "streamed.%zu", bucket);

    net->value[array].group = b->group;
    a->at = MF_MUST(realloc(a->at, (a->count + 1) * sizeof *a->at), "arrivals of weights");
    a->at[a->count] = (struct arrival){bucket, node, node, array};
    return a->now[bucket] = (int)a->count++;
}

/* Others came since it was last read, so its memory was free: embeddings that the head reads again. */
static int has_left(const struct arrivals *a, const struct arrival *of) { return a->at[a->count - 1].first > of->last; }

/* A node reads this in the place of a weight. */
static int view_of(struct mf_net *net, int value, int array)
{
    const int view = mf_value_new(net, MF_ROLE_PARAMETER, net->value[value].shape, "%s'", net->value[value].name);
    size_t shift;

    (void)mf_value_root(net, value, &shift);
    net->value[view].base = array;
    net->value[view].shift = shift;
    return view;
}

static void find_arrivals(struct arrivals *a)
{
    for (size_t i = 0; i < a->list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            const int v = a->list->node[i].in[j], bucket = v < 0 ? -1 : bucket_of(a, v);
            int now;

            if (bucket < 0) continue;
            now = a->now[bucket];
            if (now < 0 || has_left(a, &a->at[now])) now = arrive(a, (size_t)bucket, i);
            a->at[now].last = i;
            a->list->node[i].in[j] = view_of(a->list->net, v, a->at[now].array);
        }
}

static void exchange(const struct arrivals *a, size_t at, enum mf_op_id op, const struct arrival *of)
{
    struct mf_node *node = mf_list_insert(a->list, at, op, a->list->net->value[of->array].name);

    node->in[0] = of->array;
    node->attr.exchange = MF_EXCHANGE_GATHER;
    node->attr.group = a->list->net->value[of->array].group;
}

static void begin(const struct arrivals *a, size_t at, const struct arrival *of)
{
    const struct mf_bucket *b = &a->layout->bucket[of->bucket];
    struct mf_net *net = a->list->net;
    const struct mf_shape own = net->value[b->own_parameters].shape;
    struct mf_node *node;
    int to;

    if (a->layout->offload) {
        mf_copy_begin(a->list, at, b->own_parameters, of->array);
        return;
    }
    exchange(a, at, MF_OP_START, of);
    to = mf_value_view(net, of->array, b->piece * mf_shape_bytes(&own), own, ".own");
    node = mf_list_insert(a->list, at, MF_OP_SLICE, net->value[to].name);
    node->in[0] = b->own_parameters;
    node->out[0] = to;
    node->attr.count = own.d[0];
}

/* Only the device waits for a copy: the host does not change weights. */
static void end(const struct arrivals *a, const struct arrival *of)
{
    if (a->layout->offload)
        mf_copy_end(a->list, of->first, a->layout->bucket[of->bucket].own_parameters, of->array, MF_WAITS_DEVICE);
    else
        exchange(a, of->first, MF_OP_FINISH, of);
}

/* From the last node to the first, so that places in the list stay true. */
static void stream(struct mf_list *list, const struct mf_layout *layout)
{
    struct arrivals a = {.list = list, .layout = layout};

    a.now = MF_MUST(malloc(layout->buckets * sizeof *a.now), "arrivals of weights");
    for (size_t k = 0; k < layout->buckets; ++k) a.now[k] = -1;
    find_arrivals(&a);
    for (size_t k = a.count; k-- > 0;) {
        end(&a, &a.at[k]);
        if (k + 1 < a.count) begin(&a, a.at[k].first, &a.at[k + 1]);
    }
    if (a.count > 0) begin(&a, 0, &a.at[0]);
    free(a.now);
    free(a.at);
}

void mf_pass_stream(struct mf_net *net, size_t buckets, const int *number, struct mf_layout *layout)
{
    const size_t values = net->values;

    layout->stage = 3;
    layout->bucket = MF_MUST(calloc(buckets + 1, sizeof *layout->bucket), "buckets");
    for (size_t k = 0; k < buckets; ++k)
        if (bytes_in(net, number, values, (int)k) > 0) fill(net, number, values, k, layout);
    place(net, layout);
    for (size_t k = 0; layout->buckets > 0 && k < net->lists; ++k) stream(net->list[k], layout);
}

double mf_list_brought(const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        const struct mf_value *value = node->in[0] < 0 ? NULL : &list->net->value[node->in[0]];

        if ((node->op == MF_OP_START && node->attr.exchange == MF_EXCHANGE_GATHER) ||
            (node->op == MF_OP_COPY && value && value->role == MF_ROLE_PARAMETER))
            sum += (double)mf_shape_bytes(&value->shape);
    }
    return sum;
}
