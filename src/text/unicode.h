/* Code points of UTF-8, their classes and forms. Rule: only this module includes utf8proc. */
#ifndef MF_TEXT_UNICODE_H
#define MF_TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#include "src/text/buffer.h"

enum { MF_POINT_LOST = 0xFFFD }; /* stands for bytes that are no UTF-8 */

/** The code point at @p at of valid UTF-8, and its bytes. */
uint32_t mf_point(const char *at, size_t *bytes);

/** Writes the UTF-8 of a code point; returns its bytes. */
size_t mf_point_write(uint32_t point, char utf8[4]);

/** The code point that ends in front of @p end; @p begin is not behind it. */
uint32_t mf_point_before(const char *begin, const char *end);

/** Code points of valid UTF-8. */
size_t mf_point_count(const char *text, size_t n);

/**
 * Appends @p text as valid UTF-8. A part that begins a character and does not end it becomes one U+FFFD. It is the
 * longest such part, as the Unicode standard recommends. With @p more, a part at the end that may still become a
 * character is left out. Returns the bytes that were taken, and in *lost (NULL: nobody asks) the replaced parts.
 */
size_t mf_utf8_repair(const char *text, size_t n, int more, struct mf_bytes *to, size_t *lost);

/** Classes of code points by properties of Unicode. */
int mf_point_is_space(uint32_t point);       /* White_Space */
int mf_point_is_word(uint32_t point);        /* letters, marks, decimal digits, connectors, joiners */
int mf_point_is_number(uint32_t point);      /* N */
int mf_point_is_punctuation(uint32_t point); /* P, and ASCII's symbols */
int mf_point_is_mark(uint32_t point);        /* M */
int mf_point_is_accent(uint32_t point);      /* Mn */
int mf_point_is_other(uint32_t point);       /* controls, formats and private use, as of Unicode 8 */

/** Appends the lower case of a code point by itself (one or two code points). */
void mf_point_lower(uint32_t point, struct mf_bytes *to);

enum mf_form { MF_NFC, MF_NFD, MF_NFKC, MF_NFKD };

/** Appends a normal form of valid UTF-8. Refuses with MF_INPUT what utf8proc refuses. */
int mf_utf8_form(enum mf_form form, const char *text, size_t n, struct mf_bytes *to);

/** Versions of utf8proc, and of the tables that it has. */
const char *mf_unicode_library(void);
const char *mf_unicode_version(void);

#endif
