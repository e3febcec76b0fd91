/* NRRD: a few lines of text and the values, in the same file (.nrrd) or in another file of its folder (.nhdr). The text
 * names the fastest axis first. */
#ifndef MF_IO_NRRD_H
#define MF_IO_NRRD_H

#include "io/array.h"

/** Fills @p array from the lines. For the guarded child. MF_INPUT. */
int mf_nrrd_inspect(struct mf_array *array);

/** The lines of a file that we write, heap; @p data: name of the file with the values, NULL: they stand behind. */
char *mf_nrrd_header(const struct mf_micro *micro, const char *data);

/** NAME.raw of NAME.nhdr, where its values are written; heap. */
char *mf_nrrd_values(const char *path);

#endif
