/* Regions: stretches of a list. A walk executes their nodes several times in a row, if not all rows have room at once.
 * Node trade opens a region and trade_back closes it; all nodes between that work on its rows belong to it. It has a
 * stretch in forward, and in backward one that begins with nodes `rerun`.
 *
 * Rule: what only the nodes of one region touch is new in every round. Anything else that is alive in a stretch keeps
 * its memory until the end of the stretch. */
#ifndef MF_NET_REGION_H
#define MF_NET_REGION_H

#include "src/net/list.h"

struct mf_stretch {
    size_t first, last; /* nodes; those of region 0 among them are executed in the first round alone */
    int region;
};

/** The stretches of a list, in its order. The caller frees them. Returns how many. */
size_t mf_stretches(const struct mf_list *list, struct mf_stretch **stretch);

/** The same, where backward begins with node @p seed. */
size_t mf_stretches_of(const struct mf_list *list, size_t seed, struct mf_stretch **stretch);

/** The stretch in which node @p node is; NULL: in none. */
const struct mf_stretch *mf_stretch_of(const struct mf_stretch *stretch, size_t n, size_t node);

/** [values] the region whose nodes alone touch this memory (of roots); 0: there is none. The caller frees it. */
int *mf_region_inner(const struct mf_list *list);

/** The node with which backward begins; list->nodes: there is no backward. */
size_t mf_list_seed(const struct mf_list *list);

#endif
