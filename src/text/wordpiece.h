/* WordPiece: the longest token that begins a word, then the longest that continues it. */
#ifndef MF_TEXT_WORDPIECE_H
#define MF_TEXT_WORDPIECE_H

#include "src/text/buffer.h"
#include "src/text/read.h"
#include "src/text/vocab.h"

struct mf_wordpiece;

/** Reads a model of type WordPiece whose vocabulary is read already (borrowed until mf_wordpiece_free()). Refuses with
 * MF_INPUT a vocabulary without the token for unknown words. */
int mf_wordpiece_read(const struct mf_part *part, const struct mf_vocab *vocab, struct mf_wordpiece **wordpiece);

/** Appends the tokens of a word. A word is unknown if no token begins a part of it, or if it has too many characters.
 */
void mf_wordpiece_word(struct mf_wordpiece *wordpiece, const char *word, size_t n, struct mf_tokens *to);

void mf_wordpiece_free(struct mf_wordpiece *wordpiece);

#endif
