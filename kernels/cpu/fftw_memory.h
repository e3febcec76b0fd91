/* Memory that FFTW allocates itself: plans, tables of roots, buffers.
 * Rule: the arena counts every byte of it, so that memory plans are exact. */
#ifndef MF_KERNELS_CPU_FFTW_MEMORY_H
#define MF_KERNELS_CPU_FFTW_MEMORY_H

#include <stddef.h>

/** Bytes that FFTW (float) holds now, of all threads. */
size_t mf_fftw_live(void);

/** The most bytes that it held since the last mf_fftw_mark(). */
size_t mf_fftw_peak(void);

/** Resets the high-water mark to the bytes held now. */
void mf_fftw_mark(void);

/**
 * Only one thread at a time makes or destroys plans: between mf_fftw_begin() and mf_fftw_made() or mf_fftw_gone(). The
 * bytes of the plans just made, from mf_fftw_made(), include memory that FFTW took since the last call. Pass this
 * number to mf_fftw_gone() when the plans are destroyed.
 */
void mf_fftw_begin(void);
ptrdiff_t mf_fftw_made(void);
void mf_fftw_gone(ptrdiff_t made);

/** An upper bound of FFTW's buffers [bytes] while it transforms a plane of mu x mv. These are some lines, and blocks of
 * half a megabyte for unfavourable strides (FFTW 3.3; tests/unit/kernels_corr.c checks it). */
size_t mf_fftw_buffers(size_t mu, size_t mv);

#endif
