/* The pass stage: the nodes of other ranks go, and messages take their place. Every rank looks at the whole list, so
 * all start messages in the same order. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"

/* A value that one stage has made and another one reads. */
struct message {
    size_t behind; /* the node that made it */
    int value, from, to;
};

/* Who wrote each memory last. */
struct makers {
    int hands_on;    /* stages between two hand a value on */
    ptrdiff_t *node; /* [values] of roots; -1: nobody has */
    struct message *message;
    size_t messages;
};

static int is_known(const struct makers *m, size_t behind, int value, int to)
{
    for (size_t k = 0; k < m->messages; ++k) {
        const struct message *one = &m->message[k];

        if (one->behind == behind && one->value == value && one->to == to) return 1;
    }
    return 0;
}

static void note(struct makers *m, const struct message *one)
{
    if (is_known(m, one->behind, one->value, one->to)) return;
    m->message = MF_MUST(realloc(m->message, (m->messages + 1) * sizeof *m->message), "messages");
    m->message[m->messages++] = *one;
}

static void note_way(struct makers *m, size_t behind, int value, int from, int to)
{
    const int next = !m->hands_on ? to : from < to ? from + 1 : from - 1;

    note(m, &(struct message){behind, value, from, next});
    if (next != to) note_way(m, behind, value, next, to);
}

static void look_at(const struct mf_list *list, const int *stage, size_t i, struct makers *m)
{
    struct mf_operand operand[MF_OPERANDS];
    const size_t n = mf_node_operands(&list->node[i], operand);

    for (size_t j = 0; j < n; ++j) {
        const int root = mf_value_root(list->net, operand[j].value, NULL);
        const ptrdiff_t maker = m->node[root];

        if (operand[j].access & MF_READS && maker >= 0 && stage[maker] != stage[i])
            note_way(m, (size_t)maker, root, stage[maker], stage[i]);
    }
    for (size_t j = 0; j < n; ++j)
        if (operand[j].access & MF_WRITES) m->node[mf_value_root(list->net, operand[j].value, NULL)] = (ptrdiff_t)i;
}

static struct makers find_messages(const struct mf_list *list, const int *stage, int hands_on)
{
    struct makers m = {.hands_on = hands_on,
                       .node = MF_MUST(malloc((list->net->values + 1) * sizeof *m.node), "makers")};

    for (size_t v = 0; v < list->net->values; ++v) m.node[v] = -1;
    for (size_t i = 0; i < list->nodes; ++i) look_at(list, stage, i, &m);
    return m;
}

/* -- this rank's list -- */

/* A view of its own, so that several messages of one value may be under way. */
static int view_of(struct mf_net *net, const struct message *one)
{
    struct mf_value *value = &net->value[one->value];

    if (value->group == MF_GROUP_ALL) value->group = mf_link_group(one->from, one->to);
    return mf_value_view(net, one->value, 0, value->shape, "&");
}

static void put(struct mf_list *list, enum mf_op_id op, enum mf_exchange_kind kind, const struct message *one, int view)
{
    struct mf_node *node = mf_list_insert(list, list->nodes, op, list->net->value[one->value].name);

    node->in[0] = view;
    node->attr.exchange = (int)kind;
    node->attr.group = mf_link_group(one->from, one->to);
}

/* The messages behind node @p i. Both sides end each of them before the next one begins, so their order is the same. */
static void put_messages(struct mf_list *list, const struct makers *m, size_t i, int own)
{
    for (size_t k = 0; k < m->messages; ++k) {
        const struct message *one = &m->message[k];
        const enum mf_exchange_kind kind = one->from == own ? MF_EXCHANGE_SEND : MF_EXCHANGE_RECEIVE;
        int view;

        if (one->behind != i || (one->from != own && one->to != own)) continue;
        view = view_of(list->net, one);
        put(list, MF_OP_START, kind, one, view);
        put(list, MF_OP_FINISH, kind, one, view);
    }
}

void mf_pass_stage(struct mf_list *list, const int *stage, int own, size_t stages, int hands_on, unsigned char *link,
                   size_t *border)
{
    struct makers m = find_messages(list, stage, hands_on);
    struct mf_node *node = list->node;
    const size_t nodes = list->nodes;

    list->node = NULL;
    list->nodes = list->room_for = 0;
    for (size_t k = 0; k < m.messages; ++k) {
        link[(size_t)m.message[k].from * stages + (size_t)m.message[k].to] = 1;
        link[(size_t)m.message[k].to * stages + (size_t)m.message[k].from] = 1;
    }
    for (size_t i = 0; i < nodes; ++i) {
        if (border && *border == i) *border = list->nodes, border = NULL;
        if (stage[i] == own) {
            char *unused = mf_list_insert(list, list->nodes, node[i].op, "")->name;

            free(unused);
            list->node[list->nodes - 1] = node[i];
        } else {
            free(node[i].name);
        }
        put_messages(list, &m, i, own);
    }
    free(node);
    free(m.node);
    free(m.message);
}
