/* The pass plan: handles and work memory of the back end. */
#include <stdlib.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

/* What is in host memory is computed on the cores, with the threads of the queue. */
static const struct mf_op_calls *calls_of(const struct mf_net *net, const struct mf_queue *queue,
                                          const struct mf_node *node)
{
    const struct mf_backend *backend = mf_node_place(net, node) == MF_PLACE_HOST ? &mf_backend_cpu : queue->backend;

    return backend->net ? backend->net->calls[node->op] : NULL;
}

/* Backward may write over a gradient that nobody reads later. */
static int may_own(const struct mf_list *list, const struct mf_uses *uses, size_t i)
{
    const struct mf_node *node = &list->node[i];
    const struct mf_net *net = list->net;
    const int d = node->dout < 0 ? -1 : mf_value_root(net, node->dout, NULL);

    return d >= 0 && mf_ops[node->op]->consumes && net->value[d].role == MF_ROLE_ACTIVATION && !net->value[d].kept &&
           mf_uses_last(uses, net, d, MF_READS | MF_WRITES) == (ptrdiff_t)i;
}

int mf_pass_plan(struct mf_list *list, struct mf_queue *queue)
{
    struct mf_uses uses;
    int rc = MF_OK;

    mf_uses_make(list, &uses);
    for (size_t i = 0; i < list->nodes; ++i) list->node[i].own = may_own(list, &uses, i);
    mf_uses_free(&uses);
    for (size_t i = 0; rc == MF_OK && i < list->nodes; ++i) {
        struct mf_node *node = &list->node[i];
        const struct mf_op_calls *calls = calls_of(list->net, queue, node);
        struct mf_call call;
        size_t work = 0;

        if (!mf_op_is_kernel(node->op)) continue;
        if (!calls)
            return mf_fail(MF_DEVICE, "the %s back end has no operation %s (node '%s'); try: --device cpu",
                           queue->backend->name, mf_ops[node->op]->name, node->name);
        if (!calls->plan) continue;
        mf_node_call(list->net, node, &call);
        rc = calls->plan(queue, &call, node->back, &node->plan, &work);
        if (rc == MF_OK && work > 0) {
            const struct mf_shape bytes = {.type = MF_U8, .n = 1, .d = {work}};

            node->work = mf_value_new(list->net, MF_ROLE_WORK, bytes, "%s.work", node->name);
            list->net->value[node->work].place = mf_node_place(list->net, node);
        }
    }
    return rc;
}

void mf_list_release(struct mf_list *list, struct mf_queue *queue)
{
    for (size_t i = 0; i < list->nodes; ++i) {
        struct mf_node *node = &list->node[i];

        if (node->plan) calls_of(list->net, queue, node)->release(node->plan);
        node->plan = NULL;
    }
}
