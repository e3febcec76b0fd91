/* Versions of the libraries that src/base uses, one line each. */
#ifndef MF_BASE_VERSION_H
#define MF_BASE_VERSION_H

#include <stddef.h>
#include <stdio.h>

void mf_base_version(FILE *to);

/** The linker's build id of this program in hexadecimal; "" if there is none. */
void mf_build_id(char *text, size_t n);

#endif
