/* Lists of a language model that reads whole texts: BERT. A row is a token of a text. Texts of a list are as long as
 * the longest, and a mask says which of their tokens count. All lists of a net share weights.
 *
 * Tables are tokens, positions and types, and placed is the norm behind them. A layer, layers.N, has the products qkv,
 * out, in and inner. The norms first and second stand behind their sums (J. Devlin et al., "BERT", 2018). Products are
 * steady: a row has the same bits whatever other texts there are. Rule: all functions are local. */
#ifndef MF_MODEL_ENCODER_H
#define MF_MODEL_ENCODER_H

#include "src/model/language.h"
#include "src/net/build.h"

/** A list, and the values that the host fills before a walk or reads behind it. */
struct mf_encoder_list {
    struct mf_list *list;
    size_t texts, length; /* tokens of a text */
    int tokens;           /* [texts length] i32; negative: none */
    int positions;        /* [texts length] i32, from 0 */
    int types;            /* [texts length] i32 */
    int seen;             /* [texts][length] u8: the token counts */
    int states;           /* [texts length][width] f32, kept: what the model makes of the tokens */
    int first;            /* [texts] i32: rows of the first tokens; -1: there is no pooler */
    int pooler;           /* [texts][width] f32, kept: product of these rows; its tanh is up to the caller; -1 */
};

/** Appends a list of so many texts to @p net, with the product of a pooler or without. Refuses with MF_USAGE. */
int mf_encoder_build(const struct mf_language *model, struct mf_net *net, const char *name, size_t texts, size_t length,
                     int pooler, struct mf_encoder_list *list);

#endif
