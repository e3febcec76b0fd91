/* Convolutions of 3 x 3 pixels with 16 products for four pixels, where the definition has 36: F(2 x 2, 3 x 3) of
 * Winograd 1980, as Lavin & Gray 2016 use it:
 *
 *   Y = A^T [sum over channels of (G w G^T) * (B^T X B)] A,   * number by number of 4 x 4, called points
 *
 *   B^T = 1  0 -1  0    G =  1    0    0    A^T = 1  1  1  0
 *         0  1  1  0        1/2  1/2  1/2         0  1 -1 -1
 *         0 -1  1  0        1/2 -1/2  1/2
 *         0  1  0 -1         0    0    1
 *
 * X: 4 x 4 pixels, of which those of the next tile are two further; Y: 2 x 2. Each point is a product of matrices,
 * tiles x channels times channels x channels, and sums over channels have one order, whatever tiles are worked on
 * together. */
#ifndef MF_KERNELS_CPU_WINOGRAD_H
#define MF_KERNELS_CPU_WINOGRAD_H

#include "kernels/cpu/tile.h"

enum { MF_WINOGRAD_POINTS = 16, MF_WINOGRAD_EDGE = 2, MF_WINOGRAD_PIXELS = 4 };

struct mf_winograd {
    mf_cpu_tile *tile;
    const float *x;       /* [nu + 2][nv + 2][in]: pixel (u, v) of the result is of x's (u .. u + 2, v .. v + 2) */
    size_t nu, nv, in;    /* in: a multiple of 32 */
    const float *weights; /* [panels][16][in][32] */
};

/** Tiles of a result of nu x nv pixels, row by row; those at an odd edge have pixels beyond it. */
size_t mf_winograd_tiles(size_t nu, size_t nv);

/** Tiles that are worked on together, so that their points stay in the second cache; and the floats of memory for it.
 */
size_t mf_winograd_most(size_t in);
size_t mf_winograd_floats(size_t in);

/** to [panels][16][in][32] = G w G^T. @p w: [panels][9][in][32]. */
void mf_winograd_weights(size_t panels, size_t in, const float *w, float *to, int threads);

/* In turn, for tiles first .. first + count - 1, count at most mf_winograd_most(): their points, of pixels; a panel's;
 * and y [4][32], pixels (0, 0), (0, 1), (1, 0), (1, 1) of tile first + t. */
void mf_winograd_points(const struct mf_winograd *k, size_t first, size_t count, float *memory);
void mf_winograd_multiply(const struct mf_winograd *k, size_t panel, size_t count, float *memory);
void mf_winograd_pixels(const struct mf_winograd *k, size_t t, const float *memory, float *y);

#endif
