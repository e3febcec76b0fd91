/* The part of an image that is read, a rectangle of its pixels.
 * Rule: a cropped array has the extents of its part everywhere; only mf_array_visit() knows of the rest. */
#ifndef MF_IO_CROP_H
#define MF_IO_CROP_H

#include "io/array.h"

/** A rectangle of pixels: {y, x} of its first one, and its {height, width}. It also holds {height, width} of its image;
 * 0 0: any. */
struct mf_crop {
    size_t first[2], count[2], of[2];
};

/**
 * Leaves only @p crop of an image. Local. Refuses with MF_USAGE a part that is not inside. Refuses with MF_INPUT an
 * array that has not two axes, or other extents than the image.
 */
int mf_array_crop(struct mf_array *array, const struct mf_crop *crop);

/** mf_array_visit() of a cropped array: rows of its part. */
int mf_crop_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

/** Puts "crop": [y, x, height, width] into an object; nothing where it is 0 0 0 0. Local. */
void mf_crop_json(const size_t crop[4], struct mf_json *at);

#endif
