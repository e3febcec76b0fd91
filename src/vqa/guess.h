/* Which type does a question have? Nobody says it who asks a model, so the words tell it. The model's
 * card says how many of the learnt questions of each type had a token. All functions are local. */
#ifndef MF_VQA_GUESS_H
#define MF_VQA_GUESS_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/json.h"

/** Questions of each type, and how many of them have a token. */
struct mf_vqa_words {
    size_t types, tokens;
    uint32_t *questions; /* [types] */
    uint32_t *count;     /* [tokens][types] */
};

/** Counts are 0. mf_vqa_words_close() frees, also after a refusal; all zero is accepted. MF_MEMORY. */
int mf_vqa_words_new(size_t types, size_t tokens, struct mf_vqa_words *words);
void mf_vqa_words_close(struct mf_vqa_words *words);

/** Counts a question of a type. A token that it has twice counts once. */
void mf_vqa_words_learn(struct mf_vqa_words *words, size_t type, size_t n, const int32_t *token);

/** Had a learnt question this token? */
int mf_vqa_words_know(const struct mf_vqa_words *words, size_t token);

struct mf_vqa_guess {
    size_t type;
    double probability; /* that the question has this type, and not another */
    double known;       /* share of its tokens that a question had which was learnt; 0 of no tokens */
};

/** Guesses the type of a question by naive Bayes. A type has each token in a share of its questions, (count + 1/10)
 * / (questions + 1/5). Tokens that the question lacks say nothing, so a short one is of the type of its words. Types
 * without questions are left out.
 * Source: McCallum & Nigam, "A comparison of event models for naive Bayes text classification", 1998. */
struct mf_vqa_guess mf_vqa_words_guess(const struct mf_vqa_words *words, size_t n, const int32_t *token);

/** Counts as an object for a card, with the types in this order; and back, into new counts. Reading returns 0 where it
 * is no such object. */
struct mf_json *mf_vqa_words_json(const struct mf_vqa_words *words, const size_t *order);
int mf_vqa_words_read(const struct mf_json *json, struct mf_vqa_words *words);

#endif
