/* The pass fold: s = a + b, where backward computes both, becomes an addition to a by the node that computes b. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

/* The one backward node that writes the memory of @p b as a gradient, and which gradient of it. */
static struct mf_node *writer_of(const struct mf_list *list, const struct mf_uses *uses, int b, size_t *at, int *slot)
{
    struct mf_node *found = NULL;

    for (size_t u = uses->first[b]; u < uses->first[b + 1]; ++u) {
        struct mf_node *node = &list->node[uses->use[u].node];

        if (!(uses->use[u].access & MF_WRITES)) continue;
        if (found || !node->back) return NULL;
        for (int j = 0; j < MF_INS; ++j)
            if (node->din[j] >= 0 && mf_value_root(list->net, node->din[j], NULL) == b) {
                if (found) return NULL;
                found = node;
                *at = uses->use[u].node;
                *slot = j;
            }
    }
    return found;
}

/* Nobody reads a after the node that adds to it, but the sum; nobody reads b but the sum. */
static int folds(const struct mf_list *list, const struct mf_uses *uses, int a, int b, struct mf_node **node, int *slot)
{
    const struct mf_value *value = &list->net->value[a];
    size_t at = 0;

    if (a == b || value->role != MF_ROLE_ACTIVATION || value->kept) return 0;
    *node = writer_of(list, uses, b, &at, slot);
    return *node && mf_ops[(*node)->op]->adds >> *slot & 1 && !((*node)->add >> *slot & 1) &&
           mf_uses_readers(uses, list->net, b, 0) == 1 && mf_uses_readers(uses, list->net, a, at) == 1 &&
           mf_uses_last(uses, list->net, a, MF_WRITES) < (ptrdiff_t)at;
}

/* Folds sums whose memories no other fold of this sweep has touched, because the index does not know those. */
static size_t sweep(struct mf_list *list, const struct mf_uses *uses, unsigned char *touched, unsigned char *dead)
{
    struct mf_net *net = list->net;
    size_t folded = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        struct mf_node *sum = &list->node[i], *node;
        int a, b, y, slot = 0;

        if (sum->op != MF_OP_ADD || sum->back) continue;
        a = mf_value_root(net, sum->in[0], NULL);
        b = mf_value_root(net, sum->in[1], NULL);
        y = mf_value_root(net, sum->out[0], NULL);
        if (touched[a] || touched[b] || touched[y] || !folds(list, uses, a, b, &node, &slot)) continue;
        node->add |= 1u << slot;
        net->value[b].base = net->value[y].base = a;
        touched[a] = touched[b] = touched[y] = dead[i] = 1;
        ++folded;
    }
    return folded;
}

size_t mf_pass_fold(struct mf_list *list)
{
    size_t all = 0, folded;

    do {
        unsigned char *dead = MF_MUST(calloc(list->nodes + 1, 1), "marks");
        unsigned char *touched = MF_MUST(calloc(list->net->values + 1, 1), "marks");
        struct mf_uses uses;

        mf_uses_make(list, &uses);
        folded = sweep(list, &uses, touched, dead);
        all += folded;
        mf_uses_free(&uses);
        mf_list_compact(list, dead);
        free(dead);
        free(touched);
    } while (folded);
    return all;
}
