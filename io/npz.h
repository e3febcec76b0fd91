/* NumPy's .npz: a zip of .npy, deflated, as numpy.savez_compressed() writes it. Equal arrays make equal bytes.
 * Source: PKWARE, APPNOTE.TXT 6.3.3, sections 4.3 and 4.4. All functions are local. */
#ifndef MF_IO_NPZ_H
#define MF_IO_NPZ_H

#include <stddef.h>

struct mf_npz;

/** Begins a file. MF_OUTPUT. */
int mf_npz_create(const char *path, struct mf_npz **npz);

/** Adds the array @p name of float32 in C order; it has at most 5 axes. MF_OUTPUT: the disk is full, or 4 GiB are
 * reached. */
int mf_npz_put(struct mf_npz *npz, const char *name, int ndim, const size_t *extents, const float *values);

/** Ends the file. @p code is that of its arrays: unless it is MF_OK, the file is removed. Returns it, or MF_OUTPUT. */
int mf_npz_close(struct mf_npz *npz, int code);

#endif
