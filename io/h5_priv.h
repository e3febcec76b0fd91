/* What the two halves of h5 share. */
#ifndef MF_IO_H5_PRIV_H
#define MF_IO_H5_PRIV_H

#include "io/h5.h"

#include <hdf5.h>

struct mf_h5 {
    hid_t id;
    int writing;
    struct mf_comm comm; /* that writes it together; a rank by itself otherwise */
    char *name;          /* for sentences */
    size_t bytes;        /* length of a file that is read */
    char *late;          /* what went wrong where rank 0 wrote alone: told when all meet again; NULL: nothing */
};

/**
 * Around what all ranks of a file that is written do together, the library's own waiting included; @p what is done. A
 * file that is read is nobody else's concern.
 */
void mf_h5_enter(const struct mf_h5 *file, const char *what);
void mf_h5_leave(const struct mf_h5 *file);

/** Records "cannot read/write 'FILE': WHAT OBJECT: the library's deepest sentence". */
int mf_h5_refuse(const struct mf_h5 *file, const char *what, const char *object);

/** Opens an object; when reading, only by links that stay in the file. Negative after a refusal. */
hid_t mf_h5_object(const struct mf_h5 *file, const char *path);

/** Type of the elements in memory. */
hid_t mf_h5_memory_type(enum mf_h5_type type);

#endif
