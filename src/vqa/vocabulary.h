/* Vocabularies of whole words and characters: short texts, and yet any word can be spelt. */
#ifndef MF_VQA_VOCABULARY_H
#define MF_VQA_VOCABULARY_H

struct mf_vqa_words;

/** Begins a vocabulary for WordPiece with four special tokens and single characters of ASCII. Letters and digits also
 * continue words. The caller ends it. Local. */
struct mf_vqa_words *mf_vqa_words_begin(void);

/** Adds the words of a text, which are cut as those of BERT are, in small letters. Adds other characters of them, too.
 * MF_INPUT: the text cannot be cut; MF_MEMORY. Local. */
int mf_vqa_words_add(struct mf_vqa_words *words, const char *text);

/** Ends the vocabulary. *lines: its tokens, a line each, which the caller frees; NULL after a refusal. Returns @p rc,
 * that of adding its words, or MF_MEMORY. Local. */
int mf_vqa_words_end(struct mf_vqa_words *words, int rc, char **lines);

#endif
