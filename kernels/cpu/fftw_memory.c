/* See fftw_memory.h. FFTW takes all its memory by three functions, which it exports and calls through the symbol table.
 * The functions below replace them, for a shared and for a static library, and count bytes. If the replacement failed,
 * FFTW would seem to hold 0 bytes: tests/unit/kernels_corr.c checks this. */
#include "kernels/cpu/fftw_memory.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/base/err.h"

enum { ALIGNMENT = 64 };

static atomic_size_t live, peak;
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER; /* FFTW plans are made one at a time */
static ptrdiff_t held;                                      /* bytes that are some plan's */

#define REPLACES __attribute__((visibility("default"), used))

void *fftwf_malloc_plain(size_t bytes);
void fftwf_ifree(void *memory);
void fftwf_ifree0(void *memory);

/* FFTW's callers do not handle failure. The requested size is stored before the block. The heap's own overhead varies,
 * and the prediction of a plan must not. */
REPLACES void *fftwf_malloc_plain(size_t bytes)
{
    void *memory = NULL;
    size_t now, most;

    if (bytes > SIZE_MAX - ALIGNMENT || posix_memalign(&memory, ALIGNMENT, bytes + ALIGNMENT) != 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a transform: %zu bytes", bytes);
    *(size_t *)memory = bytes + ALIGNMENT;
    now = atomic_fetch_add(&live, bytes + ALIGNMENT) + bytes + ALIGNMENT;
    most = atomic_load(&peak);
    while (most < now && !atomic_compare_exchange_weak(&peak, &most, now)) continue;
    return (char *)memory + ALIGNMENT;
}

REPLACES void fftwf_ifree(void *memory)
{
    size_t *block = memory ? (size_t *)(void *)((char *)memory - ALIGNMENT) : NULL;

    if (block) atomic_fetch_sub(&live, *block);
    free(block);
}

REPLACES void fftwf_ifree0(void *memory) { fftwf_ifree(memory); }

size_t mf_fftw_live(void) { return atomic_load(&live); }

size_t mf_fftw_peak(void) { return atomic_load(&peak); }

void mf_fftw_mark(void) { atomic_store(&peak, atomic_load(&live)); }

void mf_fftw_begin(void) { pthread_mutex_lock(&planner); }

ptrdiff_t mf_fftw_made(void)
{
    ptrdiff_t made;

    fftwf_forget_wisdom(); /* or what it remembers of earlier plans would be counted as this one's */
    made = (ptrdiff_t)mf_fftw_live() - held;
    held += made;
    pthread_mutex_unlock(&planner);
    return made;
}

void mf_fftw_gone(ptrdiff_t made)
{
    held -= made;
    pthread_mutex_unlock(&planner);
}

size_t mf_fftw_buffers(size_t mu, size_t mv)
{
    const size_t plane = 2 * sizeof(float) * mu * mv, block = (size_t)1 << 19;

    return (plane < block ? plane : block) + 64 * (mu + mv + 4);
}
