/* Versions of the libraries that src/text uses, one line each. */
#ifndef MF_TEXT_VERSION_H
#define MF_TEXT_VERSION_H

#include <stdio.h>

void mf_text_version(FILE *to);

#endif
