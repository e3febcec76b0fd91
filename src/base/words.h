/* Words of an option that are names, with commas between them or blanks. */
#ifndef MF_BASE_WORDS_H
#define MF_BASE_WORDS_H

#include <stddef.h>

/** Is there something of this name? */
typedef int mf_word_known(const void *context, const char *name);

/**
 * The names in @p word [n], and how many. A word is one name if it is @p known (NULL: none is) or has no comma. Else
 * its parts are names. Nothing between commas is no name. One free() frees all.
 */
const char **mf_words_names(size_t n, const char *const *word, mf_word_known *known, const void *context,
                            size_t *count);

#endif
