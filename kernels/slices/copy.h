/* Measures how much of an image is a literal copy of another image. */
#ifndef MF_KERNELS_COPY_H
#define MF_KERNELS_COPY_H

#include <stddef.h>
#include <stdint.h>

/** Classes of pixels, at most 255; -1 as 255 is a class like any other. */
struct mf_copy_image {
    const uint8_t *x; /* [nu][nv] */
    size_t nu, nv;
    int periodic; /* windows cross the border */
};

enum { MF_COPY_LEAST = 16, MF_COPY_MOST = 64 };

/* Two halves of an image have so much in common where a match is a proof. */
#define MF_COPY_CHANCE 0.05

/**
 * The edge of windows that prove a copy of @p example. It starts at MF_COPY_LEAST pixels. It doubles while two halves
 * of the example share more than MF_COPY_CHANCE of such windows, because then a match is no proof. It is at most
 * MF_COPY_MOST, a quarter of the example's shorter edge and half of that of @p image. 512 / edge windows along an axis
 * are compared, evenly spread. *common: what the halves share of windows of that edge. Local; MF_MEMORY, MF_STOPPED.
 */
int mf_copy_edge(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t *edge, double *common);

/**
 * The share of windows of @p edge x @p edge pixels (at most MF_COPY_MOST) of @p image. They agree in 95 % of their
 * pixels with some window of @p example. Windows with less than 10 % of a second class do not count: background matches
 * background. In large images 1024 / edge windows along an axis are compared, evenly spread. *share is 0 where no
 * window counts. Local; MF_MEMORY, MF_STOPPED.
 */
int mf_copy_share(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t edge, double *share);

#endif
