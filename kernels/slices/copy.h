/* How much of an image is literally another one. */
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

/**
 * Edge of the windows that copies of @p example are known by: MF_COPY_LEAST pixels, doubled as long as two halves of
 * the example have more than a twentieth of such windows in common, which are no copies then but what things look like;
 * at most MF_COPY_MOST, a quarter of the example's shorter edge and half of that of @p image. Of the halves evenly
 * spread windows are looked at, 512 / edge along an axis. Not collective; MF_MEMORY.
 */
int mf_copy_edge(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t *edge);

/**
 * Share of the windows of @p edge x @p edge pixels (at most MF_COPY_MOST) of @p image that agree in 95 % of their
 * pixels with some window of @p example. Windows with less than 10 % of a second class do not count: empty ground is no
 * copy of empty ground. In large images evenly spread windows are looked at, 1024 / edge along an axis. *share is 0
 * where no window counts. Not collective; MF_MEMORY.
 */
int mf_copy_share(const struct mf_copy_image *image, const struct mf_copy_image *example, size_t edge, double *share);

#endif
