/* See region.h. */
#include "src/net/region.h"

#include <stdlib.h>

#include "src/base/err.h"

enum { NOBODY = -1 };

size_t mf_list_seed(const struct mf_list *list)
{
    size_t i = 0;

    while (i < list->nodes && list->node[i].op != MF_OP_FILL) ++i;
    return i;
}

size_t mf_stretches_of(const struct mf_list *list, size_t seed, struct mf_stretch **stretch)
{
    struct mf_stretch *s = MF_MUST(malloc((2 * (size_t)list->regions + 1) * sizeof *s), "stretches");
    size_t n = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const int region = list->node[i].region;

        if (!region) continue;
        if (n && s[n - 1].region == region && (s[n - 1].first < seed) == (i < seed))
            s[n - 1].last = i;
        else
            s[n++] = (struct mf_stretch){i, i, region};
        MF_ASSERT(n <= 2 * (size_t)list->regions); /* no region within another */
    }
    *stretch = s;
    return n;
}

size_t mf_stretches(const struct mf_list *list, struct mf_stretch **stretch)
{
    return mf_stretches_of(list, mf_list_seed(list), stretch);
}

const struct mf_stretch *mf_stretch_of(const struct mf_stretch *stretch, size_t n, size_t node)
{
    for (size_t k = 0; k < n; ++k)
        if (stretch[k].first <= node && node <= stretch[k].last) return &stretch[k];
    return NULL;
}

static int is_passing(enum mf_role role) { return role == MF_ROLE_ACTIVATION || role == MF_ROLE_WORK; }

int *mf_region_inner(const struct mf_list *list)
{
    const struct mf_net *net = list->net;
    int *inner = MF_MUST(malloc((net->values + 1) * sizeof *inner), "regions");
    struct mf_operand operand[MF_OPERANDS];

    for (size_t v = 0; v < net->values; ++v) inner[v] = NOBODY;
    for (size_t i = 0; i < list->nodes; ++i)
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;) {
            int *of = &inner[mf_value_root(net, operand[j].value, NULL)];

            *of = *of == NOBODY || *of == list->node[i].region ? list->node[i].region : 0;
        }
    for (size_t v = 0; v < net->values; ++v) {
        const int root = mf_value_root(net, (int)v, NULL);

        if (net->value[v].kept || !is_passing(net->value[root].role)) inner[root] = 0;
    }
    for (size_t v = 0; v < net->values; ++v)
        if (inner[v] == NOBODY) inner[v] = 0;
    return inner;
}
