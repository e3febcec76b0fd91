/* Samples that a network makes while it learns, with the weights of this moment. */
#ifndef MF_TRAIN_MADE_H
#define MF_TRAIN_MADE_H

#include "src/model/sampler.h"
#include "src/train/train.h"

/**
 * Makes samples 0 to @p samples - 1 by the network of @p scorer, whose task removes noise. Conditions are drawn from
 * the train split. Ranks share them by whole batches. The rank that made a sample gives it to @p take. There @p x has
 * phases of one byte, or float values [nz][ny][nx][channels]. Refuses (agreed) with MF_NUMERIC, and as @p take.
 * Collective.
 */
int mf_made_samples(struct mf_scorer *scorer, const struct mf_sampling *how, size_t samples,
                    int (*take)(void *context, size_t sample, const void *x), void *context);

#endif
