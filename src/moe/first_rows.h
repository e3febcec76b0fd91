/* A new expert starts with rows. Its scores alone would win few, and what has no rows learns nothing. */
#ifndef MF_MOE_FIRST_ROWS_H
#define MF_MOE_FIRST_ROWS_H

#include "src/train/train.h"

/**
 * Sets the handicap of expert @p id, in all layers, so that it is chosen for one row in as many as there are experts,
 * by a look at samples of the train split. Its weight in a row stays that of its score, so little is disturbed.
 * Nothing, where the router has no handicaps (--balance 0). Collective; refuses (agreed) with MF_INPUT.
 */
int mf_first_rows(struct mf_trainer *trainer, long id);

#endif
