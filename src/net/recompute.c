/* The pass recompute: backward reads second copies of activations, computed just before their first reader. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"

struct redo {
    struct mf_list *list;
    size_t values;    /* of forward and backward before the pass */
    ptrdiff_t *maker; /* [values] the forward node that writes it; -1: none */
    int *copy;        /* [values] its second copy; -1: none yet */
    size_t at;        /* where nodes are inserted */
};

static int is_again(const struct mf_net *net, const struct mf_node *node, enum mf_recompute how, int copies)
{
    if (node->region) return 0; /* the pass rerun sees to it */
    if (copies && node->op == MF_OP_CAST && net->value[node->in[0]].role == MF_ROLE_PARAMETER) return 1;
    return how == MF_RECOMPUTE_CHEAP ? mf_ops[node->op]->cheap : how == MF_RECOMPUTE_BLOCKS && node->segment > 0;
}

/* Of a block only what leaves it is kept. */
static void mark(struct redo *s, size_t forward, enum mf_recompute how, int copies)
{
    const struct mf_net *net = s->list->net;
    struct mf_node *node = s->list->node;

    for (size_t i = 0; i < forward; ++i) node[i].again = is_again(net, &node[i], how, copies);
    for (size_t i = 0; i < forward; ++i) { /* ranks do not sum a second time */
        const ptrdiff_t m = node[i].op == MF_OP_START ? s->maker[mf_value_root(net, node[i].in[0], NULL)] : -1;

        if (m >= 0) node[m].again = 0;
    }
    for (size_t i = 0; i < forward; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            const ptrdiff_t m = node[i].in[j] < 0 ? -1 : s->maker[mf_value_root(net, node[i].in[j], NULL)];

            if (m < 0) continue; /* a stage computes nothing again for another one */
            if (how == MF_RECOMPUTE_BLOCKS ? node[m].segment != node[i].segment : node[m].stage != node[i].stage)
                node[m].again = 0;
        }
}

static int second(struct redo *s, int v);

/* Computes the outputs of forward node @p m once more, at s->at. */
static void repeat(struct redo *s, ptrdiff_t m)
{
    struct mf_net *net = s->list->net;
    struct mf_node node = s->list->node[m], *made;
    char *name;

    for (int j = 0; j < MF_INS; ++j) node.in[j] = second(s, node.in[j]);
    for (int j = 0; j < MF_OUTS; ++j)
        if (node.out[j] >= 0) {
            const int copy = mf_value_new(net, net->value[node.out[j]].role, net->value[node.out[j]].shape, "%s'",
                                          net->value[node.out[j]].name);

            s->copy[node.out[j]] = copy;
            node.out[j] = copy;
        }
    if (asprintf(&name, "%s'", node.name) < 0) name = NULL;
    made = mf_list_insert(s->list, s->at++, node.op, MF_MUST(name, "a name"));
    node.name = made->name;
    node.again = 0;
    *made = node;
    free(name);
}

/* The value that backward reads for @p v. */
static int second(struct redo *s, int v)
{
    struct mf_net *net = s->list->net;
    size_t shift;
    const int root = v < 0 ? -1 : mf_value_root(net, v, &shift);
    const ptrdiff_t m = root >= 0 && (size_t)root < s->values ? s->maker[root] : -1;

    if (m < 0 || !s->list->node[m].again) return v;
    if (s->copy[root] < 0) repeat(s, m);
    if (root == v) return s->copy[root];
    return mf_value_view(net, s->copy[root], shift, net->value[v].shape, "'");
}

void mf_pass_recompute(struct mf_list *list, enum mf_recompute how, int copies)
{
    struct redo s = {.list = list, .values = list->net->values};
    size_t forward = 0;

    if (how == MF_RECOMPUTE_NONE && !copies) return;
    s.maker = MF_MUST(malloc(s.values * sizeof *s.maker), "makers");
    s.copy = MF_MUST(malloc(s.values * sizeof *s.copy), "copies");
    for (size_t v = 0; v < s.values; ++v) s.maker[v] = s.copy[v] = -1;
    for (; list->node[forward].op != MF_OP_FILL; ++forward) /* the seed of backward */
        for (int j = 0; j < MF_OUTS; ++j)
            if (list->node[forward].out[j] >= 0) s.maker[list->node[forward].out[j]] = (ptrdiff_t)forward;
    mark(&s, forward, how, copies);
    for (s.at = forward; s.at < list->nodes; ++s.at) {
        int in[MF_INS], out[MF_OUTS];

        if (!list->node[s.at].back && !list->node[s.at].rerun) continue;
        for (int j = 0; j < MF_INS; ++j) in[j] = second(&s, list->node[s.at].in[j]);
        for (int j = 0; j < MF_OUTS; ++j) out[j] = second(&s, list->node[s.at].out[j]);
        for (int j = 0; j < MF_INS; ++j) list->node[s.at].in[j] = in[j];
        for (int j = 0; j < MF_OUTS; ++j) list->node[s.at].out[j] = out[j];
    }
    free(s.maker);
    free(s.copy);
}
