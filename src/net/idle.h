/* Inner header of this folder: activations that nobody touches from forward to backward. Passes put something else in
 * their place meanwhile. */
#ifndef MF_NET_IDLE_H
#define MF_NET_IDLE_H

#include "src/net/list.h"

struct mf_idle {
    int value, back;             /* back: what backward reads instead, which the pass makes */
    ptrdiff_t made, last, first; /* nodes: its last write and its last use in forward, its first use in backward */
};

/** All activations with memory of their own that are idle for some nodes. It leaves out what the caller keeps, and what
 * is new in every round of a region. A use in a stretch is at its border (region.h). @p seed: the node with which
 * backward begins. The caller frees. Returns how many. */
size_t mf_idle_find(const struct mf_list *list, size_t seed, struct mf_idle **idle);

/** Lets the nodes from @p seed on read what stands in for these activations. */
void mf_idle_replace(struct mf_list *list, size_t seed, size_t n, const struct mf_idle idle[]);

/** Orders for qsort(): by `made`, `last` or `first`, then by value. */
int mf_idle_by_made(const void *a, const void *b);
int mf_idle_by_last(const void *a, const void *b);
int mf_idle_by_first(const void *a, const void *b);

#endif
