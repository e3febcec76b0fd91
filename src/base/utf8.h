/* Is a text UTF-8? */
#ifndef MF_BASE_UTF8_H
#define MF_BASE_UTF8_H

#include <stddef.h>

/** Bytes of the character of UTF-8 that begins here; 0: none does. */
size_t mf_utf8(const char *text);

/** The first byte of @p text that is no UTF-8; NULL: all is. */
const char *mf_utf8_wrong(const char *text);

#endif
