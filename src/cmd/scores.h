/* How well a network does on the samples of a split, as a picture. */
#ifndef MF_CMD_SCORES_H
#define MF_CMD_SCORES_H

#include "src/train/train.h"

/** Draws @p scores of the samples @p id: the matrix of confusion, or predicted against true values of each column. The
 * latter needs scores->output. Rank 0; MF_OUTPUT. */
int mf_scores_draw(const struct mf_trainer *trainer, const struct mf_scores *scores, const uint32_t *id,
                   const char *title, const char *path);

#endif
