/* Disjoint sets (union-find). The smallest member names a set, so names do not depend on the order of unions. */
#ifndef MF_BASE_FOREST_H
#define MF_BASE_FOREST_H

#include <stddef.h>
#include <stdint.h>

/** The name of @p i's set. Shortens the path to it (path halving). */
static inline uint32_t mf_forest_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static inline void mf_forest_join(uint32_t *parent, size_t i, size_t k)
{
    uint32_t a = mf_forest_root(parent, (uint32_t)i), b = mf_forest_root(parent, (uint32_t)k);

    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

#endif
