/* Patches of images on the cpu: what is shared by the search for nearest ones and the descriptor that is made of it. */
#ifndef MF_KERNELS_CPU_PATCH_H
#define MF_KERNELS_CPU_PATCH_H

#include <stdint.h>

#include "kernels/cpu/cpu.h"

enum {
    MF_PATCH_SIDE = 9,
    MF_PATCH_PIXELS = MF_PATCH_SIDE * MF_PATCH_SIDE,
    MF_PATCH_PARTS = 24, /* coordinates that patches are compared in; the last: their distance from the others' axes */
    MF_PATCH_LANES = 32  /* patches side by side */
};

/**
 * An image of several phases and the places of patches in it. Slot s is the patch whose first pixel is
 * (s / row, s % row); rows are filled up to whole lanes with slots that hold no patch (s % row >= pv).
 */
struct mf_patch_image {
    size_t phases, nu, nv;
    int periodic;
    size_t pu, pv, row, slots; /* places along u, v; slots of a row; of all */
    size_t high, wide;         /* rows and columns with the border behind them that patches reach into */
    float *x;                  /* [phases][high][wide] */
};

/** The places of patches in nu x nv pixels; no slots when a patch does not fit. Without memory. */
struct mf_patch_image mf_patch_image_of(size_t phases, size_t nu, size_t nv, int periodic);
/** Floats of x. */
size_t mf_patch_image_floats(const struct mf_patch_image *image);
/** Fills x from @p pixels [phases][nu][nv], @p apart floats from phase to phase. */
void mf_patch_image_fill(const struct mf_patch_image *image, const float *pixels, size_t apart);

static inline size_t mf_patch_count(const struct mf_patch_image *image) { return image->pu * image->pv; }

/** Gaussian of width side / 3 over the pixels of a patch, sum 1. */
void mf_patch_weights(float weight[MF_PATCH_PIXELS]);

/** Patches as points: coordinate c of slot s at at[(s / LANES * PARTS + c) * LANES + s % LANES]. */
struct mf_patch_points {
    size_t slots;
    float *at, *norm; /* norm [slots]: squared length; far away where a slot holds no patch */
};

/** Numbers of the work area of mf_patch_axes(). */
size_t mf_patch_axes_room(size_t phases);
/**
 * The axes of the largest scatter of an image's patches (principal components of the weighted pixels). What lies beside
 * them counts by its length, the last coordinate: so distances are never larger than those of all pixels, the same for
 * patches that are equal, and exact where the image's own patches lie along the axes.
 *
 * @param axes  out [phases * PIXELS + 1][PARTS]: axes, in the last column the mean patch; in the last row what that has
 * @param work  [mf_patch_axes_room()]
 */
void mf_patch_axes(const struct mf_patch_image *image, double *work, float *axes);

/** Coordinates of all patches of an image; points->at [slots * PARTS], points->norm [slots]. */
void mf_patch_project(int threads, const struct mf_patch_image *image, const float *axes,
                      const struct mf_patch_points *points);

/** Numbers of the work area of mf_patch_nearest() for so many threads. */
size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns);
/**
 * Nearest neighbours both ways, exact in these coordinates, of equally near ones the first; the same on any number of
 * threads. row [rows->slots]: a slot of columns; column [columns->slots]: a slot of rows. @p work: 64-byte aligned.
 */
void mf_patch_nearest(int threads, const struct mf_patch_points *rows, const struct mf_patch_points *columns,
                      float *work, int32_t *row, int32_t *column);

#endif
