/* Versions of the libraries that this room stands on, one line each. */
#ifndef MF_KERNELS_VERSION_H
#define MF_KERNELS_VERSION_H

#include <stdio.h>

void mf_kernels_version(FILE *to);

#endif
