/* Versions of the libraries that this room uses, one line each. */
#ifndef MF_BASE_VERSION_H
#define MF_BASE_VERSION_H

#include <stddef.h>
#include <stdio.h>

void mf_base_version(FILE *to);

/** The number that the linker gave this very program, in hexadecimal digits; "" where it gave none. */
void mf_build_id(char *text, size_t n);

#endif
