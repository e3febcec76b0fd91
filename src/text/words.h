/* The tokens of words that came before: most words of a text are few. */
#ifndef MF_TEXT_WORDS_H
#define MF_TEXT_WORDS_H

#include "src/text/buffer.h"

struct mf_words_kept;

/** Takes 2 MiB. The caller frees. */
struct mf_words_kept *mf_words_kept_new(void);
void mf_words_kept_free(struct mf_words_kept *kept);

/** Appends the tokens of a word and returns 1; 0: it is not kept. */
int mf_words_kept_find(const struct mf_words_kept *kept, const char *word, size_t n, struct mf_tokens *to);

/** Keeps a short word with few tokens, instead of another one. */
void mf_words_kept_put(struct mf_words_kept *kept, const char *word, size_t n, const uint32_t *tokens, size_t count);

#endif
