/* NRRD: a text header and the values, in the same file (.nrrd) or in another file of its folder (.nhdr). The header
 * names the fastest axis first. */
#ifndef MF_IO_NRRD_H
#define MF_IO_NRRD_H

#include "io/array.h"

/** Fills @p array from the header. Only in the guarded child. MF_INPUT. */
int mf_nrrd_inspect(struct mf_array *array);

/** The header of a file to write, heap. The file @p data has the values; NULL: they follow the header. */
char *mf_nrrd_header(const struct mf_micro *micro, const char *data);

/** NAME.raw of NAME.nhdr, the file with its values; heap. */
char *mf_nrrd_values(const char *path);

#endif
