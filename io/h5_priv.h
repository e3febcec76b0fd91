/* Shared by the files of HDF5 access. */
#ifndef MF_IO_H5_PRIV_H
#define MF_IO_H5_PRIV_H

#include "io/h5.h"

#include <hdf5.h>

struct mf_h5 {
    hid_t id;
    int writing;
    char *name;   /* for error messages */
    size_t bytes; /* length of a file that is read */
    int unread;   /* errno of a failed read of its disk */
    int unlocked; /* errno of a lock that it was not given */
    int marked;   /* it says itself that it is open for writing */
};

/** Records "cannot read/write 'FILE': WHAT OBJECT: the library's deepest sentence". */
int mf_h5_refuse(const struct mf_h5 *file, const char *what, const char *object);

/** Opens an object; when reading, only by links that stay in the file. Negative after a refusal. */
hid_t mf_h5_object(const struct mf_h5 *file, const char *path);

/** Type of the elements in memory, or @p in_file. */
hid_t mf_h5_type_of(enum mf_h5_type type, int in_file);

#endif
