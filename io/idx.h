/* IDX files, plain or packed by gzip: the form of MNIST and its kin. A header (two zero bytes, type, number of axes,
 * the extents as big-endian words), then the values. Rule: the header must fit the length of the file exactly. Rows are
 * read forward. All functions are local. */
#ifndef MF_IO_IDX_H
#define MF_IO_IDX_H

#include <stddef.h>
#include <stdint.h>

struct mf_idx {
    char *path;
    void *stream;
    char kind;   /* 'u', 'i' or 'f' */
    size_t size; /* bytes of a value */
    int ndim;
    size_t dims[4];
    size_t row; /* bytes of one row along axis 0 */
    size_t at;  /* the next row */
};

/** Does a file, unpacked if gzip packed it, begin like an IDX file? 0: it cannot be read. */
int mf_idx_is(const char *path);

/** Opens it and compares its length with the header: MF_INPUT. Closed by mf_idx_close() after success. */
int mf_idx_open(const char *path, struct mf_idx *idx);

/** Reads row @p i in native byte order. To go back, it reads the file from its start. MF_INPUT. */
int mf_idx_read(struct mf_idx *idx, size_t i, void *to);
void mf_idx_close(struct mf_idx *idx);

#endif
