/* The passes reduce, reduced, fetch and gather: exchanges of flat arrays among ranks. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/copies.h"
#include "src/net/pass.h"
#include "src/net/region.h"
#include "src/net/uses.h"

static void exchange(struct mf_list *list, size_t at, enum mf_op_id op, enum mf_exchange_kind kind, int array)
{
    struct mf_node *node = mf_list_insert(list, at, op, list->net->value[array].name);

    node->in[0] = array;
    node->attr.exchange = kind;
    node->attr.group = list->net->value[mf_value_root(list->net, array, NULL)].group;
}

static enum mf_exchange_kind sum_of(const struct mf_layout *layout)
{
    return layout->stage == 0 ? MF_EXCHANGE_SUM : MF_EXCHANGE_SCATTER;
}

static void copy(struct mf_list *list, size_t at, int from, int to)
{
    struct mf_node *node = mf_list_insert(list, at, MF_OP_SLICE, list->net->value[to].name);

    node->in[0] = from;
    node->out[0] = to;
    node->attr.count = list->net->value[from].shape.d[0];
}

/* From stage 2 on: the sum ends, and its own piece is kept. */
static void keep(struct mf_list *list, size_t at, const struct mf_bucket *bucket, int first)
{
    const char *name = list->net->value[bucket->own_gradients].name;

    exchange(list, at, MF_OP_FINISH, MF_EXCHANGE_SCATTER, bucket->total);
    if (first) {
        copy(list, at + 1, bucket->summed, bucket->own_gradients);
    } else {
        struct mf_node *node = mf_list_insert(list, at + 1, MF_OP_ACCUMULATE, name);

        node->in[0] = bucket->own_gradients;
        node->in[1] = bucket->summed;
    }
}

/* From the last bucket to the first, so that places in the list stay true. */
void mf_pass_reduce(struct mf_list *list, const struct mf_layout *layout, int first)
{
    struct mf_uses uses;
    size_t later = list->nodes; /* behind the start of the bucket after this one */

    mf_uses_make(list, &uses);
    for (size_t k = layout->buckets; k-- > 0;) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        const ptrdiff_t last = mf_uses_last(&uses, list->net, bucket->total, MF_WRITES);

        if (layout->stage >= 2) keep(list, later, bucket, first);
        exchange(list, (size_t)last + 1, MF_OP_START, sum_of(layout), bucket->total);
        later = (size_t)last + 2;
    }
    mf_uses_free(&uses);
}

void mf_pass_reduced(struct mf_list *list, const struct mf_layout *layout)
{
    for (size_t k = 0; layout->stage < 2 && k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_FINISH, sum_of(layout), layout->bucket[k].total);
}

/* -- fetch -- */

/* A time in which a bucket's parameters are here. */
struct stay {
    size_t bucket, first; /* the first node that reads it */
    size_t start;         /* the stay at whose first node the gather starts */
    int array, gathered;  /* gathered: in which ranks gather it; with offload in host memory */
};

static int by_first(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* The buckets that nodes [from, to) read, by their first readers. Returns how many. */
static size_t stays_of(const struct mf_list *list, const struct mf_layout *layout, size_t from, size_t to,
                       struct stay *stay)
{
    struct mf_uses uses;
    size_t n = 0;

    mf_uses_make(list, &uses);
    for (size_t k = 0; k < layout->buckets; ++k) {
        const int array = layout->bucket[k].parameters;
        size_t u = uses.first[array];

        while (u < uses.first[array + 1] && uses.use[u].node < from) ++u;
        if (u < uses.first[array + 1] && uses.use[u].node < to)
            stay[n++] = (struct stay){k, uses.use[u].node, 0, array, array};
    }
    mf_uses_free(&uses);
    qsort(stay, n, sizeof *stay, by_first);
    return n;
}

/* A view of @p second at the place that @p v has in the first array. */
static int second_view(struct mf_net *net, int v, int second)
{
    const int view = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[v].shape, "%s'", net->value[v].name);
    size_t shift;

    (void)mf_value_root(net, v, &shift);
    net->value[view].base = second;
    net->value[view].shift = shift;
    return view;
}

/* Nodes from @p from on read a second array in place of @p array. Returns it. */
static int second_array(struct mf_list *list, size_t from, int array)
{
    struct mf_net *net = list->net;
    const int second = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[array].shape, "%s'", net->value[array].name);

    for (size_t i = from; i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            const int v = list->node[i].in[j];

            if (v >= 0 && mf_value_root(net, v, NULL) == array) list->node[i].in[j] = second_view(net, v, second);
        }
    net->value[second].group = net->value[array].group;
    return second;
}

/* Is the own piece all of it, in host memory? */
static int is_whole(const struct mf_layout *layout, const struct stay *stay)
{
    return stay->gathered == layout->bucket[stay->bucket].own_parameters;
}

static void gather_in_host_memory(struct mf_net *net, const struct mf_layout *layout, struct stay *stay)
{
    const struct mf_bucket *bucket = &layout->bucket[stay->bucket];
    const struct mf_value *array = &net->value[stay->array];

    if (bucket->pieces == 1) {
        stay->gathered = bucket->own_parameters;
        return;
    }
    stay->gathered = mf_value_new(net, MF_ROLE_ACTIVATION, array->shape, "%s.host", array->name);
    net->value[stay->gathered].place = MF_PLACE_HOST;
    net->value[stay->gathered].group = net->value[stay->array].group;
}

/* Puts the own piece into the array, and starts the gather. */
static void start_gather(struct mf_list *list, size_t at, const struct mf_layout *layout, const struct stay *stay)
{
    struct mf_net *net = list->net;
    const int own = layout->bucket[stay->bucket].own_parameters;
    const struct mf_shape shape = net->value[own].shape;
    int to;

    if (is_whole(layout, stay)) return;
    to = mf_value_view(net, stay->gathered, layout->bucket[stay->bucket].piece * mf_shape_bytes(&shape), shape, ".own");
    exchange(list, at, MF_OP_START, MF_EXCHANGE_GATHER, stay->gathered);
    copy(list, at, own, to);
}

/* Do all ranks have this bucket? Of the experts that ranks share, some ranks have more buckets than others. */
static int is_common(const struct mf_layout *layout, const struct stay *stay)
{
    return layout->bucket[stay->bucket].group == MF_GROUP_ALL;
}

/* The last common stay before number @p k; @p k: there is none. */
static size_t common_before(const struct mf_layout *layout, const struct stay *stay, size_t k)
{
    for (size_t p = k; p-- > 0;)
        if (is_common(layout, &stay[p])) return p;
    return k;
}

/* What forward reads last, backward reads first: it stays, since its second gather would start at once. Takes at most
 * two such buckets out of the stays of backward. Returns how many of these are left. */
static size_t join(const struct mf_layout *layout, const struct stay *forward, size_t n, struct stay *backward,
                   size_t m)
{
    size_t left = 0, last = n, kept = 0;
    int same = 1;

    for (size_t k = 0; k < m; ++k) {
        if (same && is_common(layout, &backward[k])) {
            const size_t before = common_before(layout, forward, last);

            same = kept < 2 && before < last && forward[before].bucket == backward[k].bucket;
            last = before;
            kept += (size_t)same;
            if (same) continue;
        }
        backward[left++] = backward[k];
    }
    return left;
}

static void end_gather(struct mf_list *list, size_t at, const struct mf_layout *layout, const struct stay *stay)
{
    if (stay->gathered != stay->array) mf_copy_begin(list, at, stay->gathered, stay->array);
    if (!is_whole(layout, stay)) exchange(list, at, MF_OP_FINISH, MF_EXCHANGE_GATHER, stay->gathered);
}

/* A gather starts at the first reader of the bucket before. Common ones do not look at those of experts: so all ranks
 * start them, and trades, in the same order, as NCCL demands. */
static void find_starts(const struct mf_layout *layout, struct stay *stay, size_t n)
{
    size_t common = n; /* the last one; n: none yet */

    for (size_t k = 0; k < n; ++k) {
        const size_t before = is_common(layout, &stay[k]) ? common : k > 0 ? k - 1 : n;

        stay[k].start = before < n ? before : k;
        if (is_common(layout, &stay[k])) common = k;
    }
}

/* From the last node to the first, so that places in the list stay true. */
static void gather_all(struct mf_list *list, const struct mf_layout *layout, struct stay *stay, size_t n)
{
    find_starts(layout, stay, n);
    for (size_t k = n; k-- > 0;) {
        end_gather(list, stay[k].first, layout, &stay[k]);
        for (size_t next = n; next-- > k;)
            if (stay[next].start == k) start_gather(list, stay[k].first, layout, &stay[next]);
    }
}

/* The same a bucket earlier; then the copy goes beside the nodes of the bucket before. */
static void bring_all(struct mf_list *list, const struct mf_layout *layout, struct stay *stay, size_t n)
{
    for (size_t k = n; k-- > 0;) {
        const size_t at = stay[k].first;

        mf_copy_end(list, at, stay[k].gathered, stay[k].array, MF_WAITS_HOST);
        if (k + 1 < n) end_gather(list, at, layout, &stay[k + 1]);
        if (k + 2 < n) start_gather(list, at, layout, &stay[k + 2]);
        if (k > 0) continue;
        end_gather(list, at, layout, &stay[0]);
        if (n > 1) start_gather(list, at, layout, &stay[1]);
        start_gather(list, at, layout, &stay[0]);
    }
}

void mf_pass_fetch(struct mf_list *list, const struct mf_layout *layout)
{
    struct stay *stay = MF_MUST(malloc((2 * layout->buckets + 1) * sizeof *stay), "gathers");
    const size_t seed = mf_list_seed(list);
    size_t n, m;

    n = layout->stage == 3 ? stays_of(list, layout, 0, seed, stay) : 0;
    m = layout->stage == 3 ? stays_of(list, layout, seed, list->nodes, stay + n) : 0;
    m = join(layout, stay, n, stay + n, m);
    for (size_t k = n; k < n + m; ++k) stay[k].array = stay[k].gathered = second_array(list, seed, stay[k].array);
    n += m;
    for (size_t k = 0; layout->offload && k < n; ++k) gather_in_host_memory(list->net, layout, &stay[k]);
    (layout->offload ? bring_all : gather_all)(list, layout, stay, n);
    free(stay);
}

/* -- gather -- */

void mf_pass_gather(struct mf_list *list, const struct mf_layout *layout)
{
    if (layout->stage == 0 || layout->stage == 3) return;
    for (size_t k = 0; k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_START, MF_EXCHANGE_GATHER, layout->bucket[k].master);
    for (size_t k = 0; k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_FINISH, MF_EXCHANGE_GATHER, layout->bucket[k].master);
}
