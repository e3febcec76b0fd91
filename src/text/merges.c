/* See merges.h. */
#include "src/text/merges.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

void mf_merges_make(struct mf_merges *pairs, size_t count)
{
    pairs->slots = 16;
    while (pairs->slots < 2 * count) pairs->slots *= 2;
    pairs->slot = MF_MUST(malloc(pairs->slots * sizeof *pairs->slot), "merges");
    memset(pairs->slot, 0xFF, pairs->slots * sizeof *pairs->slot);
}

void mf_merges_put(struct mf_merges *pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t token)
{
    const uint64_t both = (uint64_t)left << 32 | right;
    size_t i = (size_t)(both * 0x9E3779B97F4A7C15u >> 32) & (pairs->slots - 1);

    while (pairs->slot[i].both != UINT64_MAX && pairs->slot[i].both != both) i = (i + 1) & (pairs->slots - 1);
    pairs->slot[i] = (struct mf_pair){both, rank, token};
}

void mf_merges_free(struct mf_merges *pairs)
{
    free(pairs->slot);
    *pairs = (struct mf_merges){0};
}
