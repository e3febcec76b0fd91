/* See symbols.h. */
#include "src/text/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { FEW = 32, NONE = UINT32_MAX };

void mf_symbols_put(struct mf_symbols *s, uint32_t token)
{
    if (s->count == s->room) {
        s->room = 2 * s->room + 64;
        s->token = MF_MUST(realloc(s->token, s->room * sizeof *s->token), "symbols");
        s->link = MF_MUST(realloc(s->link, s->room * sizeof *s->link), "symbols");
    }
    s->token[s->count++] = token;
}

void mf_symbols_free(struct mf_symbols *s)
{
    free(s->token);
    free(s->link);
    free(s->heap);
    *s = (struct mf_symbols){0};
}

/* ---- few symbols ---- */

static uint32_t rank_of(const struct mf_merges *pairs, uint32_t left, uint32_t right, uint32_t *token)
{
    const struct mf_pair *pair = mf_merges_find(pairs, left, right);

    *token = pair ? pair->token : 0;
    return pair ? pair->rank : MF_RANK_NONE;
}

static void merge_few(struct mf_symbols *s, const struct mf_merges *pairs)
{
    uint32_t rank[FEW], token[FEW], *at = s->token;
    size_t n = s->count;

    for (size_t i = 0; i + 1 < n; ++i) rank[i] = rank_of(pairs, at[i], at[i + 1], &token[i]);
    while (n > 1) {
        size_t best = 0;

        for (size_t i = 1; i + 1 < n; ++i)
            if (rank[i] < rank[best]) best = i;
        if (rank[best] == MF_RANK_NONE) break;
        at[best] = token[best];
        --n;
        for (size_t i = best + 1; i < n; ++i) {
            at[i] = at[i + 1];
            rank[i] = rank[i + 1];
            token[i] = token[i + 1];
        }
        if (best + 1 < n) rank[best] = rank_of(pairs, at[best], at[best + 1], &token[best]);
        if (best > 0) rank[best - 1] = rank_of(pairs, at[best - 1], at[best], &token[best - 1]);
    }
    s->count = n;
}

/* ---- many symbols: a heap of pairs over a list of symbols ---- */

static void heap_put(struct mf_symbols *s, uint64_t entry)
{
    size_t i = s->waiting++;

    if (s->waiting > s->heap_room) {
        s->heap_room = 2 * s->heap_room + 64;
        s->heap = MF_MUST(realloc(s->heap, s->heap_room * sizeof *s->heap), "symbols");
    }
    for (; i > 0 && s->heap[(i - 1) / 2] > entry; i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = entry;
}

static uint64_t heap_take(struct mf_symbols *s)
{
    const uint64_t least = s->heap[0], entry = s->heap[--s->waiting];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < s->waiting) {
        if (child + 1 < s->waiting && s->heap[child + 1] < s->heap[child]) ++child;
        if (s->heap[child] >= entry) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = entry;
    return least;
}

/* The pair of a symbol and the one behind it. */
static const struct mf_pair *pair_at(const struct mf_symbols *s, const struct mf_merges *pairs, size_t i)
{
    const uint32_t behind = s->link[i].behind;

    return behind == NONE ? NULL : mf_merges_find(pairs, s->token[i], s->token[behind]);
}

static void wait_for(struct mf_symbols *s, const struct mf_merges *pairs, size_t i)
{
    const struct mf_pair *pair = pair_at(s, pairs, i);

    if (pair) heap_put(s, (uint64_t)pair->rank << 32 | i);
}

/* The right symbol vanishes: it is behind itself. */
static void join(struct mf_symbols *s, size_t left, uint32_t token)
{
    const uint32_t right = s->link[left].behind, behind = s->link[right].behind;

    s->token[left] = token;
    s->link[left].behind = behind;
    s->link[right].behind = right;
    if (behind != NONE) s->link[behind].before = (uint32_t)left;
}

static void merge_many(struct mf_symbols *s, const struct mf_merges *pairs)
{
    size_t left = 0;

    s->waiting = 0;
    for (size_t i = 0; i < s->count; ++i)
        s->link[i] = (struct mf_symbol_link){i ? (uint32_t)i - 1 : NONE, i + 1 < s->count ? (uint32_t)i + 1 : NONE};
    for (size_t i = 0; i + 1 < s->count; ++i) wait_for(s, pairs, i);
    while (s->waiting) {
        const uint64_t entry = heap_take(s);
        const size_t i = entry & UINT32_MAX;
        const struct mf_pair *pair = s->link[i].behind == i ? NULL : pair_at(s, pairs, i);

        if (!pair || pair->rank != entry >> 32) continue; /* one of the two has merged since */
        join(s, i, pair->token);
        if (s->link[i].before != NONE) wait_for(s, pairs, s->link[i].before);
        wait_for(s, pairs, i);
    }
    for (size_t i = 0; i != NONE; i = s->link[i].behind) s->token[left++] = s->token[i];
    s->count = left;
}

void mf_symbols_merge(struct mf_symbols *s, const struct mf_merges *pairs, struct mf_tokens *to)
{
    if (s->count > FEW)
        merge_many(s, pairs);
    else if (s->count > 1)
        merge_few(s, pairs);
    mf_tokens_add(to, s->token, s->count);
    s->count = 0;
}
