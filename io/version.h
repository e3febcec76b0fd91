/* Versions of the libraries that io/ uses, one line each. */
#ifndef MF_IO_VERSION_H
#define MF_IO_VERSION_H

#include <stdio.h>

void mf_io_version(FILE *to);

/** "1.10.8". The next call reuses the buffer. */
const char *mf_io_hdf5(void);

#endif
