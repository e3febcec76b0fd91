/* The pass rerun: nodes that compute the activations of a region again stand in front of its backward. They write over
 * the activations of the last round where backward reads these. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/region.h"

struct rerun {
    struct mf_list *list;
    size_t seed;
    int region;
    int always;            /* no activations of the last round are kept */
    size_t values;         /* before the pass */
    ptrdiff_t *maker;      /* [values] the forward node of the region that writes it; -1: none */
    unsigned char *wanted; /* [values] backward reads it, or what is computed from it */
    int *written;          /* [values] what stands for it in backward: itself, or a second copy; -1: nothing yet */
    size_t at;             /* where nodes are inserted */
};

static int is_forward(const struct rerun *s, size_t i) { return i < s->seed && s->list->node[i].region == s->region; }

static int root_of(const struct rerun *s, int v) { return v < 0 ? -1 : mf_value_root(s->list->net, v, NULL); }

/* Made by the region, in every round. */
static int is_made(const struct rerun *s, int v)
{
    const int root = root_of(s, v);

    return root >= 0 && (size_t)root < s->values && s->maker[root] >= 0;
}

static void find_makers(struct rerun *s)
{
    for (size_t v = 0; v < s->values; ++v) s->maker[v] = s->written[v] = -1;
    for (size_t i = 0; i < s->seed; ++i)
        for (int j = 0; j < MF_OUTS; ++j)
            if (is_forward(s, i) && s->list->node[i].out[j] >= 0)
                s->maker[root_of(s, s->list->node[i].out[j])] = (ptrdiff_t)i;
}

static void want(struct rerun *s, const struct mf_node *node, int outs)
{
    for (int j = 0; j < MF_INS; ++j)
        if (is_made(s, node->in[j])) s->wanted[root_of(s, node->in[j])] = 1;
    for (int j = 0; outs && j < MF_OUTS; ++j)
        if (is_made(s, node->out[j])) s->wanted[root_of(s, node->out[j])] = 1;
}

static int is_wanted(const struct rerun *s, const struct mf_node *node)
{
    for (int j = 0; j < MF_OUTS; ++j)
        if (node->out[j] >= 0 && s->wanted[root_of(s, node->out[j])]) return 1;
    return 0;
}

/* What backward reads; finds also where it begins. Returns whether it does. */
static int find_backward(struct rerun *s)
{
    s->at = s->list->nodes;
    for (size_t i = s->list->nodes; i-- > s->seed;) {
        if (s->list->node[i].region != s->region) continue;
        want(s, &s->list->node[i], s->list->node[i].back);
        s->at = i;
    }
    for (size_t v = 0; v < s->values; ++v)
        if (s->wanted[v] && !s->always) s->written[v] = (int)v;
    return s->at < s->list->nodes;
}

/* What stands for value @p v in backward. */
static int stand_in(struct rerun *s, int v)
{
    struct mf_net *net = s->list->net;
    const int root = root_of(s, v);

    if (!is_made(s, v) || s->written[root] == root) return v;
    if (s->written[root] < 0) {
        const struct mf_value *value = &net->value[root];

        s->written[root] = mf_value_new(net, value->role, value->shape, "%s'", value->name);
    }
    if (v == root) return s->written[root];
    MF_ASSERT(net->value[v].base == root); /* a view of the whole, as reshape makes it */
    return mf_value_view(net, s->written[root], net->value[v].shift, net->value[v].shape, "'");
}

static void replace(struct rerun *s, struct mf_node node, size_t at)
{
    int in[MF_INS], out[MF_OUTS];

    for (int j = 0; j < MF_INS; ++j) in[j] = stand_in(s, node.in[j]);
    for (int j = 0; j < MF_OUTS; ++j) out[j] = stand_in(s, node.out[j]);
    for (int j = 0; j < MF_INS; ++j) s->list->node[at].in[j] = in[j];
    for (int j = 0; j < MF_OUTS; ++j) s->list->node[at].out[j] = out[j];
}

static void repeat(struct rerun *s, size_t i)
{
    const struct mf_node from = s->list->node[i];
    struct mf_node *node = mf_list_insert(s->list, s->at, from.op, from.name);

    node->attr = from.attr;
    node->segment = from.segment;
    node->stage = from.stage;
    node->region = from.region;
    node->rerun = s->always ? MF_RERUN_ALWAYS : MF_RERUN_ROUNDS;
    replace(s, from, s->at++);
}

/* From the last to the first, what is wanted is found; they are inserted in order. */
static void rerun_region(struct rerun *s)
{
    unsigned char *again = MF_MUST(calloc(s->seed + 1, 1), "marks");

    find_makers(s);
    if (find_backward(s)) {
        for (size_t i = s->seed; i-- > 0;)
            if (is_forward(s, i) && is_wanted(s, &s->list->node[i])) {
                again[i] = 1;
                want(s, &s->list->node[i], 0);
            }
        for (size_t i = 0; i < s->seed; ++i)
            if (again[i]) repeat(s, i);
        for (size_t i = s->at; i < s->list->nodes; ++i)
            if (s->list->node[i].region == s->region) replace(s, s->list->node[i], i);
    }
    free(again);
}

void mf_pass_rerun(struct mf_list *list, enum mf_recompute how)
{
    struct rerun s = {.list = list, .seed = mf_list_seed(list), .always = how == MF_RECOMPUTE_BLOCKS};

    for (s.region = 1; s.region <= list->regions; ++s.region) {
        s.values = list->net->values;
        s.maker = MF_MUST(malloc(s.values * sizeof *s.maker), "makers");
        s.written = MF_MUST(malloc(s.values * sizeof *s.written), "copies");
        s.wanted = MF_MUST(calloc(s.values, 1), "marks");
        rerun_region(&s);
        free(s.maker);
        free(s.written);
        free(s.wanted);
    }
}
