/* What the description of a TIFF (tag 270) says of its planes: ImageJ, OME and tifffile write it there. Rule: several
 * channels or time steps are no planes along z, and are refused. */
#ifndef MF_IO_TIFF_SHAPE_H
#define MF_IO_TIFF_SHAPE_H

#include <stddef.h>

struct mf_tiff_shape {
    const char *by; /* the program that wrote the description */
    size_t planes;  /* 0: the description says nothing */
    int behind;     /* planes without headers may lie behind the first one */
    int each;       /* every page has a description of its own, of one plane */
};

/** Reads @p text, the description of a file of pages [rows][columns] with @p samples values in each pixel. MF_INPUT:
 * channels or time steps; naming @p path. */
int mf_tiff_described(const char *path, const char *text, size_t rows, size_t columns, size_t samples,
                      struct mf_tiff_shape *shape);

#endif
