/* A vocabulary: texts of tokens and their numbers, found both ways. */
#ifndef MF_TEXT_VOCAB_H
#define MF_TEXT_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "src/text/buffer.h"

enum { MF_TOKEN_MOST = (1 << 22) - 1 /* the largest number of a token */, MF_TOKEN_NONE = -1 };

struct mf_vocab {
    struct mf_bytes text;  /* of all tokens, each with a zero byte behind it */
    struct mf_span *token; /* [numbers]: where each stands; count SIZE_MAX: no token has this number */
    size_t numbers;        /* the largest number + 1 */
    size_t room;           /* of token */
    uint32_t *slot;        /* [slots]: a token's number + 1; 0: empty */
    size_t slots, count;   /* a power of 2; tokens */
    size_t longest;        /* bytes of a token */
};

/** Adds a token. Refuses with MF_INPUT a number that another token has, one beyond MF_TOKEN_MOST, and a text that is
 * there. */
int mf_vocab_add(struct mf_vocab *vocab, const char *text, size_t n, size_t number);

/** The number of a token, or MF_TOKEN_NONE. */
int32_t mf_vocab_find(const struct mf_vocab *vocab, const char *text, size_t n);

/** The text of a token (with a zero byte behind it) and its length. NULL: no token has this number. */
const char *mf_vocab_text(const struct mf_vocab *vocab, size_t number, size_t *n);

void mf_vocab_free(struct mf_vocab *vocab);

/** A hash of bytes, for tables in memory. */
uint64_t mf_bytes_hash(const char *text, size_t n);

#endif
