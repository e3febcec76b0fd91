/* What FFTW holds on its own: plans, tables of roots, buffers. */
#ifndef MF_KERNELS_CPU_FFTW_MEMORY_H
#define MF_KERNELS_CPU_FFTW_MEMORY_H

#include <stddef.h>

/** Bytes that FFTW (float) holds now, in all threads. */
size_t mf_fftw_live(void);

/** Most it held since the last mf_fftw_mark(). */
size_t mf_fftw_peak(void);

/** Lets the high-water mark start from what is held now. */
void mf_fftw_mark(void);

/**
 * Plans are made and destroyed by one thread at a time, between mf_fftw_begin() and one of the others. Returns the
 * bytes that the plans just made have taken, with what else FFTW took before them; those bytes are told when they are
 * gone.
 */
void mf_fftw_begin(void);
ptrdiff_t mf_fftw_made(void);
void mf_fftw_gone(ptrdiff_t made);

/** No more than these bytes are the buffers that FFTW takes while it transforms a plane of mu x mv: some lines, and
 * blocks of half a megabyte where lines lie badly (FFTW 3.3; tests/unit/kernels_corr.c looks). */
size_t mf_fftw_buffers(size_t mu, size_t mv);

#endif
