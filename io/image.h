/* PNG and TIFF as arrays of grey values, or of colours (mf_image_keep_colours()).
 * Rule: decoding runs in a guarded child (array.h); it may be slow, and its library may crash. */
#ifndef MF_IO_IMAGE_H
#define MF_IO_IMAGE_H

#include <stdio.h>

#include "io/array.h"

/**
 * Reads the header: extents, 8 or 16 bits. Expands a palette. Refuses colour, transparency, negative sizes, and more
 * than an image can hold. Needs path and bytes. MF_INPUT.
 */
int mf_png_inspect(struct mf_array *array);
int mf_tiff_inspect(struct mf_array *array);

/** Sends rows (PNG, one page) or pages (a stack) [first, first + count) in native byte order. MF_INPUT. */
int mf_png_send(const struct mf_array *array, size_t first, size_t count, FILE *to);
int mf_tiff_send(const struct mf_array *array, size_t first, size_t count, FILE *to);

/** A PNG or TIFF [y][x] becomes [y][x][3]: red, green, blue. Grey has three equal values. Refuses other arrays:
 * MF_INPUT.
 */
int mf_image_keep_colours(struct mf_array *array);

/** Values of a pixel: 1, or 3 colours. */
static inline size_t mf_image_values(const struct mf_array *array)
{
    return array->channels ? (size_t)array->channels : 1;
}

/** Refuses colours (MF_INPUT). The sentence says what the image @p is, what to do about it, and @p more. */
int mf_image_colours(const struct mf_array *array, const char *is, const char *more);

/** A whole number of TIFF, or of the small TIFF in a PNG's EXIF: @p bytes bytes, at most 8. */
static inline uint64_t mf_image_number(const unsigned char *at, size_t bytes, int little)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; ++i) number = number << 8 | at[little ? bytes - 1 - i : i];
    return number;
}

/** Writes an 8-bit PNG [rows][columns][channels]: 1 of grey, or 3 of red, green and blue. MF_OUTPUT naming @p name. */
int mf_png_write(const char *path, const char *name, size_t rows, size_t columns, size_t channels,
                 const uint8_t *pixels);

struct mf_tiff;

/** A TIFF stack of 8-bit pages, written one by one (BigTIFF if it is large). MF_OUTPUT naming @p name. */
int mf_tiff_create(const char *path, const char *name, size_t pages, size_t rows, size_t columns,
                   struct mf_tiff **tiff);
int mf_tiff_page(struct mf_tiff *tiff, const uint8_t *grey);
int mf_tiff_close(struct mf_tiff *tiff);

#endif
