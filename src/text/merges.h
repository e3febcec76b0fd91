/* The merges of a BPE: pairs of tokens, their ranks and what they become. */
#ifndef MF_TEXT_MERGES_H
#define MF_TEXT_MERGES_H

#include <stddef.h>
#include <stdint.h>

enum { MF_RANK_NONE = UINT32_MAX };

struct mf_merges {
    struct mf_pair {
        uint64_t both; /* left << 32 | right; UINT64_MAX: empty */
        uint32_t rank, token;
    } * slot;
    size_t slots; /* a power of 2; 0: none */
};

/** Room for @p count pairs. */
void mf_merges_make(struct mf_merges *pairs, size_t count);

/** A pair that is there gets the later rank. */
void mf_merges_put(struct mf_merges *pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t token);

void mf_merges_free(struct mf_merges *pairs);

/** NULL: these two do not merge. */
static inline const struct mf_pair *mf_merges_find(const struct mf_merges *pairs, uint32_t left, uint32_t right)
{
    const uint64_t both = (uint64_t)left << 32 | right;
    const struct mf_pair *slot = pairs->slot;

    if (pairs->slots == 0) return NULL;
    for (size_t i = (size_t)(both * 0x9E3779B97F4A7C15u >> 32) & (pairs->slots - 1); slot[i].both != UINT64_MAX;
         i = (i + 1) & (pairs->slots - 1))
        if (slot[i].both == both) return &slot[i];
    return NULL;
}

#endif
