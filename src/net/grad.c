/* The pass grad: backward, from the loss to the parameters. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/net/pass.h"

struct grads {
    struct mf_list *list;
    size_t values;         /* of forward */
    int *gradient;         /* [values] of activations: its gradient as far as it is summed; -1: none yet */
    unsigned char *needed; /* [values] it depends on a trained parameter */
    unsigned *written;     /* [values] of parameters: nodes that have written its gradient */
};

/* Does its gradient belong to the value of which it is a view? That of an expert's part does not. */
static int is_view(const struct mf_value *value)
{
    return value->base >= 0 && !(value->role == MF_ROLE_PARAMETER && value->weight);
}

/* The parameter whose gradient the node writes as that of its input @p j: one that it reads, also through views, or the
 * one whose copy in 16 bits it reads as its weights; -1: none. */
static int parameter_of(const struct mf_net *net, const struct mf_node *node, int j)
{
    const struct mf_value *value = &net->value[node->in[j]];
    int v = node->in[j];

    if (value->role == MF_ROLE_PARAMETER) {
        for (; is_view(&net->value[v]); v = net->value[v].base) MF_ASSERT(!net->value[v].summed);
        return v;
    }
    return value->weight && mf_ops[node->op]->shared >> j & 1 ? value->weight->value : -1;
}

static int is_needed(const struct grads *s, int v)
{
    const struct mf_value *value = &s->list->net->value[v];

    if (value->stop) return 0;
    return is_view(value) ? is_needed(s, value->base) : s->needed[v];
}

/* Does a gradient come back by input @p j of the node? */
static int is_differentiated(const struct grads *s, const struct mf_node *node, int j)
{
    return node->in[j] >= 0 && !(mf_ops[node->op]->constant >> j & 1) && is_needed(s, node->in[j]);
}

static void mark_needed(struct grads *s, unsigned sets)
{
    const struct mf_net *net = s->list->net;

    for (size_t v = 0; v < s->values; ++v) s->needed[v] = (unsigned char)mf_value_in(&net->value[v], sets);
    for (size_t i = 0; i < s->list->nodes; ++i) {
        const struct mf_node *node = &s->list->node[i];

        for (int j = 0; j < MF_INS; ++j)
            if (node->out[0] >= 0 && is_differentiated(s, node, j)) s->needed[node->out[0]] = 1;
    }
}

/* Gradients of parameters are f32; others have the type of their value. */
static struct mf_shape gradient_shape(const struct mf_net *net, int v)
{
    struct mf_shape shape = net->value[v].shape;

    if (net->value[v].role == MF_ROLE_PARAMETER) shape.type = MF_F32;
    return shape;
}

/* The gradient @p g of a view that several ranks read: summed over these. @p own: nobody else reads @p g. */
static int sum_over_ranks(struct grads *s, int view, int g, int own)
{
    struct mf_net *net = s->list->net;
    const struct mf_attr all = {.count = net->value[g].shape.d[0]};

    if (!own) MF_ASSERT(mf_list_apply(s->list, MF_OP_SLICE, &all, net->value[view].name, 1, &g, &g) == MF_OK);
    net->value[mf_value_root(net, g, NULL)].group = net->value[view].group;
    mf_list_sum(s->list, g, 0);
    return g;
}

/* Gives value @p v the gradient @p g: of a view to its base, a second one by a sum. @p own: nobody else reads @p g. */
static void give(struct grads *s, int v, int g, int own)
{
    struct mf_net *net = s->list->net;
    const struct mf_attr none = {0};
    char *name;

    while (net->value[v].base >= 0) {
        if (net->value[v].stop) return;
        if (net->value[v].summed) g = sum_over_ranks(s, v, g, own);
        v = net->value[v].base;
        MF_ASSERT(mf_shape_count(&net->value[v].shape) == mf_shape_count(&net->value[g].shape));
        g = mf_value_view(net, g, 0, gradient_shape(net, v), "'");
    }
    if (s->gradient[v] >= 0) {
        const int both[] = {s->gradient[v], g};

        if (asprintf(&name, "%s.sum", net->value[v].name) < 0) name = NULL;
        MF_MUST(name, "a name");
        MF_ASSERT(mf_list_apply(s->list, MF_OP_ADD, &none, name, 2, both, &g) == MF_OK);
        free(name);
    }
    s->gradient[v] = g;
}

/* The gradient of a parameter, in the shape of the view @p x that a node reads. More than one node writes it where
 * weights are shared. */
static int of_parameter(struct grads *s, int v, int x)
{
    struct mf_net *net = s->list->net;
    struct mf_weight *weight = net->value[v].weight;
    const struct mf_shape shape = gradient_shape(net, x);

    if (weight->gradient < 0)
        weight->gradient = mf_value_new(net, MF_ROLE_GRADIENT, gradient_shape(net, v), "%s.grad", net->value[v].name);
    if (net->value[x].role != MF_ROLE_PARAMETER || x == v) return weight->gradient;
    MF_ASSERT(mf_shape_count(&shape) == mf_shape_count(&net->value[v].shape));
    return mf_value_view(net, weight->gradient, 0, shape, "'");
}

/* Which inputs need a gradient that a node must compute. Where the gradient is dout itself, it is passed on. */
static unsigned wanted_of(struct grads *s, const struct mf_node *node)
{
    const struct mf_net *net = s->list->net;
    const int y = node->out[0];
    unsigned wanted = 0;

    for (int j = 0; j < MF_INS; ++j) {
        const int x = node->in[j];

        if (!is_differentiated(s, node, j)) continue;
        if (mf_ops[node->op]->passes >> j & 1 && parameter_of(net, node, j) < 0 &&
            mf_shape_count(&net->value[x].shape) == mf_shape_count(&net->value[y].shape))
            give(s, x, s->gradient[y], 0);
        else
            wanted |= 1u << j;
    }
    return wanted;
}

/* Appends the backward node of @p of. */
static void append(struct grads *s, const struct mf_node *of, unsigned wanted)
{
    struct mf_net *net = s->list->net;
    struct mf_node *back = mf_list_insert(s->list, s->list->nodes, of->op, of->name);
    unsigned in = 0, out = 0;
    int din[MF_INS];

    if (mf_ops[of->op]->reads) mf_ops[of->op]->reads(&of->attr, wanted, &in, &out);
    back->attr = of->attr;
    back->segment = of->segment;
    back->region = of->region;
    back->back = 1;
    back->dout = s->gradient[of->out[0]];
    for (int j = 0; j < MF_OUTS; ++j) back->out[j] = out >> j & 1 ? of->out[j] : -1;
    for (int j = 0; j < MF_INS; ++j) {
        const int x = of->in[j], parameter = x < 0 ? -1 : parameter_of(net, of, j);

        din[j] = -1;
        back->in[j] = in >> j & 1 ? x : -1;
        if (!(wanted >> j & 1)) continue;
        if (parameter >= 0) {
            din[j] = of_parameter(s, parameter, x);
            if (s->written[parameter]++) back->add |= 1u << j;
        } else {
            din[j] = mf_value_new(net, MF_ROLE_ACTIVATION, gradient_shape(net, x), "%s.g%d", net->value[x].name, j);
        }
    }
    memcpy(back->din, din, sizeof din);
    for (int j = 0; j < MF_INS; ++j)
        if (din[j] >= 0 && parameter_of(net, of, j) < 0) give(s, of->in[j], din[j], 1);
}

/* The gradient of a loss: 1. */
static void seed(struct grads *s, int loss)
{
    struct mf_net *net = s->list->net;
    struct mf_node *node;

    s->gradient[loss] = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[loss].shape, "%s.grad", net->value[loss].name);
    node = mf_list_insert(s->list, s->list->nodes, MF_OP_FILL, "seed");
    node->stage = s->list->node[s->list->nodes - 2].stage; /* that of what stands in front, another loss */
    node->out[0] = s->gradient[loss];
    node->attr.number = node->attr.scaled = 1;
}

void mf_pass_grad(struct mf_list *list, size_t n, const int loss[], unsigned sets)
{
    struct grads s = {.list = list, .values = list->net->values};
    const size_t forward = list->nodes;

    s.gradient = MF_MUST(malloc(s.values * sizeof *s.gradient), "gradients");
    s.needed = MF_MUST(calloc(s.values, 1), "gradients");
    s.written = MF_MUST(calloc(s.values, sizeof *s.written), "gradients");
    for (size_t v = 0; v < s.values; ++v) s.gradient[v] = -1;
    mark_needed(&s, sets);
    for (size_t k = 0; k < n; ++k) seed(&s, loss[k]);
    for (size_t i = forward; i-- > 0;) {
        const struct mf_node node = list->node[i]; /* the list moves as it grows */
        unsigned wanted;
        size_t before;

        if (node.out[0] < 0 || !s.needed[node.out[0]] || s.gradient[node.out[0]] < 0)
            continue; /* or a copy of weights */
        before = list->nodes;
        wanted = wanted_of(&s, &node);
        if (wanted) append(&s, &node, wanted);
        for (; before < list->nodes; ++before) { /* what leaves a region is summed outside */
            list->node[before].stage = node.stage;
            if (!list->node[before].back && node.op != MF_OP_TRADE) list->node[before].region = node.region;
        }
    }
    free(s.gradient);
    free(s.needed);
    free(s.written);
}
