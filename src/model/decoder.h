/* Lists of a language model that continues texts: GPT-2, OPT, Llama, Mistral, Mixtral. A row is a token of a request.
 * Keys and values of earlier tokens stand in caches, which are cut into pages of MF_KEPT_PAGE positions. All lists of a
 * net share weights and caches. So a prompt may go through one list, and later tokens through another.
 *
 * Names of weights are the same for all families. Tables are tokens and positions. A layer, layers.N, has the norms
 * first and second and the products qkv, out, in and inner. The last norm is last, the last product head. Between
 * tables and layers of another width stand before and behind. Queries, keys and values are one product, as are the two
 * halves of a gated inner part. A layer with experts has the product router, and of expert ID experts.ID.in and
 * experts.ID.inner. The weights of all experts stand in one array, experts.in.weight. Weights of 8 bits, NAME.weight,
 * have factors of their rows, NAME.scale. Blank rows come last: they go to no expert (MF_NUMBER_SAMPLES is the number
 * of the others). Rule: all functions are local. */
#ifndef MF_MODEL_DECODER_H
#define MF_MODEL_DECODER_H

#include "kernels/net/kept.h"
#include "src/model/language.h"
#include "src/net/build.h"

/** Room of the caches. */
struct mf_decoder_room {
    size_t requests, pages_each; /* at a time; pages of one, at most */
    size_t pages;                /* of all */
};

/** A list, and the values that the host fills before a walk or reads behind it. */
struct mf_decoder_list {
    struct mf_list *list;
    size_t rows, answers;
    size_t first_token; /* with which the table of this rank begins */
    int tokens;         /* [rows] i32; negative: the row is blank */
    int own_tokens;     /* [rows] i32: the same, less first_token; of one rank it is tokens */
    int positions;      /* [rows] i32, from 0 */
    int places;         /* [rows] i32: page MF_KEPT_PAGE + position in it; negative: it is kept nowhere */
    int who;            /* [rows][2] i32: request and position; request negative: the row is blank */
    int frequencies;    /* [head_width / 2] f32: angle of a position; -1: positions have a table */
    int pages;          /* [requests][pages_each] i32; negative: none */
    int last;           /* [answers] i32: rows of which the next token is wanted; negative: none */
    int wishes;         /* [answers][MF_PICK_WISHES] f32 */
    int numbers;        /* [answers][MF_PICK_NUMBERS] i32 */
    int logits;         /* [answers][vocabulary] f32, kept */
    int picked;         /* [answers] i32, kept: tokens */
};

/** Appends a list of so many rows and answers to @p net. A row has the same bits in all of them. Ranks may share every
 * layer (@p split; NULL: they do not). Each has a part of the heads, of the inner columns and of the vocabulary. Two
 * sums a layer join what they computed, and all have all logits. Refuses with MF_USAGE. Source: M. Shoeybi et al.,
 * "Megatron-LM", arXiv:1909.08053, 2019. */
int mf_decoder_build(const struct mf_language *model, const struct mf_decoder_room *room,
                     const struct mf_partners *split, struct mf_net *net, const char *name, size_t rows, size_t answers,
                     struct mf_decoder_list *list);

/** Can so many ranks share every layer? Refuses with MF_USAGE where they cannot, naming numbers of ranks that can. */
int mf_decoder_can_split(const struct mf_language *model, size_t ranks);

#endif
