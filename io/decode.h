/* Decodes values that a file holds as text, in base 64, compressed, or in another order than memory (.nrrd, VTK's XML).
 * Rule: only the guarded child calls it; it may be slow, and its library may crash. */
#ifndef MF_IO_DECODE_H
#define MF_IO_DECODE_H

#include <stdio.h>

#include "io/array.h"

/** Sends rows [first, first + count) of an array that is not MF_PLAIN, in native byte order. MF_INPUT. */
int mf_decode_send(const struct mf_array *array, size_t first, size_t count, FILE *to);

/** Decodes all values into @p to; also works for a plain array. */
int mf_decode(const struct mf_array *array, void *to);

/** Reverses the byte order of values, in place. */
void mf_swap_bytes(void *values, size_t n, size_t size);

/** Name of the file that holds the values. */
const char *mf_array_file(const struct mf_array *array);

#endif
