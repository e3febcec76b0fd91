/* NumPy's .npy: versions 1 to 3, either byte order, C and Fortran order. Rule: plain numbers only, never a pickle. */
#ifndef MF_IO_NPY_H
#define MF_IO_NPY_H

#include "io/array.h"

/** Fills @p array from the header of @p array->path; needs path and bytes. MF_INPUT. */
int mf_npy_inspect(struct mf_array *array);

/** mf_array_visit() for .npy, and for other files with raw values. */
int mf_npy_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

enum { MF_NPY_HEADER = 640 };

/** Writes a version 1.0 header for C order into @p text [MF_NPY_HEADER]; @p descr is NumPy's ("|u1"). Returns its
 * length, a multiple of 64. The format cannot state the meaning of @p axes, and readers refuse unknown keys. But it
 * allows any number of blanks at a header's end. So a header with @p axes is 256 + 64 @p axes bytes long, and
 * mf_npy_inspect() decodes that. */
size_t mf_npy_header(const char *descr, int ndim, const size_t *extents, enum mf_axes axes, char *text);

#endif
