/* See leave.h. */
#include "src/place/leave.h"

#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/parts.h"

/* Marks those that leave. */
static void choose(size_t parts, size_t count, unsigned char *leaves)
{
    const size_t blocks = parts > 2 ? parts - 2 : 0, n = mf_min(count, blocks);

    for (size_t k = 1; k <= n; ++k) leaves[(k * blocks + n - 1) / n] = 1;
    if (count > blocks) leaves[parts - 1] = 1;
    if (count > blocks + 1) leaves[0] = 1;
}

size_t mf_parts_leave(const struct mf_list *list, size_t count, int *number)
{
    const struct mf_net *net = list->net;
    size_t *part = MF_MUST(malloc((list->nodes + 1) * sizeof *part), "parts");
    const size_t parts = mf_parts_number(list, part, NULL);
    unsigned char *leaves = MF_MUST(calloc(parts + 1, 1), "marks");

    choose(parts, count, leaves);
    for (size_t v = 0; v < net->values; ++v) number[v] = -1;
    for (size_t i = list->nodes; i-- > 0;) /* the first reader remains */
        for (int j = 0; j < MF_INS; ++j) {
            const int v = list->node[i].in[j], root = v < 0 ? -1 : mf_value_root(net, v, NULL);

            if (root < 0 || net->value[root].role != MF_ROLE_PARAMETER || !net->value[root].weight) continue;
            number[root] = leaves[part[i]] ? (int)part[i] : -1;
        }
    free(leaves);
    free(part);
    return parts;
}
