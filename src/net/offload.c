/* The passes send and bring: the optimiser works on arrays in host memory (struct mf_layout, offload). */
#include "src/net/copies.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

void mf_copy_begin(struct mf_list *list, size_t at, int from, int to)
{
    struct mf_node *node = mf_list_insert(list, at, MF_OP_COPY, list->net->value[to].name);

    node->in[0] = from;
    node->out[0] = to;
}

void mf_copy_end(struct mf_list *list, size_t at, int from, int to, enum mf_waits waits)
{
    struct mf_node *node = mf_list_insert(list, at, MF_OP_COPIED, list->net->value[to < 0 ? from : to].name);

    node->in[0] = from;
    node->in[1] = to;
    node->attr.waits = waits;
}

/* From the last bucket to the first, so that places in the list stay true. */
void mf_pass_send(struct mf_list *list, const struct mf_layout *layout)
{
    struct mf_uses uses;
    size_t later = list->nodes; /* behind the beginning of the bucket after this one */

    if (!layout->offload) return;
    mf_uses_make(list, &uses);
    for (size_t k = layout->buckets; k-- > 0;) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        const size_t behind = (size_t)mf_uses_last(&uses, list->net, bucket->gradients, MF_WRITES) + 1;

        mf_copy_end(list, later, bucket->gradients, bucket->total, MF_WAITS_HOST);
        mf_copy_begin(list, behind, bucket->gradients, bucket->total);
        later = behind + 1;
    }
    mf_uses_free(&uses);
}

void mf_pass_bring(struct mf_list *list, const struct mf_layout *layout)
{
    struct mf_uses uses;

    if (!layout->offload || layout->stage == 3) return;
    mf_uses_make(list, &uses);
    for (size_t k = layout->buckets; k-- > 0;) {
        const struct mf_bucket *bucket = &layout->bucket[k];

        mf_copy_begin(list, (size_t)mf_uses_last(&uses, list->net, bucket->master, MF_WRITES) + 1, bucket->master,
                      bucket->parameters);
    }
    mf_uses_free(&uses);
    for (size_t k = 0; k < layout->buckets; ++k)
        mf_copy_end(list, list->nodes, layout->bucket[k].master, layout->bucket[k].parameters, MF_WAITS_HOST);
}
