/* See uses.h. */
#include "src/net/uses.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/net/region.h"

struct regions {
    struct mf_stretch *stretch;
    size_t stretches;
    int *inner;
};

/* The memories that a node touches, each once. */
static size_t memories(const struct mf_net *net, const struct mf_node *node, struct mf_operand memory[MF_OPERANDS])
{
    struct mf_operand operand[MF_OPERANDS];
    const size_t all = mf_node_operands(node, operand);
    size_t n = 0;

    for (size_t j = 0; j < all; ++j) {
        const int root = mf_value_root(net, operand[j].value, NULL);
        size_t k = 0;

        while (k < n && memory[k].value != root) ++k;
        if (k == n) memory[n++] = (struct mf_operand){root, 0};
        memory[k].access |= operand[j].access;
    }
    return n;
}

/* What the stretch that ends with node @p i touches and its region does not have alone: its accesses into @p access
 * [values]; 0: none. Returns whether a stretch ends there. */
static int touch_through(const struct mf_list *list, const struct regions *r, size_t i, unsigned *access)
{
    const struct mf_stretch *s = mf_stretch_of(r->stretch, r->stretches, i);
    struct mf_operand memory[MF_OPERANDS];

    if (!s || s->last != i) return 0;
    memset(access, 0, list->net->values * sizeof *access);
    for (size_t k = s->first; k <= s->last; ++k)
        for (size_t j = memories(list->net, &list->node[k], memory); j-- > 0;)
            if (r->inner[memory[j].value] != s->region) access[memory[j].value] |= memory[j].access;
    for (size_t j = memories(list->net, &list->node[i], memory); j-- > 0;) access[memory[j].value] = 0;
    return 1;
}

void mf_uses_make(const struct mf_list *list, struct mf_uses *uses)
{
    const struct mf_net *net = list->net;
    struct mf_operand memory[MF_OPERANDS];
    struct regions r = {.stretches = mf_stretches(list, &r.stretch), .inner = mf_region_inner(list)};
    unsigned *through = MF_MUST(calloc(net->values + 1, sizeof *through), "an index of uses");
    size_t *end, sum = 0;

    uses->first = MF_MUST(calloc(net->values + 1, sizeof *uses->first), "an index of uses");
    end = MF_MUST(calloc(net->values + 1, sizeof *end), "an index of uses");
    for (size_t i = 0; i < list->nodes; ++i) {
        for (size_t j = memories(net, &list->node[i], memory); j-- > 0;) ++end[memory[j].value];
        if (touch_through(list, &r, i, through))
            for (size_t v = 0; v < net->values; ++v) end[v] += through[v] != 0;
    }
    for (size_t v = 0; v <= net->values; ++v) {
        uses->first[v] = sum;
        sum += end[v];
        end[v] = uses->first[v];
    }
    uses->use = MF_MUST(malloc((sum + 1) * sizeof *uses->use), "an index of uses");
    for (size_t i = 0; i < list->nodes; ++i) {
        for (size_t j = memories(net, &list->node[i], memory); j-- > 0;)
            uses->use[end[memory[j].value]++] = (struct mf_use){i, memory[j].access};
        if (touch_through(list, &r, i, through))
            for (size_t v = 0; v < net->values; ++v)
                if (through[v]) uses->use[end[v]++] = (struct mf_use){i, through[v]};
    }
    free(end);
    free(through);
    free(r.inner);
    free(r.stretch);
}

void mf_uses_free(struct mf_uses *uses)
{
    free(uses->first);
    free(uses->use);
    memset(uses, 0, sizeof *uses);
}

size_t mf_uses_readers(const struct mf_uses *uses, const struct mf_net *net, int value, size_t from)
{
    const int root = mf_value_root(net, value, NULL);
    size_t n = 0;

    for (size_t u = uses->first[root]; u < uses->first[root + 1]; ++u)
        n += uses->use[u].node >= from && uses->use[u].access & MF_READS;
    return n;
}

ptrdiff_t mf_uses_last(const struct mf_uses *uses, const struct mf_net *net, int value, unsigned access)
{
    const int root = mf_value_root(net, value, NULL);

    for (size_t u = uses->first[root + 1]; u-- > uses->first[root];)
        if (uses->use[u].access & access) return (ptrdiff_t)uses->use[u].node;
    return -1;
}
