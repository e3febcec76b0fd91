/* Versions of the libraries that kernels/ uses, one line each. */
#ifndef MF_KERNELS_VERSION_H
#define MF_KERNELS_VERSION_H

#include <stdio.h>

void mf_kernels_version(FILE *to);

/** The widest vectors that the kernels use on this processor: "avx512", "avx2" or "baseline". */
const char *mf_kernels_simd(void);

/** Version of the FFT library. */
const char *mf_kernels_fftw(void);

#endif
