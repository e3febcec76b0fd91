/* Which nodes of a list touch which memory, in the order of the list. A pass makes the index, and makes it anew after
 * it has changed the list. */
#ifndef MF_NET_USES_H
#define MF_NET_USES_H

#include "src/net/list.h"

struct mf_use {
    size_t node;
    unsigned access; /* enum mf_access, of all its operands in this memory together */
};

/** Its last node uses all that a stretch uses and others touch, too (region.h). */
struct mf_uses {
    size_t *first;      /* [values + 1] the uses of the memory of value v (a root) are use[first[v]] .. */
    struct mf_use *use; /* ascending by node; a node once for each memory */
};

void mf_uses_make(const struct mf_list *list, struct mf_uses *uses);
void mf_uses_free(struct mf_uses *uses);

/** How many nodes from node @p from on read the memory of @p value. */
size_t mf_uses_readers(const struct mf_uses *uses, const struct mf_net *net, int value, size_t from);

/** The last node that has this access to the memory of @p value; -1: none. */
ptrdiff_t mf_uses_last(const struct mf_uses *uses, const struct mf_net *net, int value, unsigned access);

#endif
