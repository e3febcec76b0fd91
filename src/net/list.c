/* See list.h. */
#include "src/net/list.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"

struct mf_net *mf_net_new(void) { return MF_MUST(calloc(1, sizeof(struct mf_net)), "a net"); }

static void free_list(struct mf_list *list)
{
    for (size_t i = 0; i < list->nodes; ++i) free(list->node[i].name);
    free(list->node);
    free(list->at);
    free(list->name);
    free(list);
}

void mf_net_free(struct mf_net *net)
{
    if (!net) return;
    for (size_t k = 0; k < net->lists; ++k) free_list(net->list[k]);
    for (size_t v = 0; v < net->values; ++v) {
        free(net->value[v].name);
        if (net->value[v].role == MF_ROLE_PARAMETER) free(net->value[v].weight); /* a copy has the same */
    }
    free(net->list);
    free(net->value);
    free(net->named);
    free(net);
}

struct mf_list *mf_list_new(struct mf_net *net, const char *name)
{
    struct mf_list *list = MF_MUST(calloc(1, sizeof *list), "a list");

    if (net->lists == net->room_for_lists) {
        net->room_for_lists = 2 * net->room_for_lists + 8;
        net->list = MF_MUST(realloc(net->list, net->room_for_lists * sizeof(struct mf_list *)), "lists");
    }
    list->name = MF_MUST(strdup(name), "a name");
    list->net = net;
    return net->list[net->lists++] = list;
}

/* -- parts of a model -- */

/* Is the word one of the words between dots? */
static int has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == '.' || at[n] == '\0')) return 1;
    return 0;
}

int mf_node_in(const struct mf_node *node, enum mf_scope scope)
{
    if (scope == MF_SCOPE_EXPERTS) return has_word(node->name, "experts");
    if (scope == MF_SCOPE_GATE)
        return has_word(node->name, "gate") || node->op == MF_OP_ROUTE || node->op == MF_OP_ROUTE_LOAD;
    return 1;
}

/* -- names of values -- */

/* Where the name stands in the table, or could. FNV-1a: G. Fowler, L. C. Noll, K.-P. Vo, draft-eastlake-fnv, 1991. */
static size_t *named(const struct mf_net *net, const char *name)
{
    uint64_t at = 14695981039346656037u;

    for (const char *c = name; *c; ++c) at = (at ^ (unsigned char)*c) * 1099511628211u;
    for (at %= net->places; net->named[at]; at = (at + 1) % net->places)
        if (strcmp(net->value[net->named[at] - 1].name, name) == 0) break;
    return &net->named[at];
}

/* Puts a value into the table; the first with its name stays. */
static void put_name(struct mf_net *net, size_t value)
{
    size_t *to = named(net, net->value[value].name);

    if (*to == 0) *to = value + 1;
}

/* At most half of the table is taken. */
static void make_names(struct mf_net *net)
{
    free(net->named);
    net->places = 2 * net->room_for + 1;
    net->named = MF_MUST(calloc(net->places, sizeof *net->named), "names of values");
    for (size_t v = 0; v < net->values; ++v) put_name(net, v);
}

int mf_value_find(const struct mf_net *net, const char *name)
{
    return net->values > 0 ? (int)*named(net, name) - 1 : -1;
}

/* -- values -- */

int mf_value_new(struct mf_net *net, enum mf_role role, struct mf_shape shape, const char *format, ...)
{
    struct mf_value value = {.shape = shape, .role = role, .base = -1};
    va_list words;

    va_start(words, format); /* may name a value of the table that now moves */
    if (vasprintf(&value.name, format, words) < 0) value.name = NULL;
    va_end(words);
    MF_MUST(value.name, "a name");
    if (net->values == net->room_for) {
        net->room_for = 2 * net->room_for + 64;
        net->value = MF_MUST(realloc(net->value, net->room_for * sizeof *net->value), "values");
        make_names(net);
    }
    net->value[net->values] = value;
    put_name(net, net->values);
    return (int)net->values++;
}

int mf_weight_new(struct mf_net *net, struct mf_shape shape, enum mf_start start, double spread, const char *name)
{
    struct mf_weight *weight = MF_MUST(calloc(1, sizeof *weight), "a parameter");
    const int v = mf_value_new(net, MF_ROLE_PARAMETER, shape, "%s", name);

    *weight = (struct mf_weight){.value = v, .start = start, .spread = spread, .gradient = -1};
    net->value[v].weight = weight;
    return v;
}

int mf_value_view(struct mf_net *net, int base, size_t shift, struct mf_shape shape, const char *suffix)
{
    int view = mf_value_new(net, net->value[base].role, shape, "%s%s", net->value[base].name, suffix);

    net->value[view].base = base;
    net->value[view].place = net->value[base].place;
    net->value[view].shift = shift;
    return view;
}

int mf_values_join(struct mf_net *net, const char *name, size_t n, const int *value)
{
    size_t bytes = 0;
    int array;

    if (n == 0) return -1;
    for (size_t k = 0; k < n; ++k) bytes += mf_whole_lines(mf_shape_bytes(&net->value[value[k]].shape));
    array = mf_value_new(net, net->value[value[0]].role, (struct mf_shape){.type = MF_U8, .n = 1, .d = {bytes}}, "%s",
                         name);
    net->value[array].place = net->value[value[0]].place;
    net->value[array].flat = 1;
    for (size_t k = 0, at = 0; k < n; ++k) {
        struct mf_value *part = &net->value[value[k]];

        MF_ASSERT(part->base < 0 && part->place == net->value[array].place);
        part->base = array;
        part->shift = at;
        at += mf_whole_lines(mf_shape_bytes(&part->shape));
    }
    return array;
}

int mf_value_root(const struct mf_net *net, int value, size_t *shift)
{
    size_t sum = 0;

    for (; net->value[value].base >= 0; value = net->value[value].base) sum += net->value[value].shift;
    if (shift) *shift = sum;
    return value;
}

struct mf_runs mf_shard_runs(const struct mf_shard *shard, const struct mf_shape *shape)
{
    size_t inner = 1;

    if (!shard->of) return (struct mf_runs){0};
    for (int k = shard->axis + 1; k < shape->n; ++k) inner *= shape->d[k];
    return (struct mf_runs){shard->count * inner, shard->of * inner, shard->first * inner};
}

size_t mf_runs_before(const struct mf_runs *runs, size_t i)
{
    size_t rest;

    if (!runs->chunk) return i;
    rest = i % runs->stride;
    rest = rest > runs->from ? rest - runs->from : 0;
    return i / runs->stride * runs->chunk + mf_min(rest, runs->chunk);
}

struct mf_shape mf_value_whole(const struct mf_value *value)
{
    const struct mf_shard *shard = value->weight ? &value->weight->shard : NULL;
    struct mf_shape shape = value->shape;

    if (shard && shard->of && shard->count) shape.d[shard->axis] = shape.d[shard->axis] / shard->count * shard->of;
    return shape;
}

/* -- nodes -- */

struct mf_node *mf_list_insert(struct mf_list *list, size_t at, enum mf_op_id op, const char *name)
{
    struct mf_node *node;

    if (list->nodes == list->room_for) {
        list->room_for = 2 * list->room_for + 64;
        list->node = MF_MUST(realloc(list->node, list->room_for * sizeof *list->node), "nodes");
    }
    node = list->node + at;
    memmove(node + 1, node, (list->nodes++ - at) * sizeof *node);
    *node = (struct mf_node){.op = op, .name = MF_MUST(strdup(name), "a name"), .dout = -1, .work = -1};
    for (int i = 0; i < MF_INS; ++i) node->in[i] = node->din[i] = -1;
    for (int i = 0; i < MF_OUTS; ++i) node->out[i] = -1;
    return node;
}

static void append_exchange(struct mf_list *list, enum mf_exchange_kind kind, int array, int segment)
{
    static const enum mf_op_id ops[] = {MF_OP_START, MF_OP_FINISH};

    for (int k = 0; k < 2; ++k) {
        struct mf_node *node = mf_list_insert(list, list->nodes, ops[k], list->net->value[array].name);

        node->in[0] = array;
        node->attr.exchange = (int)kind;
        node->attr.group = list->net->value[mf_value_root(list->net, array, NULL)].group;
        node->segment = segment;
    }
}

void mf_list_sum(struct mf_list *list, int array, int segment)
{
    append_exchange(list, MF_EXCHANGE_SUM, array, segment);
}

void mf_list_gather(struct mf_list *list, int array, int segment)
{
    append_exchange(list, MF_EXCHANGE_GATHER, array, segment);
}

void mf_list_compact(struct mf_list *list, const unsigned char *dead)
{
    size_t n = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        if (dead[i])
            free(list->node[i].name);
        else
            list->node[n++] = list->node[i];
    }
    list->nodes = n;
}

int mf_list_apply(struct mf_list *list, enum mf_op_id op, const struct mf_attr *attr, const char *name, size_t n,
                  const int in[], int *out)
{
    struct mf_net *net = list->net;
    struct mf_shape from[MF_INS] = {{0}}, to[MF_OUTS] = {{0}};
    struct mf_node *node;
    char why[MF_ERR_TEXT];

    for (size_t i = 0; i < n; ++i)
        if (in[i] >= 0) from[i] = net->value[in[i]].shape;
    if (mf_ops[op]->shape(attr, from, to) != MF_OK) {
        mf_err_take(why, sizeof why);
        return mf_fail(MF_USAGE, "node '%s' (%s): %s", name, mf_ops[op]->name, why);
    }
    node = mf_list_insert(list, list->nodes, op, name);
    node->attr = *attr;
    memcpy(node->in, in, n * sizeof *in);
    for (int i = 0; i < MF_OUTS; ++i) {
        if (to[i].n == 0) continue;
        node->out[i] = mf_value_new(net, MF_ROLE_ACTIVATION, to[i], i ? "%s.saved" : "%s", name);
        net->value[node->out[i]].place = mf_node_place(net, node);
    }
    *out = node->out[0];
    return MF_OK;
}

/* What forward does with an input. The start of a message reads the array that it sends, and writes what it receives.
 */
static unsigned access_of(const struct mf_node *node, int i)
{
    if (node->op == MF_OP_START && node->attr.exchange == MF_EXCHANGE_SEND) return MF_READS;
    if (node->op == MF_OP_START && node->attr.exchange == MF_EXCHANGE_RECEIVE) return MF_WRITES;
    return MF_READS | (mf_ops[node->op]->modifies >> i & 1 ? MF_WRITES : 0);
}

size_t mf_node_operands(const struct mf_node *node, struct mf_operand operand[MF_OPERANDS])
{
    size_t n = 0;

    for (int i = 0; i < MF_INS; ++i)
        if (node->in[i] >= 0)
            operand[n++] = (struct mf_operand){node->in[i], node->back ? MF_READS : access_of(node, i)};
    for (int i = 0; i < MF_OUTS; ++i)
        if (node->out[i] >= 0) operand[n++] = (struct mf_operand){node->out[i], node->back ? MF_READS : MF_WRITES};
    if (node->dout >= 0) operand[n++] = (struct mf_operand){node->dout, MF_READS | (node->own ? MF_WRITES : 0)};
    for (int i = 0; i < MF_INS; ++i) {
        unsigned added = node->add >> i & 1 ? MF_READS : 0;

        if (node->din[i] >= 0) operand[n++] = (struct mf_operand){node->din[i], MF_WRITES | added};
    }
    if (node->work >= 0) operand[n++] = (struct mf_operand){node->work, MF_WRITES};
    return n;
}

int mf_list_uses(const struct mf_list *list, int value)
{
    const int root = mf_value_root(list->net, value, NULL);
    struct mf_operand operand[MF_OPERANDS];

    for (size_t i = 0; i < list->nodes; ++i)
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;)
            if (mf_value_root(list->net, operand[j].value, NULL) == root) return 1;
    return 0;
}

enum mf_place mf_node_place(const struct mf_net *net, const struct mf_node *node)
{
    struct mf_operand operand[MF_OPERANDS];

    return mf_node_operands(node, operand) ? net->value[operand[0].value].place : MF_PLACE_DEVICE;
}

static void give_shape(const struct mf_net *net, int value, struct mf_tensor *tensor)
{
    if (value >= 0) tensor->shape = net->value[value].shape;
}

void mf_node_call(const struct mf_net *net, const struct mf_node *node, struct mf_call *call)
{
    *call = (struct mf_call){.attr = &node->attr, .add = node->add, .own = node->own, .plan = node->plan};
    for (int i = 0; i < MF_INS; ++i) {
        give_shape(net, node->in[i], &call->in[i]);
        give_shape(net, node->din[i], &call->din[i]);
    }
    for (int i = 0; i < MF_OUTS; ++i) give_shape(net, node->out[i], &call->out[i]);
    give_shape(net, node->dout, &call->dout);
}

double mf_node_operations(const struct mf_net *net, const struct mf_node *node)
{
    const struct mf_op *op = mf_ops[node->op];
    struct mf_shape in[MF_INS] = {{0}}, out = {0};
    const int y = node->back ? node->dout : node->out[0];
    unsigned wanted = 0;
    double times = 1;

    if (!op->operations || y < 0) return 0;
    for (int i = 0; i < MF_INS; ++i) {
        int x = node->in[i] >= 0 ? node->in[i] : node->din[i]; /* backward may not read all inputs */

        if (x >= 0) in[i] = net->value[x].shape;
        wanted |= (unsigned)(node->din[i] >= 0) << i;
    }
    out = net->value[y].shape;
    if (node->back) times = op->back ? op->back(in, wanted) : (wanted & 1) + (wanted >> 1 & 1);
    return times * op->operations(&node->attr, in, &out);
}

/* -- what ranks exchange -- */

static size_t bytes_of(const struct mf_net *net, int v) { return v < 0 ? 0 : mf_shape_bytes(&net->value[v].shape); }

size_t mf_node_traded(const struct mf_net *net, const struct mf_node *node)
{
    if (!mf_op_is_trade(node->op) || node->rerun) return 0;
    if (node->op == MF_OP_TRADE) return bytes_of(net, node->back ? node->din[0] : node->in[0]);
    return bytes_of(net, node->back ? node->dout : node->out[0]);
}

size_t mf_list_largest(const struct mf_list *list, int group)
{
    const struct mf_net *net = list->net;
    size_t largest = 0, bytes;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];

        if (node->attr.group != group) continue;
        if (mf_op_is_trade(node->op))
            bytes = mf_whole_lines(bytes_of(net, node->back ? node->dout : node->in[0])) +
                    mf_whole_lines(bytes_of(net, node->back ? node->din[0] : node->out[0]));
        else if (node->op == MF_OP_START)
            bytes = bytes_of(net, node->in[0]);
        else
            continue;
        if (bytes > largest) largest = bytes;
    }
    return largest;
}

/* -- the list as text -- */

static void print_value(const struct mf_list *list, FILE *file, char sign, int v, int places)
{
    const struct mf_value *value = &list->net->value[v];

    fprintf(file, " %c%s[", sign, value->name);
    for (int i = 0; i < value->shape.n; ++i) fprintf(file, i ? ",%zu" : "%zu", value->shape.d[i]);
    fprintf(file, value->shape.type == MF_F32 ? "]" : "]%s", mf_type_name(value->shape.type));
    if (places) {
        size_t shift;
        int root = mf_value_root(list->net, v, &shift);
        const struct mf_value *owner = &list->net->value[root];

        fprintf(file, "@%s%s%zu", owner->place == MF_PLACE_HOST ? "host+" : "", owner->lasting ? "lasting+" : "",
                (owner->lasting ? owner->at : list->at[root]) + shift);
    }
}

void mf_list_print(const struct mf_list *list, FILE *file, int places)
{
    struct mf_operand operand[MF_OPERANDS];

    fprintf(file, "list %s: %zu nodes", list->name, list->nodes);
    for (int p = 0; places && p < MF_PLACES; ++p)
        if (p == MF_PLACE_DEVICE || list->room[p] + list->net->lasting[p] > 0)
            fprintf(file, "%s, room %zu bytes (floor %zu), lasting %zu", p == MF_PLACE_HOST ? "; host" : "",
                    list->room[p], list->floor[p], list->net->lasting[p]);
    fputc('\n', file);
    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        size_t n = mf_node_operands(node, operand);

        fprintf(file, "%4zu %s %-12s %-24s", i,
                node->back    ? "bwd"
                : node->rerun ? "run"
                              : "fwd",
                mf_ops[node->op]->name, node->name);
        for (size_t j = 0; j < n; ++j) print_value(list, file, "?<>+"[operand[j].access], operand[j].value, places);
        fputc('\n', file);
    }
}

double mf_list_traffic(const struct mf_list *list)
{
    struct mf_operand operand[MF_OPERANDS];
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const size_t n = mf_node_operands(&list->node[i], operand);

        for (size_t k = 0; k < n; ++k) {
            const struct mf_value *value = &list->net->value[operand[k].value];

            if (value->role != MF_ROLE_WORK && value->place == MF_PLACE_DEVICE)
                sum += (double)mf_shape_bytes(&value->shape);
        }
    }
    return sum;
}
