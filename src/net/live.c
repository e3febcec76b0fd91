/* The pass live: first and last use of every tensor, and from them its place in one memory. Exact before anything ran.
 */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/region.h"

/* The life of one memory (a root) in one list. */
struct life {
    int value, home;       /* home: the value whose memory this one has taken over; else itself */
    ptrdiff_t first, last; /* nodes; -1: not in this list */
    int open;              /* read before it is written */
    int exchanged;         /* 0: not among ranks; else as exchanged() */
    size_t bytes;
};

/* Is this operand read before it was written? Of a whole any part counts as written; of a part itself, or the whole.
 * @p written [values]: 1, a part of it; 2, all of it. */
static int is_open(const struct mf_net *net, const unsigned char *written, int v)
{
    const int root = mf_value_root(net, v, NULL);

    return v == root ? written[v] == 0 : written[v] == 0 && written[root] < 2;
}

static void mark_written(const struct mf_net *net, unsigned char *written, int v)
{
    const int root = mf_value_root(net, v, NULL);

    written[v] = 2;
    written[root] |=
        v == root || mf_shape_bytes(&net->value[v].shape) == mf_shape_bytes(&net->value[root].shape) ? 2 : 1;
}

/* Which ranks exchange an array: those with the same experts, the same parts of layers, the same layers, or all. */
enum { BY_FEW = 1, BY_PARTS, BY_LAYERS, BY_ALL };

static int exchanged(const struct mf_net *net, int v)
{
    const int group = net->value[v].group;

    if (group == MF_GROUP_EXPERTS || group == MF_GROUP_REPLICAS) return BY_FEW;
    return group == MF_GROUP_ALL ? BY_ALL : group == MF_GROUP_TENSOR ? BY_LAYERS : BY_PARTS;
}

/* Another list may exchange gradients. The size of a cut layer's differs between ranks, so only a node can say that it
 * is exchanged. */
static void mark_gradients(const struct mf_net *net, struct life *life)
{
    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].role == MF_ROLE_GRADIENT) life[v].exchanged = exchanged(net, (int)v);
    for (size_t v = 0; v < net->values; ++v) {
        const int gradient = mf_value_gradient(&net->value[v]);

        if (gradient >= 0 && net->value[v].weight->shard.of > 0) life[gradient].exchanged = 0;
    }
}

/* What others touch, too, is there from the beginning of a stretch to its end. */
static void keep_through(const struct mf_list *list, struct life *life)
{
    int *inner = mf_region_inner(list);
    struct mf_stretch *s;
    const size_t n = mf_stretches(list, &s);

    for (size_t k = 0; k < n; ++k)
        for (size_t v = 0; v < list->net->values; ++v) {
            const ptrdiff_t first = (ptrdiff_t)s[k].first, last = (ptrdiff_t)s[k].last;

            if (life[v].first < 0 || inner[v] == s[k].region || life[v].first > last || life[v].last < first) continue;
            if (life[v].first > first) life[v].first = first;
            if (life[v].last < last) life[v].last = last;
        }
    free(inner);
    free(s);
}

static struct life *lives_of(const struct mf_list *list)
{
    const struct mf_net *net = list->net;
    struct life *life = MF_MUST(malloc((net->values + 1) * sizeof *life), "lives");
    unsigned char *written = MF_MUST(calloc(net->values + 1, 1), "marks");
    struct mf_operand operand[MF_OPERANDS];

    for (size_t v = 0; v < net->values; ++v)
        life[v] = (struct life){.value = (int)v, .home = (int)v, .first = -1, .last = -1};
    mark_gradients(net, life);
    for (size_t i = 0; i < list->nodes; ++i) {
        const size_t n = mf_node_operands(&list->node[i], operand);

        for (size_t j = 0; j < n; ++j) {
            struct life *one = &life[mf_value_root(net, operand[j].value, NULL)];

            if (one->first < 0) {
                one->first = (ptrdiff_t)i;
                one->bytes = mf_whole_lines(mf_shape_bytes(&net->value[one->value].shape));
            }
            if (mf_op_is_exchange(list->node[i].op)) one->exchanged = exchanged(net, one->value);
            one->open |= operand[j].access & MF_READS && is_open(net, written, operand[j].value);
            one->last = (ptrdiff_t)i;
        }
        if (list->node[i].rerun == MF_RERUN_ROUNDS) continue; /* left out in the first round */
        for (size_t j = 0; j < n; ++j)
            if (operand[j].access & MF_WRITES) mark_written(net, written, operand[j].value);
    }
    free(written);
    for (size_t v = 0; v < net->values; ++v) {
        struct life *one = &life[mf_value_root(net, (int)v, NULL)];

        if (one->first < 0) continue;
        if (net->value[one->value].role == MF_ROLE_INPUT) one->first = 0; /* filled before the walk */
        if (net->value[v].kept) one->last = (ptrdiff_t)list->nodes;
    }
    keep_through(list, life);
    return life;
}

/* How many inputs of the node are this memory. */
static int inputs_in(const struct mf_net *net, const struct mf_node *node, int root)
{
    int n = 0;

    for (int k = 0; k < MF_INS; ++k) n += node->in[k] >= 0 && mf_value_root(net, node->in[k], NULL) == root;
    return n;
}

/* The result of node @p i takes the memory of an operand that dies there and is as large: their lives become one. */
static void take_over(const struct mf_list *list, size_t i, struct life *life)
{
    const struct mf_net *net = list->net;
    const struct mf_node *node = &list->node[i];
    const unsigned over = node->back ? mf_ops[node->op]->back_over : mf_ops[node->op]->over;

    for (int j = 0; j < MF_INS; ++j) {
        const int to = node->back ? node->din[j] : node->out[0], from = node->back ? node->dout : node->in[j];
        struct life *x, *y;

        if (!(over >> j & 1) || to < 0 || from < 0 || (node->back && node->add >> j & 1)) continue;
        x = &life[mf_value_root(net, from, NULL)];
        y = &life[mf_value_root(net, to, NULL)];
        if (x == y || x->last != (ptrdiff_t)i || y->first != (ptrdiff_t)i || y->home != y->value ||
            x->bytes != y->bytes || x->exchanged || y->exchanged || net->value[x->value].lasting ||
            net->value[y->value].lasting || inputs_in(net, node, x->value) > 1)
            continue;
        y->home = x->value;
        return;
    }
}

static int home_of(const struct life *life, int v)
{
    while (life[v].home != v) v = life[v].home;
    return v;
}

static void take_over_all(const struct mf_list *list, struct life *life)
{
    for (size_t i = 0; i < list->nodes; ++i) take_over(list, i, life);
    for (size_t v = 0; v < list->net->values; ++v) {
        const int home = home_of(life, (int)v);

        if (life[v].last > life[home].last) life[home].last = life[v].last;
        life[v].home = home;
    }
}

/* What all ranks exchange comes first, so it has the same places on all of them; then what some do. The experts of
 * ranks that share layers or samples differ, so their gradients come last. Work memory differs, too. Then the largest.
 */
static int by_size(const void *a, const void *b)
{
    const struct life *x = a, *y = b;

    if (x->exchanged != y->exchanged) return y->exchanged - x->exchanged;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->value - y->value;
}

static int meet(const struct life *x, const struct life *y) { return x->first <= y->last && y->first <= x->last; }

/* The lowest place at which life number @p n overlaps none before it that is alive at the same time. Their numbers go
 * to @p near [n]. */
static size_t lowest_gap(const struct life *life, size_t n, const size_t *at, size_t *near)
{
    size_t here = 0, count = 0;

    for (size_t k = 0; k < n; ++k)
        if (meet(&life[k], &life[n])) near[count++] = k;
    for (int moved = 1; moved;) {
        moved = 0;
        for (size_t i = 0; i < count; ++i) {
            const size_t k = near[i];

            if (at[k] >= here + life[n].bytes || here >= at[k] + life[k].bytes) continue;
            here = at[k] + life[k].bytes;
            moved = 1;
        }
    }
    return here;
}

/* The most bytes that live at one time. */
static size_t most_alive(size_t nodes, size_t n, const struct life *life)
{
    size_t *begins = MF_MUST(calloc(2 * (nodes + 2), sizeof *begins), "lives"), *ends = begins + nodes + 2;
    size_t now = 0, most = 0;

    for (size_t k = 0; k < n; ++k) {
        begins[life[k].first] += life[k].bytes;
        ends[life[k].last] += life[k].bytes;
    }
    for (size_t i = 0; i <= nodes; ++i) {
        now += begins[i];
        if (now > most) most = now;
        now -= ends[i];
    }
    free(begins);
    return most;
}

/* Places all of one memory in the order of by_size(). Sets the list's room, floor and places. */
static void place(struct mf_list *list, const struct life *all, enum mf_place p)
{
    const struct mf_net *net = list->net;
    struct life *life = MF_MUST(malloc((net->values + 1) * sizeof *life), "lives");
    size_t *at = MF_MUST(malloc(2 * (net->values + 1) * sizeof *at), "places"), n = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (all[v].first >= 0 && all[v].home == (int)v && !net->value[v].lasting && net->value[v].place == p)
            life[n++] = all[v];
    qsort(life, n, sizeof *life, by_size);
    list->room[p] = 0;
    list->floor[p] = most_alive(list->nodes, n, life);
    for (size_t k = 0; k < n; ++k) {
        at[k] = lowest_gap(life, k, at, at + net->values + 1);
        list->at[life[k].value] = at[k];
        if (at[k] + life[k].bytes > list->room[p]) list->room[p] = at[k] + life[k].bytes;
    }
    free(life);
    free(at);
}

static void place_all(struct mf_list *list, const struct life *all)
{
    list->at = MF_MUST(realloc(list->at, (list->net->values + 1) * sizeof *list->at), "places");
    for (enum mf_place p = 0; p < MF_PLACES; ++p) {
        place(list, all, p);
        if (list->room[p] > list->net->room[p]) list->net->room[p] = list->room[p];
    }
    for (size_t v = 0; v < list->net->values; ++v)
        if (all[v].first >= 0 && all[v].home != (int)v) list->at[v] = list->at[all[v].home];
}

void mf_list_alive(const struct mf_list *list, size_t *bytes)
{
    const struct mf_net *net = list->net;
    struct life *life = lives_of(list);

    take_over_all(list, life);
    memset(bytes, 0, list->nodes * sizeof *bytes);
    for (size_t v = 0; v < net->values; ++v) {
        const struct life *l = &life[v];

        if (l->first < 0 || l->home != (int)v || net->value[v].lasting) continue;
        for (ptrdiff_t i = l->first; i <= l->last && i < (ptrdiff_t)list->nodes; ++i) bytes[i] += l->bytes;
    }
    free(life);
}

/* Parameters and what belongs to the optimiser last; and what a list reads that it has not written; and what the caller
 * touches, if two lists have it. */
static int lasts(const struct mf_net *net, size_t v, struct life *const *life)
{
    const struct mf_value *value = &net->value[v];
    int uses = 0, open = 0;

    for (size_t k = 0; k < net->lists; ++k) {
        uses += life[k][v].first >= 0;
        open |= life[k][v].open;
    }
    if (value->base >= 0 || uses == 0) return 0;
    if (value->role == MF_ROLE_INPUT) return uses > 1;
    return value->role == MF_ROLE_PARAMETER || value->role == MF_ROLE_OPTIMISER || open || (uses > 1 && value->kept);
}

/* Which ranks exchange it in any list. */
static int exchanged_of(const struct mf_net *net, struct life *const *life, size_t v)
{
    int most = 0;

    for (size_t k = 0; k < net->lists; ++k)
        if (life[k][v].first >= 0 && life[k][v].exchanged > most) most = life[k][v].exchanged;
    return most;
}

/* Arrays that ranks exchange come first, as in by_size(). */
static void place_lasting(struct mf_net *net, struct life *const *life)
{
    memset(net->lasting, 0, sizeof net->lasting);
    for (int turn = BY_ALL; turn >= 0; --turn)
        for (size_t v = 0; v < net->values; ++v) {
            struct mf_value *value = &net->value[v];

            if (turn == BY_ALL) value->lasting = lasts(net, v, life);
            if (!value->lasting || exchanged_of(net, life, v) != turn) continue;
            value->at = net->lasting[value->place];
            net->lasting[value->place] += mf_whole_lines(mf_shape_bytes(&value->shape));
        }
}

void mf_pass_live(struct mf_net *net)
{
    struct life **life = MF_MUST(calloc(net->lists + 1, sizeof(struct life *)), "lives");

    memset(net->room, 0, sizeof net->room);
    for (size_t k = 0; k < net->lists; ++k) life[k] = lives_of(net->list[k]);
    place_lasting(net, life);
    for (size_t k = 0; k < net->lists; ++k) {
        take_over_all(net->list[k], life[k]);
        place_all(net->list[k], life[k]);
        free(life[k]);
    }
    free(life);
}
