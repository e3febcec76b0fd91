/* Convolutions of 3 x 3 pixels with fewer products than the definition has. It is F(m x m, 3 x 3) of Winograd 1980, as
 * Lavin & Gray 2016 use it:
 *
 *   Y = A^T [sum over channels of (G w G^T) * (B^T X B)] A,   * number by number of (m + 2) x (m + 2), called points
 *
 * X: (m + 2) x (m + 2) pixels, of which those of the next tile are m further; Y: m x m. Each point is a product of
 * matrices, tiles x channels times channels x channels. Sums over channels have one order, whatever tiles are worked on
 * together. For m = 2, 4 products per pixel where the definition has 9:
 *
 *   B^T = 1  0 -1  0    G =  1    0    0    A^T = 1  1  1  0
 *         0  1  1  0        1/2  1/2  1/2         0  1 -1 -1
 *         0 -1  1  0        1/2 -1/2  1/2
 *         0  1  0 -1         0    0    1
 *
 * For m = 4, 2.25 of them, with a^2 = 1/2 and b = 2a, the roots of x (x^2 - a^2) (x^2 - b^2) and infinity: a third of
 * the error of 0, 1, -1, 2, -2, the usual ones (7e-6 of the mean square's root at most, where m = 2 has 2e-6):
 *
 *   B^T = 1   0  -5/2  0    1  0    G =   1     0     0     A^T = 1  1    1    1    1    0
 *         0 -2a   -2   a    1  0        -2/3 -2a/3  -1/3          0  a   -a    b   -b    0
 *         0  2a   -2  -a    1  0        -2/3  2a/3  -1/3          0 1/2  1/2   2    2    0
 *         0 -b/2 -1/2  b    1  0         1/6   b/6   1/3          0 a/2 -a/2  2b  -2b    1
 *         0  b/2 -1/2 -b    1  0         1/6  -b/6   1/3
 *         0   1    0 -5/2   0  1          0     0     1
 *
 * Points of weights are made where they are used, of a panel and some channels at a time. Reading them from memory,
 * four times as large as the weights, takes longer. */
#ifndef MF_KERNELS_CPU_WINOGRAD_H
#define MF_KERNELS_CPU_WINOGRAD_H

#include "kernels/cpu/slices/tile.h"

enum { MF_WINOGRAD_PIXELS = 16 /* most pixels of a tile */ };

struct mf_winograd {
    mf_cpu_rows *rows;
    size_t side, in;      /* side: m + 2, 4 or 6; in: channels */
    const float *weights; /* [panels][9][in][32] */
};

/** Tiles of a result of nu x nv pixels, row by row. Tiles at an odd edge reach beyond it. */
size_t mf_winograd_tiles(size_t side, size_t nu, size_t nv);

/** Cost of a panel with so many tiles, in vector products per channel. */
size_t mf_winograd_cost(size_t side, size_t tiles);

/** Number of tiles that are processed together; floats of memory for that. */
size_t mf_winograd_most(size_t side, size_t in);
size_t mf_winograd_floats(size_t side, size_t in);

/** Writes the points of a tile to index t of memory, t < mf_winograd_most(). @p x: [nu + 2][nv + 2][in]. Pixel (u, v)
 * of the result depends on pixels (u .. u + 2, v .. v + 2) of x. */
void mf_winograd_points(const struct mf_winograd *k, const float *x, size_t nu, size_t nv, size_t tile, size_t t,
                        float *memory);
/** Multiplies a panel's points with those of tiles 0 .. count - 1 in memory. @p more: the next panel follows. */
void mf_winograd_multiply(const struct mf_winograd *k, size_t panel, int more, size_t count, float *memory);
/** y [m][m][32]: the pixels of the t-th tile. */
void mf_winograd_pixels(const struct mf_winograd *k, size_t t, const float *memory, float *y);

#endif
