/* Versions of the libraries that this room stands on, one line each. */
#ifndef MF_BASE_VERSION_H
#define MF_BASE_VERSION_H

#include <stdio.h>

void mf_base_version(FILE *to);

#endif
