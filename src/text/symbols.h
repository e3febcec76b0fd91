/* Merging of symbols by rank: the heart of BPE. */
#ifndef MF_TEXT_SYMBOLS_H
#define MF_TEXT_SYMBOLS_H

#include "src/text/buffer.h"
#include "src/text/merges.h"

/** Room for symbols of one word. */
struct mf_symbols {
    uint32_t *token;
    struct mf_symbol_link {
        uint32_t before, behind; /* UINT32_MAX: none */
    } * link;
    uint64_t *heap; /* rank << 32 | place of the left symbol */
    size_t count, room, waiting, heap_room;
};

void mf_symbols_put(struct mf_symbols *symbols, uint32_t token);
void mf_symbols_free(struct mf_symbols *symbols);

/**
 * Merges the two neighbours of the least rank, the leftmost of equals, until no neighbours merge. Appends what is left.
 * Few symbols are looked through. Many take a heap, in time proportional to count times its logarithm.
 */
void mf_symbols_merge(struct mf_symbols *symbols, const struct mf_merges *pairs, struct mf_tokens *to);

#endif
