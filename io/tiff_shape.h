/* Meaning of a TIFF's planes, from its description (tag 270), where ImageJ, OME and tifffile write it. Rule: several
 * channels or time steps are no planes along z, and are refused. */
#ifndef MF_IO_TIFF_SHAPE_H
#define MF_IO_TIFF_SHAPE_H

#include <stddef.h>

struct mf_tiff_shape {
    const char *by; /* the program that wrote the description */
    size_t planes;  /* 0: the description says nothing */
    int behind;     /* planes without headers may follow the first one */
    int each;       /* every page has its own description, of one plane */
    int scaled;     /* values mean others: ImageJ calibrated them */
};

/** Parses @p text, the description of a file of pages [rows][columns] with @p samples values per pixel. Refuses with
 * MF_INPUT, naming @p path, channels and time steps. */
int mf_tiff_described(const char *path, const char *text, size_t rows, size_t columns, size_t samples,
                      struct mf_tiff_shape *shape);

#endif
