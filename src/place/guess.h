/* Sizes of a model by its name alone, as ipfs_accelerate_py guesses them. They are wrong for most models: opt-1.3b and
 * opt-6.7b get the same. Rule: use them only where somebody asked for them, and call them a guess. */
#ifndef MF_PLACE_GUESS_H
#define MF_PLACE_GUESS_H

#include "src/place/parts.h"

struct mf_guess {
    double total, embeddings, layer, head; /* [GB]; the parts are not all of the total */
    size_t layers;
};

/** @p layers: 0: by words in the name. Source: "Memory requirement estimation" in the document of strategy.h. */
void mf_guess_find(const char *name, size_t layers, struct mf_guess *guess);

/** Parts of these sizes: embeddings, layer.N, head; a GB has 2^30 bytes. The caller ends with mf_parts_free(). */
void mf_guess_parts(const struct mf_guess *guess, struct mf_parts *parts);

#endif
