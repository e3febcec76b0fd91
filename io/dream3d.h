/* DREAM.3D files: HDF5 with image geometries and arrays of their cells. Written as DREAM.3D 6 does (file version 7),
 * read in the layouts of 6 and of NX (version 8). */
#ifndef MF_IO_DREAM3D_H
#define MF_IO_DREAM3D_H

#include "io/array.h"
#include "io/h5.h"

/** Is it one? */
int mf_dream3d_is(struct mf_h5 *file);

/**
 * Fills dataset and spacing of @p array: the array of cells that its dataset names (by its path or its last word), else
 * "Phases", else the only one. For the guarded child; the caller reads the shape. MF_INPUT.
 */
int mf_dream3d_inspect(struct mf_h5 *file, struct mf_array *array);

/** Writes a volume, all ranks together. Collective; MF_OUTPUT (agreed). */
int mf_dream3d_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro);

#endif
