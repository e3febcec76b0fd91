/* Arrays that outlive their arena: what somebody gets for good leaves it without a copy. */
#ifndef MF_BASE_ARENA_KEEP_H
#define MF_BASE_ARENA_KEEP_H

#include "src/base/arena.h"

struct mf_kept {
    void *memory; /* NULL: none */
    size_t bytes;
    void (*release)(void *context, void *memory, size_t bytes);
};

/** Takes an array, which mf_arena_take() gave, out of the arena, which no longer counts it. 0: it stays there, since it
 * is part of a reserve, or its memory depends on a back end. */
int mf_arena_keep(struct mf_arena *arena, void *memory, struct mf_kept *kept);

/** Frees it; none is accepted. */
void mf_kept_free(struct mf_kept *kept);

#endif
