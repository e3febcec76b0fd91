/* Pre-tokenizers cut a text to the pieces of which a model makes tokens, each by itself. */
#ifndef MF_TEXT_SPLIT_H
#define MF_TEXT_SPLIT_H

#include "src/text/steps.h"

/**
 * Reads the pre-tokenizer of a file. *bytes: the last step is ByteLevel. Then the model reads bytes and no characters.
 * Refuses with MF_INPUT, also a ByteLevel in front of other steps. The caller frees in every case.
 */
int mf_split_read(const struct mf_part *part, struct mf_text_steps *chain, int *bytes);

#endif
