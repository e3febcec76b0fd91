/* Patches of images: their positions, the weights of their pixels, and the levels of a plan. Patches are compared along
 * principal axes.
 * Rule: these are the same for all back ends; each back end has its own nearest-neighbour search. */
#ifndef MF_KERNELS_PATCH_H
#define MF_KERNELS_PATCH_H

#include <stddef.h>

#include "kernels/slices/slices.h"

enum {
    MF_PATCH_SIDE = 9,
    MF_PATCH_PIXELS = MF_PATCH_SIDE * MF_PATCH_SIDE,
    MF_PATCH_PARTS = 24, /* coordinates by which patches are compared; the last is the distance from the other axes */
    MF_PATCH_LANES = 32  /* patches side by side */
};

/**
 * An image of several phases and the places of patches in it. Slot s is the patch whose first pixel is (s / row, s %
 * row). Rows are filled up to whole lanes with slots that hold no patch (s % row >= pv).
 */
struct mf_patch_image {
    size_t phases, nu, nv;
    int periodic;
    size_t pu, pv, row, slots; /* places along u, v; slots of a row; of all */
    size_t high, wide;         /* rows and columns, with the border that patches reach into */
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
 * The principal axes of an image's patches (principal components of the weighted pixels). The last coordinate is the
 * length of the part beside the axes. So distances are never larger than those of all pixels. They are 0 for equal
 * patches, and exact if the image's patches lie along the axes.
 *
 * @param axes  out [phases * PIXELS + 1][PARTS]: axes; the last column is the mean patch, the last row its coordinates
 * @param work  [mf_patch_axes_room()]
 */
void mf_patch_axes(const struct mf_patch_image *image, double *work, float *axes);

/** One level of a plan of patches. */
struct mf_patch_level {
    struct mf_patch_image slice, example;
    size_t pixels, at; /* pixels of the slice; their offset in a pyramid */
    size_t pull;       /* offset of the level's part of a slice's pull: A [pixels], M [phases][pixels], C [phases] */
    int on;            /* the level takes part, and patches fit into slice and example */
};

static inline size_t mf_patch_phases(const struct mf_slice_desc *desc) { return desc->phases ? desc->phases : 1; }

/** On cores: is a search among @p n patches and @p m others one of trees (kernels/cpu/slices/patch_near.h)? Else all
 * pairs are compared, which is as fast where they are few, and needs no memory of earlier searches. */
static inline int mf_patch_in_trees(const struct mf_slice_desc *desc, double n, double m)
{
    return desc->one && n * m >= 1 << 24;
}

/** Fills level [desc->levels]; returns the floats of a slice's pull. */
size_t mf_patch_shape(const struct mf_slice_desc *desc, struct mf_patch_level *level);
/** Returns only the floats of a slice's pull. */
size_t mf_patch_pull(const struct mf_slice_desc *desc);

#endif
