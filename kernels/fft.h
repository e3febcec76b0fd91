/* Fourier transforms of a volume of reals on the cores: planes, then lines from plane to plane.
 * Rule: planes and lines have the same plan wherever they stand, so bits do not depend on ranks and threads. */
#ifndef MF_KERNELS_FFT_H
#define MF_KERNELS_FFT_H

#include <stddef.h>

#include "src/base/arena.h"

struct mf_fft;

enum { MF_FFT_FORWARD, MF_FFT_INVERSE };

/** Floats from row to row: at least two more than @p nx. Rows stay aligned, and have room for their spectrum. */
static inline size_t mf_fft_pitch(size_t nx) { return (nx + 5) / 4 * 4; }

/**
 * Plans transforms of volumes @p dims {nz, ny, nx} with @p fields numbers at a place. Rows are [nz][ny][fields][pitch].
 * So many @p threads run them at a time. FFTW's own memory is counted in @p arena. Planes and slices begin at multiples
 * of 16 bytes, as @p memory does, which is not touched. Local; refuses with MF_MEMORY.
 */
int mf_fft_open(struct mf_arena *arena, const size_t dims[3], size_t fields, int threads, float *memory,
                struct mf_fft **fft);
void mf_fft_close(struct mf_fft *fft);

/** Transforms reals [ny][fields][pitch] to complex numbers [ny][fields][pitch / 2] in place, or back. Rows use nx reals
 * or nx / 2 + 1 complex numbers. Not normalised. Any thread. */
void mf_fft_plane(const struct mf_fft *fft, int way, float *plane);

/** In place: [nz][fields][pitch / 2] complex numbers along z. Any thread. */
void mf_fft_lines(const struct mf_fft *fft, int way, float *slice);

#endif
