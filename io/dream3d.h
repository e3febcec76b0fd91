/* DREAM.3D files: HDF5 with image geometries and arrays of their cells. Files are written as DREAM.3D 6 writes them
 * (file version 7). The layouts of versions 6 and NX (8) are read. */
#ifndef MF_IO_DREAM3D_H
#define MF_IO_DREAM3D_H

#include "io/array.h"
#include "io/h5.h"

/** Is it a DREAM.3D file? */
int mf_dream3d_is(struct mf_h5 *file);

/**
 * Fills dataset and spacing of @p array. Chooses the array of cells that its dataset names, by path or last word.
 * Without a name it takes "Phases", else the only array. Only in the guarded child; the caller reads the shape.
 * MF_INPUT.
 */
int mf_dream3d_inspect(struct mf_h5 *file, struct mf_array *array);

/** Writes a volume, all ranks together. Collective; MF_OUTPUT (agreed). */
int mf_dream3d_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro);

#endif
