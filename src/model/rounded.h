/* Rows of weights in the type that they have in memory. Numbers of 16 bits are rounded to the nearest. Numbers of 8
 * bits are whole, from -127 to 127. Their row has a scale: its largest number / 127. All functions are local. */
#ifndef MF_MODEL_ROUNDED_H
#define MF_MODEL_ROUNDED_H

#include <stddef.h>

#include "src/base/type.h"

/** Rounds @p from [rows][columns] to @p to. The type is f32, bf16, f16 or i8. Only i8 has @p scale [rows].
 * Returns the first number that the type does not hold, or rows * columns: there is none. */
size_t mf_rounded(enum mf_type type, size_t rows, size_t columns, const float *from, void *to, float *scale);

/** Numbers [n] in another type and back: bf16 and f16 to the nearest, i8 whole ones without a scale. */
void mf_narrow(enum mf_type type, size_t n, const float *from, void *to);
void mf_widen(enum mf_type type, size_t n, const void *from, float *to);

#endif
