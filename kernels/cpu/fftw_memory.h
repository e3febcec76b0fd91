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

#endif
