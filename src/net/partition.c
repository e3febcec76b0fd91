/* The pass partition: of an activation that ranks have alike each keeps a piece for backward, which gathers it.
 * Source: S. Rajbhandari et al., "ZeRO", arXiv:1910.02054, 2019, section 6.1. */
#include <stdlib.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/net/build.h"
#include "src/net/idle.h"
#include "src/net/pass.h"
#include "src/net/region.h"

enum {
    WORDS = 16, /* of a line: a piece begins at one */
    SMALL = 16  /* smaller than the largest by this factor: the message takes longer than it is worth */
};

/* -- what ranks have alike -- */

/* Ranks have other rows. */
static int tells_apart(enum mf_op_id op) { return op == MF_OP_PERMUTE || mf_op_is_trade(op); }

static int is_part(const struct mf_value *value)
{
    return mf_value_in(value, 1 << MF_SET_SPLIT | 1 << MF_SET_EXPERTS) ||
           (value->weight && value->weight->shard.of > 0);
}

/* Is what the node writes the same on all ranks? */
static int writes_alike(const struct mf_list *list, const struct mf_node *node, const unsigned char *alike)
{
    const struct mf_net *net = list->net;
    struct mf_operand operand[MF_OPERANDS];

    if (tells_apart(node->op)) return 0;
    for (size_t j = mf_node_operands(node, operand); j-- > 0;) {
        const int v = operand[j].value;

        if (operand[j].access & MF_READS && (is_part(&net->value[v]) || !alike[mf_value_root(net, v, NULL)])) return 0;
    }
    return 1;
}

/* Do all ranks of the group have the array behind it? */
static int spreads(const struct mf_node *node, int group)
{
    return mf_op_is_exchange(node->op) && node->attr.group == group &&
           (node->attr.exchange == MF_EXCHANGE_SUM || node->attr.exchange == MF_EXCHANGE_GATHER);
}

unsigned char *mf_list_alike(const struct mf_list *list, int group)
{
    const struct mf_net *net = list->net;
    unsigned char *alike = MF_MUST(malloc(net->values + 1), "marks");
    const size_t seed = mf_list_seed(list);
    struct mf_operand operand[MF_OPERANDS];

    for (size_t v = 0; v < net->values; ++v) alike[v] = 1;
    for (size_t i = 0; i < seed; ++i) {
        const unsigned char is_alike = spreads(&list->node[i], group) || writes_alike(list, &list->node[i], alike);

        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;)
            if (operand[j].access & MF_WRITES) alike[mf_value_root(net, operand[j].value, NULL)] = is_alike;
    }
    return alike;
}

/* -- which of these are cut -- */

struct partition {
    struct mf_list *list;
    size_t seed;
    const struct mf_partners *among;
    struct mf_idle *idle;
    size_t count;
    int *part, *array; /* [values] of an activation: where its piece waits; what ranks gather */
};

static size_t words_of(const struct mf_net *net, int v) { return mf_shape_bytes(&net->value[v].shape) / sizeof(float); }

/* Words of a piece, whole lines. The last rank has what is left. */
static size_t piece_of(const struct partition *p, int v)
{
    const size_t words = words_of(p->list->net, v), ranks = p->among->ranks;

    return ((words + ranks - 1) / ranks + WORDS - 1) / WORDS * WORDS;
}

/* Is it made of 16 or 32 bits, is there something for every rank, and does nobody send it here? Another list has the
 * memory of what comes. */
static int can_be_cut(const struct partition *p, int v, const unsigned char *alike, const unsigned char *sent)
{
    const struct mf_shape *shape = &p->list->net->value[v].shape;
    const int is_number = shape->type == MF_F32 || shape->type == MF_F16 || shape->type == MF_BF16;

    return alike[v] && !sent[v] && is_number && mf_shape_bytes(shape) % sizeof(float) == 0 &&
           (p->among->ranks - 1) * piece_of(p, v) < words_of(p->list->net, v);
}

/* [values] received from another stage in forward. */
static unsigned char *find_sent(const struct partition *p)
{
    unsigned char *sent = MF_MUST(calloc(p->list->net->values + 1, 1), "marks");

    for (size_t i = 0; i < p->seed; ++i) {
        const struct mf_node *node = &p->list->node[i];

        if (node->op == MF_OP_START && node->attr.exchange == MF_EXCHANGE_RECEIVE)
            sent[mf_value_root(p->list->net, node->in[0], NULL)] = 1;
    }
    return sent;
}

static void choose(struct partition *p, const unsigned char *alike)
{
    unsigned char *sent = find_sent(p);
    const size_t n = mf_idle_find(p->list, p->seed, &p->idle);
    size_t largest = 0, left = 0;

    for (size_t k = 0; k < n; ++k) {
        if (!can_be_cut(p, p->idle[k].value, alike, sent)) continue;
        if (words_of(p->list->net, p->idle[k].value) > largest) largest = words_of(p->list->net, p->idle[k].value);
        p->idle[left++] = p->idle[k];
    }
    for (size_t k = 0; k < left; ++k)
        if (words_of(p->list->net, p->idle[k].value) >= largest / SMALL) p->idle[p->count++] = p->idle[k];
    free(sent);
}

/* Words of this rank. */
static struct mf_span own_of(const struct partition *p, int v)
{
    const size_t piece = piece_of(p, v), first = p->among->rank * piece, left = words_of(p->list->net, v) - first;

    return (struct mf_span){first, left < piece ? left : piece};
}

static struct mf_shape flat(size_t words) { return (struct mf_shape){.type = MF_F32, .n = 1, .d = {words}}; }

/* The last rank has room for a whole piece, too: all plan the same bytes. */
static void make_values(struct partition *p)
{
    struct mf_net *net = p->list->net;

    p->part = MF_MUST(malloc(2 * (net->values + 1) * sizeof *p->part), "pieces");
    p->array = p->part + net->values + 1;
    for (size_t k = 0; k < p->count; ++k) {
        const int v = p->idle[k].value;
        const struct mf_shape piece = flat(piece_of(p, v)), all = flat(p->among->ranks * piece.d[0]);
        const int room = mf_value_new(net, MF_ROLE_ACTIVATION, piece, "%s.part", net->value[v].name);

        p->part[v] = mf_value_view(net, room, 0, flat(own_of(p, v).count), "~");
        p->array[v] = mf_value_new(net, MF_ROLE_ACTIVATION, all, "%s.back", net->value[v].name);
        net->value[p->array[v]].group = p->among->group;
        p->idle[k].back = mf_value_view(net, p->array[v], 0, net->value[v].shape, "~");
    }
}

/* -- nodes -- */

/* Copies this rank's piece of @p whole to its part, or back. */
static void copy(const struct partition *p, size_t at, int v, int whole, int back)
{
    struct mf_net *net = p->list->net;
    const struct mf_span own = own_of(p, v);
    const int here = mf_value_view(net, whole, own.first * sizeof(float), flat(own.count), ".own");
    struct mf_node *node = mf_list_insert(p->list, at, MF_OP_SLICE, net->value[back ? here : p->part[v]].name);

    node->in[0] = back ? p->part[v] : here;
    node->out[0] = back ? here : p->part[v];
    node->attr.count = own.count;
}

static void exchange(const struct partition *p, size_t at, enum mf_op_id op, int array)
{
    struct mf_node *node = mf_list_insert(p->list, at, op, p->list->net->value[array].name);

    node->in[0] = array;
    node->attr.exchange = MF_EXCHANGE_GATHER;
    node->attr.group = p->among->group;
}

/* A gather begins one ahead. From the last to the first, so that places in the list stay true. */
static void gather(struct partition *p)
{
    qsort(p->idle, p->count, sizeof *p->idle, mf_idle_by_first);
    for (size_t k = p->count; k-- > 0;) {
        const size_t at = (size_t)p->idle[k].first;
        const int v = p->idle[k].value, next = k + 1 < p->count ? p->idle[k + 1].value : -1;

        if (next >= 0) {
            exchange(p, at, MF_OP_START, p->array[next]);
            copy(p, at, next, p->array[next], 1);
        }
        exchange(p, at, MF_OP_FINISH, p->array[v]);
        if (k > 0) continue;
        exchange(p, at, MF_OP_START, p->array[v]);
        copy(p, at, v, p->array[v], 1);
    }
}

static void cut(struct partition *p)
{
    qsort(p->idle, p->count, sizeof *p->idle, mf_idle_by_made);
    for (size_t k = p->count; k-- > 0;) copy(p, (size_t)p->idle[k].made + 1, p->idle[k].value, p->idle[k].value, 0);
}

size_t mf_pass_partition(struct mf_list *list, size_t *seed, const unsigned char *alike,
                         const struct mf_partners *among)
{
    struct partition p = {.list = list, .seed = *seed, .among = among};

    choose(&p, alike);
    make_values(&p);
    mf_idle_replace(list, p.seed, p.count, p.idle);
    gather(&p);
    cut(&p);
    *seed += p.count;
    free(p.idle);
    free(p.part);
    return p.count;
}
