/* Private to patches on cuda: a plan, and the search for nearest patches. The first pixel of patch s is
 * (s / pv, s % pv); its coordinate c is at[c * count + s]. */
#ifndef MF_KERNELS_CUDA_PATCH_CUH
#define MF_KERNELS_CUDA_PATCH_CUH

#include "kernels/cuda/slices/packed.cuh"

/** Images of several phases, one behind the other, and the patches in them. */
struct mf_patch_set {
    const float *x; /* phase f of image s at x[f * phase + s * nu * nv] */
    size_t phase;
    int phases, nu, nv, pu, pv;
    size_t count; /* patches of an image */
    float *at;    /* [images][PARTS][count] */
    float *norm;  /* [images][count] squared lengths */
};

/** Weights of a patch's pixels. */
struct mf_patch_weight {
    float at[MF_PATCH_PIXELS];
};

/** Coordinates of all patches of @p images images. axes: see mf_patch_axes(), device. */
void mf_patch_project_set(struct mf_queue *q, const struct mf_patch_set &set, size_t images, const float *axes,
                          const struct mf_patch_weight &weight);

/**
 * For every patch in images 0 .. images - 1 of a, finds the nearest patch in the image of b with the same number. Among
 * equally near ones it takes the first. With @p one_a or @p one_b there is only one image, for all. Array near is
 * [images][patches of a].
 */
void mf_patch_nearest_set(struct mf_queue *q, const struct mf_patch_set &a, int one_a, const struct mf_patch_set &b,
                          int one_b, size_t images, int *near);

#endif
