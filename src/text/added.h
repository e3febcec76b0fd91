/* Added tokens: texts that are found before a model sees the rest, such as <s> or [MASK]. */
#ifndef MF_TEXT_ADDED_H
#define MF_TEXT_ADDED_H

#include "src/text/steps.h"
#include "src/text/vocab.h"

struct mf_added;

/** Reads "added_tokens", an array of objects. @p normaliser changes tokens that are looked for in the changed text.
 * Refuses with MF_INPUT, also a number that is not the one of the model's vocabulary. The caller frees. */
int mf_added_read(const struct mf_part *part, const struct mf_vocab *vocab, const struct mf_text_steps *normaliser,
                  struct mf_added **added);
void mf_added_free(struct mf_added *added);

/** The text of an added token, and whether it is special; NULL: it is none. A token that is looked for in the
 * normalised text is normalised itself. */
const char *mf_added_text(const struct mf_added *added, size_t number, size_t *n, int *is_special);

/** The largest number of an added token + 1. */
size_t mf_added_numbers(const struct mf_added *added);

/** Where special tokens are text. */
struct mf_literal {
    int all;
    const struct mf_span *span; /* [spans] in this order; parts of what the user wrote */
    size_t spans;
    size_t at; /* where in it the text begins; SIZE_MAX: the text was changed, and spans say nothing */
};

enum mf_added_stage { MF_ADDED_AS_WRITTEN, MF_ADDED_NORMALISED, MF_ADDED_STAGES };

/**
 * The first added token in text[from..n): the longest of those that begin first. 1 and its span, with the white space
 * that it takes; 0: none. Special tokens that @p literal touches are none.
 */
int mf_added_next(const struct mf_added *added, enum mf_added_stage stage, const struct mf_literal *literal,
                  const char *text, size_t n, size_t from, struct mf_span *span, uint32_t *number);

#endif
