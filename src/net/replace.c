/* Pass replace: another value in the place of one. See pass.h. */
#include "src/base/err.h"
#include "src/net/pass.h"

static size_t maker_of(const struct mf_list *list, int value)
{
    for (size_t k = 0; k < list->nodes; ++k)
        for (int i = 0; i < MF_OUTS; ++i)
            if (list->node[k].out[i] == value) return k;
    MF_ASSERT(!"a node makes it");
    return 0;
}

int mf_pass_replace(struct mf_list *list, int value, int other, int keep, int put, const char *name)
{
    struct mf_net *net = list->net;
    const int in[] = {value, other, keep, put},
              to = mf_value_new(net, MF_ROLE_ACTIVATION, net->value[value].shape, "%s", name);
    const size_t at = maker_of(list, value) + 1;
    struct mf_node *node;

    for (size_t w = 0; w < net->values; ++w) MF_ASSERT(net->value[w].base != value);
    for (size_t k = at; k < list->nodes; ++k)
        for (int i = 0; i < MF_INS; ++i)
            if (list->node[k].in[i] == value) list->node[k].in[i] = to;
    node = mf_list_insert(list, at, MF_OP_BLEND, name);
    node->segment = list->node[at - 1].segment;
    for (int i = 0; i < 4; ++i) node->in[i] = in[i];
    node->out[0] = to;
    return to;
}
