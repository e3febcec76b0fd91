/* Memory that comes full of NaNs: what reads of it before it wrote is seen in the result. */
#ifndef MF_TESTS_DIRTY_H
#define MF_TESTS_DIRTY_H

#include <stdlib.h>
#include <string.h>

#include "src/base/arena.h"

static void *dirty_alloc(void *context, size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

    (void)context;
    if (memory) memset(memory, 0xff, bytes);
    return memory;
}

static void dirty_release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static const struct mf_mem dirty = {.alloc = dirty_alloc, .release = dirty_release};

#endif
