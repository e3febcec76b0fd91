/* VTK's XML files of image data (.vti), and of rectilinear grids (.vtr) whose planes are equidistant.
 * Rule: one array of cells is read, or one of points where there are no cells. */
#ifndef MF_IO_VTK_H
#define MF_IO_VTK_H

#include "io/array.h"

/** Fills @p array from the tags; its dataset names one of several arrays. Only in the guarded child. MF_INPUT. */
int mf_vtk_inspect(struct mf_array *array);

/** The text before [*bytes] and behind the values of @p micro in a file to write. A .vtr if @p rectilinear. Both are on
 * the heap. */
void mf_vtk_around(const struct mf_micro *micro, int rectilinear, char **before, size_t *bytes, char **behind);

#endif
