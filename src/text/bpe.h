/* BPE: a word begins as its characters or bytes, and neighbours merge by rank. */
#ifndef MF_TEXT_BPE_H
#define MF_TEXT_BPE_H

#include "src/text/buffer.h"
#include "src/text/read.h"
#include "src/text/vocab.h"

struct mf_bpe;

/**
 * Reads a model of type BPE. Its vocabulary is read already, and borrowed until mf_bpe_free(). @p bytes: words are
 * bytes, and tokens are letters for bytes. Merges are pairs of texts, or texts with a blank between the two. Refuses
 * with MF_INPUT merges of tokens that are not there. It also refuses prefixes, suffixes and dropout.
 */
int mf_bpe_read(const struct mf_part *part, const struct mf_vocab *vocab, int bytes, struct mf_bpe **bpe);

/** Appends the tokens of a word. Refuses with MF_INPUT an unknown character where the token for these is missing. */
int mf_bpe_word(struct mf_bpe *bpe, const char *word, size_t n, struct mf_tokens *to);

void mf_bpe_free(struct mf_bpe *bpe);

#endif
