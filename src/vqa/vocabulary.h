/* Vocabularies of whole words and characters: short texts, and yet any word can be spelt. */
#ifndef MF_VQA_VOCABULARY_H
#define MF_VQA_VOCABULARY_H

struct mf_vqa_words;

/** Begins a vocabulary for WordPiece with four special tokens and single characters of ASCII. Letters and digits also
 * continue words. The caller ends it. Local. */
struct mf_vqa_words *mf_vqa_words_begin(void);

/** Adds the words of a text, which are cut as those of BERT are, in small letters. Adds other characters of them, too.
 * MF_INPUT: the text cannot be cut. Local. */
int mf_vqa_words_add(struct mf_vqa_words *words, const char *text);

/** The tokens, a line each. The caller frees. Local. */
char *mf_vqa_words_end(struct mf_vqa_words *words);

#endif
