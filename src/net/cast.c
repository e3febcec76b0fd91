/* The pass cast: activations, and the weights that products read, get a type of 16 bits. Inputs, weights, losses and
 * what the evaluation keeps stay f32, behind nodes `cast`. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/pass.h"

struct caster {
    struct mf_list *list;
    enum mf_type type;
    size_t at; /* the node that reads next */
    int *copy; /* [values] its copy in the other type; -1: none yet */
    size_t values;
};

/* The type that node @p node reads its input @p j in. */
static enum mf_type wanted(const struct caster *s, const struct mf_node *node, int j)
{
    const enum mf_type now = s->list->net->value[node->in[j]].shape.type;

    if (now != MF_F32 && now != s->type) return now; /* labels, masks */
    return mf_ops[node->op]->f32 >> j & 1 ? MF_F32 : s->type;
}

/* Weights are copied once for all rounds, and rows before they travel. */
static int region_of(const struct caster *s, int v)
{
    const struct mf_node *reader = &s->list->node[s->at];

    return s->list->net->value[v].role == MF_ROLE_PARAMETER || reader->op == MF_OP_TRADE ? 0 : reader->region;
}

/* A copy of value @p v in the other type, made in front of the node that reads it first. */
static int copy_of(struct caster *s, int v, enum mf_type type)
{
    struct mf_net *net = s->list->net;
    const struct mf_value *from = &net->value[v];
    struct mf_shape shape = from->shape;
    struct mf_node *node;
    int y;

    if ((size_t)v < s->values && s->copy[v] >= 0) return s->copy[v];
    shape.type = type;
    y = mf_value_new(net, MF_ROLE_ACTIVATION, shape, "%s.%s", from->name, mf_type_name(type));
    net->value[y].weight = net->value[v].weight;
    node = mf_list_insert(s->list, s->at++, MF_OP_CAST, net->value[y].name);
    node->attr.type = (int)type;
    node->in[0] = v;
    node->out[0] = y;
    node->segment = s->list->node[s->at].segment;
    node->region = region_of(s, v);
    if ((size_t)v < s->values) s->copy[v] = y;
    return y;
}

/* Views of what has changed its type have it, too. */
static void retype(struct mf_net *net, int v, enum mf_type type)
{
    net->value[v].shape.type = type;
    for (size_t w = 0; w < net->values; ++w)
        if (net->value[w].base == v) {
            MF_ASSERT(net->value[w].shift == 0);
            retype(net, (int)w, type);
        }
}

static void cast_node(struct caster *s)
{
    struct mf_net *net = s->list->net;
    struct mf_shape in[MF_INS] = {{0}}, out[MF_OUTS] = {{0}};

    for (int j = 0; j < MF_INS; ++j) {
        const int v = s->list->node[s->at].in[j];
        const enum mf_type type = v < 0 ? MF_F32 : wanted(s, &s->list->node[s->at], j);
        int use;

        if (v < 0) continue;
        use = net->value[v].shape.type == type ? v : copy_of(s, v, type);
        s->list->node[s->at].in[j] = use;
        in[j] = net->value[use].shape;
    }
    MF_ASSERT(mf_ops[s->list->node[s->at].op]->shape(&s->list->node[s->at].attr, in, out) == MF_OK);
    for (int j = 0; j < MF_OUTS; ++j)
        if (s->list->node[s->at].out[j] >= 0) retype(net, s->list->node[s->at].out[j], out[j].type);
}

/* Parameters that all nodes read in 16 bits have them. Parts of an array, and what backward changes, do not. */
static void narrow_parameters(struct mf_list *list, enum mf_type type, unsigned sets)
{
    const struct mf_net *net = list->net;
    unsigned char *wide = MF_MUST(calloc(net->values + 1, 1), "marks");

    for (size_t i = 0; i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j)
            if (list->node[i].in[j] >= 0 && mf_ops[list->node[i].op]->f32 >> j & 1) wide[list->node[i].in[j]] = 1;
    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].base >= 0) wide[net->value[v].base] = 1;
    for (size_t v = 0; v < net->values; ++v) {
        struct mf_value *value = &net->value[v];

        if (!wide[v] && value->base < 0 && mf_value_in(value, sets) && value->shape.type == MF_F32)
            value->shape.type = type;
    }
    free(wide);
}

void mf_pass_cast(struct mf_list *list, enum mf_type type, unsigned narrow)
{
    struct caster s = {.list = list, .type = type, .values = list->net->values};

    if (type == MF_F32) return;
    narrow_parameters(list, type, narrow);
    s.copy = MF_MUST(malloc((s.values + 1) * sizeof *s.copy), "copies");
    for (size_t v = 0; v < s.values; ++v) s.copy[v] = -1;
    for (; s.at < list->nodes; ++s.at) cast_node(&s);
    free(s.copy);
}
