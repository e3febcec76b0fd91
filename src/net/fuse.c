/* The pass fuse: an operation and its activation become one node, and so do a group norm and its modulate. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

static enum mf_act act_of(enum mf_op_id op)
{
    switch (op) {
    case MF_OP_RELU: return MF_ACT_RELU;
    case MF_OP_SILU: return MF_ACT_SILU;
    case MF_OP_GELU: return MF_ACT_GELU;
    case MF_OP_GELU_TANH: return MF_ACT_GELU_TANH;
    default: return MF_ACT_NONE;
    }
}

/* Operations that can compute an activation as well. */
static int takes(enum mf_op_id op)
{
    return op == MF_OP_LINEAR || op == MF_OP_GROUPED_LINEAR || op == MF_OP_CONV2D || op == MF_OP_GROUP_NORM;
}

/* Is what the activation gets kept for backward? A norm computes it again, and the slope of relu follows from its
 * output. */
static int keeps(enum mf_op_id op, enum mf_act act) { return op != MF_OP_GROUP_NORM && act != MF_ACT_RELU; }

/* An activation that costs nothing to keep joins; others may rather be computed again. */
static int joins(const struct mf_node *node, const struct mf_node *next, enum mf_recompute how)
{
    const enum mf_act act = act_of(next->op);

    return takes(node->op) && !node->attr.act && act && next->in[0] == node->out[0] && next->segment == node->segment &&
           (!keeps(node->op, act) || how != MF_RECOMPUTE_CHEAP);
}

/* A norm that has neither modulate nor activation takes the former, whose other input is there before the norm. */
static int is_modulated(const struct mf_node *node, const struct mf_node *next)
{
    return node->op == MF_OP_GROUP_NORM && next->op == MF_OP_MODULATE && !node->attr.act && node->in[3] < 0 &&
           next->in[0] == node->out[0] && next->in[1] != node->out[0] && next->segment == node->segment;
}

static void join(struct mf_node *node, const struct mf_node *next)
{
    if (next->op == MF_OP_MODULATE) {
        node->in[3] = next->in[1];
    } else {
        node->attr.act = (int)act_of(next->op);
        if (keeps(node->op, act_of(next->op))) node->out[1] = node->out[0];
    }
    node->out[0] = next->out[0];
}

size_t mf_pass_fuse(struct mf_list *list, enum mf_recompute how, enum mf_scope scope)
{
    unsigned char *dead = MF_MUST(calloc(list->nodes + 1, 1), "marks");
    struct mf_uses uses;
    size_t joined = 0;

    mf_uses_make(list, &uses);
    for (size_t i = 0, k; i < list->nodes; i = k) {
        struct mf_node *node = &list->node[i];

        for (k = i + 1; k < list->nodes && mf_node_in(node, scope); ++k) {
            const int between = node->out[0];

            if (!(is_modulated(node, &list->node[k]) || joins(node, &list->node[k], how)) ||
                list->net->value[between].kept || mf_uses_readers(&uses, list->net, between, 0) != 1)
                break;
            join(node, &list->node[k]);
            dead[k] = 1;
            ++joined;
        }
    }
    mf_uses_free(&uses);
    mf_list_compact(list, dead);
    free(dead);
    return joined;
}
