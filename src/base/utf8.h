/* Texts in UTF-8. */
#ifndef MF_BASE_UTF8_H
#define MF_BASE_UTF8_H

#include <stddef.h>

/** Bytes of the character of UTF-8 that begins here; 0: none does. */
size_t mf_utf8(const char *text);

/** The first byte of @p text that is no UTF-8; NULL: all is. */
const char *mf_utf8_wrong(const char *text);

/** Bytes of the whole characters at the begin of @p text, at most @p most. */
size_t mf_utf8_cut(const char *text, size_t most);

#endif
