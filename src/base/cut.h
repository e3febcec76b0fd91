/* Cuts n items into nearly equal runs. Rule: every rank computes the same cuts. */
#ifndef MF_BASE_CUT_H
#define MF_BASE_CUT_H

#include <stddef.h>

struct mf_span {
    size_t first, count;
};

/** Run @p i of [0, n) cut into @p parts nearly equal runs (the first n % parts are one longer). May be empty. */
struct mf_span mf_cut(size_t n, size_t parts, size_t i);

/**
 * The same, but every border except the last is at a multiple of @p grain. It is run @p i of ceil(n / grain) grains.
 * Slices are transformed in pairs fixed by their global index. So slabs are cut with grain 2, and a slice's arithmetic
 * is the same on any number of ranks.
 */
struct mf_span mf_cut_grain(size_t n, size_t grain, size_t parts, size_t i);

#endif
