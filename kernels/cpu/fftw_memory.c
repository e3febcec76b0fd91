/* See fftw_memory.h. The library takes all its memory by three functions of its own, which it exports and calls through
 * the symbol table; those below take their place, in a shared library as in a static one, and count. A library linked
 * so that they do not would hold 0 bytes: tests/unit/kernels_corr.c looks. */
#include "kernels/cpu/fftw_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/err.h"

enum { ALIGNMENT = 64 };

static atomic_size_t live, peak;

#define REPLACES __attribute__((visibility("default"), used))

void *fftwf_malloc_plain(size_t bytes);
void fftwf_ifree(void *memory);
void fftwf_ifree0(void *memory);

/* Its callers know no failure. */
REPLACES void *fftwf_malloc_plain(size_t bytes)
{
    void *memory = NULL;
    size_t now, most;

    if (posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1) != 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a transform: %zu bytes", bytes);
    now = atomic_fetch_add(&live, malloc_usable_size(memory)) + malloc_usable_size(memory);
    most = atomic_load(&peak);
    while (most < now && !atomic_compare_exchange_weak(&peak, &most, now)) continue;
    return memory;
}

REPLACES void fftwf_ifree(void *memory)
{
    if (memory) atomic_fetch_sub(&live, malloc_usable_size(memory));
    free(memory);
}

REPLACES void fftwf_ifree0(void *memory) { fftwf_ifree(memory); }

size_t mf_fftw_live(void) { return atomic_load(&live); }

size_t mf_fftw_peak(void) { return atomic_load(&peak); }

void mf_fftw_mark(void) { atomic_store(&peak, atomic_load(&live)); }
