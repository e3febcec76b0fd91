/* The passes reduce, reduced and gather: exchanges of flat arrays among ranks. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

static void exchange(struct mf_list *list, size_t at, enum mf_op_id op, enum mf_exchange_kind kind, int array)
{
    struct mf_node *node = mf_list_insert(list, at, op, list->net->value[array].name);

    node->in[0] = array;
    node->attr.exchange = kind;
}

static enum mf_exchange_kind sum_of(const struct mf_layout *layout)
{
    return layout->stage == 0 ? MF_EXCHANGE_SUM : MF_EXCHANGE_SCATTER;
}

/* Stage 2: the sum ends, and its own piece is kept. */
static void keep(struct mf_list *list, size_t at, const struct mf_bucket *bucket, int first)
{
    struct mf_net *net = list->net;
    const char *name = net->value[bucket->own_gradients].name;
    struct mf_node *node;

    exchange(list, at, MF_OP_FINISH, MF_EXCHANGE_SCATTER, bucket->gradients);
    if (first) mf_list_insert(list, ++at, MF_OP_FILL, name)->out[0] = bucket->own_gradients;
    node = mf_list_insert(list, at + 1, MF_OP_ACCUMULATE, name);
    node->in[0] = bucket->own_gradients;
    node->in[1] = bucket->summed;
}

/* From the last bucket to the first, so that places in the list stay true. */
void mf_pass_reduce(struct mf_list *list, const struct mf_layout *layout, int first)
{
    struct mf_uses uses;
    size_t later = list->nodes; /* behind the start of the bucket after this one */

    mf_uses_make(list, &uses);
    for (size_t k = layout->buckets; k-- > 0;) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        const ptrdiff_t last = mf_uses_last(&uses, list->net, bucket->gradients, MF_WRITES);

        if (layout->stage == 2) keep(list, later, bucket, first);
        exchange(list, (size_t)last + 1, MF_OP_START, sum_of(layout), bucket->gradients);
        later = (size_t)last + 2;
    }
    mf_uses_free(&uses);
}

void mf_pass_reduced(struct mf_list *list, const struct mf_layout *layout)
{
    for (size_t k = 0; layout->stage < 2 && k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_FINISH, sum_of(layout), layout->bucket[k].gradients);
}

void mf_pass_gather(struct mf_list *list, const struct mf_layout *layout)
{
    if (layout->stage == 0) return;
    for (size_t k = 0; k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_START, MF_EXCHANGE_GATHER, layout->bucket[k].parameters);
    for (size_t k = 0; k < layout->buckets; ++k)
        exchange(list, list->nodes, MF_OP_FINISH, MF_EXCHANGE_GATHER, layout->bucket[k].parameters);
}
