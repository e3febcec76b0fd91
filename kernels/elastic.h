/* Elasticity of periodic voxels on the cores: strains of displacements, stresses, forces, and what they are as waves.
 * Axes are 0: z, 1: y, 2: x. Strains and stresses have the components zz, yy, xx, yx, zx, zy; shear strains are angles.
 * There are two schemes. Staggered: a displacement lives on the lower face of a voxel along its axis. Normal strains
 * live in voxels, shear strains on edges. The shear modulus of an edge is the harmonic mean of its four voxels. Rotated
 * (F. Willot, C. R. Mecanique 343, 2015): displacements live at corners, all strains in voxels. Rule: vectors are
 * [planes][ny][3][pitch], so the three rows of a line of voxels are neighbours. */
#ifndef MF_KERNELS_ELASTIC_H
#define MF_KERNELS_ELASTIC_H

#include <stddef.h>
#include <stdint.h>

enum { MF_ELASTIC_PHASES = 32, MF_ELASTIC_SUMS = 7, MF_ELASTIC_MARGIN = 16 };

struct mf_elastic_grid {
    size_t n[3];
    size_t pitch; /* floats from row to row, n[2] + 2 or more */
    float per[3]; /* 1 / edge of a voxel, along each axis */
    int rotated;  /* the scheme */
    float lateral[MF_ELASTIC_PHASES], excess[MF_ELASTIC_PHASES], shear[MF_ELASTIC_PHASES]; /* C12, C11 - C12, C44 */
};

/** Floats of a plane of vectors. */
static inline size_t mf_elastic_plane(const struct mf_elastic_grid *g) { return 3 * g->n[1] * g->pitch; }

/** Floats of work that one thread needs in mf_elastic_apply(). */
size_t mf_elastic_work(const struct mf_elastic_grid *grid);

/** Copies the first and the last column of @p rows rows behind and before them, where a row continues. */
void mf_elastic_wrap(const struct mf_elastic_grid *grid, size_t rows, float *x);

/**
 * y = the forces of the stresses of (@p strain + strains of displacements x), of planes [first, first + count).
 * Pointers are those of plane 0. The phases @p code are [planes][ny][nx]. x and they have a plane more on either side.
 * Columns of x are wrapped. Plane k has sums [k][7]: x y, then the stresses. Without a @p strain (NULL) these are 0.
 * The result @p y may not be x.
 */
void mf_elastic_apply(const struct mf_elastic_grid *grid, const uint8_t *code, const float *strain, const float *x,
                      float *y, size_t first, size_t count, float *work, double *sums);

/** Waves along an axis: the difference, and the mean of two neighbours (rotated). Complex. */
struct mf_elastic_waves {
    float *difference[3], *mean[3]; /* [n][2], along x [n / 2 + 1][2] */
};

void mf_elastic_waves(const struct mf_elastic_grid *grid, const struct mf_elastic_waves *waves);

/** The displacements that forces cause in a homogeneous medium with C44 = 1 and ratio = (C12 + 1) / (C12 + 2). A slice
 * normal to y of their spectra: [nz][3][pitch / 2][2], at wave @p ky. In place, times @p scale. */
void mf_elastic_respond(const struct mf_elastic_grid *grid, const struct mf_elastic_waves *waves, size_t ky,
                        float ratio, float scale, float *slice);

/** Planes of vectors: the sum of x y; y = x + beta y; y += alpha x. */
double mf_elastic_dot(const struct mf_elastic_grid *grid, const float *x, const float *y);
void mf_elastic_turn(const struct mf_elastic_grid *grid, float beta, const float *x, float *y);
void mf_elastic_move(const struct mf_elastic_grid *grid, float alpha, const float *x, float *y);

#endif
