/* Words that people type: names with commas between them or blanks, and words that are nearly right. */
#ifndef MF_BASE_WORDS_H
#define MF_BASE_WORDS_H

#include "src/base/lists.h"

/** Is there something of this name? */
typedef int mf_word_known(const void *context, const char *name);

/**
 * The names in @p word [n], and how many. A word is one name if it is @p known (NULL: none is) or has no comma. Else
 * its parts are names. Nothing between commas is no name. One free() frees all.
 */
const char **mf_words_names(size_t n, const char *const *word, mf_word_known *known, const void *context,
                            size_t *count);

/** The word among @p count words that is nearest to @p word (edit distance), NULL if none is near. */
const char *mf_nearest(const char *word, const char *const *words, size_t count);

/** Is @p word one of them? */
int mf_texts_have(const struct mf_texts *texts, const char *word);

/** Place of @p word among "a|b|c", the choices of an option that it is the value of. */
int mf_words_place(const char *choices, const char *word);

#endif
