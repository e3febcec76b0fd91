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

/**
 * Share of the windows of 16 x 16 pixels of @p image that agree in 95 % of their pixels with some window of @p example.
 * Windows with less than 10 % of a second class do not count: empty ground is no copy of empty ground. In large images
 * evenly spread windows are looked at, 64 along an axis. *share is 0 where no window counts. Not collective; MF_MEMORY.
 */
int mf_copy_share(const struct mf_copy_image *image, const struct mf_copy_image *example, double *share);

#endif
