/* Patches of images: their positions, the weights of their pixels, the principal axes that they are compared along, and
 * the levels of a plan.
 * Rule: these are the same for all back ends; each back end has its own nearest-neighbour search. */
#ifndef MF_KERNELS_PATCH_H
#define MF_KERNELS_PATCH_H

#include <stddef.h>

#include "kernels/slices/slices.h"

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

/** Floats of x. */
size_t mf_patch_image_floats(const struct mf_patch_image *image);
/** Fills x from @p pixels [phases][nu][nv], @p apart floats from phase to phase. */
void mf_patch_image_fill(const struct mf_patch_image *image, const float *pixels, size_t apart);

static inline size_t mf_patch_count(const struct mf_patch_image *image) { return image->pu * image->pv; }

/** Gaussian of width side / 3 over the pixels of a patch, sum 1. */
void mf_patch_weights(float weight[MF_PATCH_PIXELS]);

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

/** What a plan of patches looks at on a level. */
struct mf_patch_level {
    struct mf_patch_image slice, example;
    size_t pixels, at; /* of the slice; where they begin in a pyramid */
    size_t pull;       /* where the level's part of a slice's pull begins: A [pixels], M [phases][pixels], C [phases] */
    int on;            /* patches fit into slice and example, and it takes part */
};

static inline size_t mf_patch_phases(const struct mf_slice_desc *desc) { return desc->phases ? desc->phases : 1; }

/** Fills level [desc->levels]; returns the floats of a slice's pull. */
size_t mf_patch_shape(const struct mf_slice_desc *desc, struct mf_patch_level *level);
/** The same number. */
size_t mf_patch_pull(const struct mf_slice_desc *desc);

#endif
