/* The pass fuse: an operation and its activation become one node. */
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

/* An activation whose slope is known from its output costs nothing to keep; others are kept for backward, and may
 * rather be computed again. */
static int joins(const struct mf_node *node, const struct mf_node *next, enum mf_recompute how)
{
    const enum mf_act act = act_of(next->op);

    return node->op == MF_OP_LINEAR && !node->attr.act && act && next->in[0] == node->out[0] &&
           next->segment == node->segment && (act == MF_ACT_RELU || how != MF_RECOMPUTE_CHEAP);
}

size_t mf_pass_fuse(struct mf_list *list, enum mf_recompute how)
{
    unsigned char *dead = MF_MUST(calloc(list->nodes + 1, 1), "marks");
    struct mf_uses uses;
    size_t joined = 0;

    mf_uses_make(list, &uses);
    for (size_t i = 0; i + 1 < list->nodes; ++i) {
        struct mf_node *node = &list->node[i], *next = node + 1;
        const int between = node->out[0];

        if (dead[i] || !joins(node, next, how) || list->net->value[between].kept ||
            mf_uses_readers(&uses, list->net, between, 0) != 1)
            continue;
        node->attr.act = (int)act_of(next->op);
        if (node->attr.act != MF_ACT_RELU) node->out[1] = between;
        node->out[0] = next->out[0];
        dead[i + 1] = 1;
        ++joined;
    }
    mf_uses_free(&uses);
    mf_list_compact(list, dead);
    free(dead);
    return joined;
}
