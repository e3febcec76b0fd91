/* A new expert starts with rows. Its scores alone would win few, and what has no rows learns nothing. */
#ifndef MF_MOE_FIRST_ROWS_H
#define MF_MOE_FIRST_ROWS_H

#include "src/train/train.h"

/**
 * Sets the balance bias of expert @p id in all layers. It is then chosen for its share of the rows: one in as many as
 * there are experts. A look at samples of the train split says how. Its weight in a row follows from its score alone,
 * so little is disturbed. Without balance biases (--balance 0) nothing changes. Collective; refuses (agreed) with
 * MF_INPUT, MF_MEMORY.
 */
int mf_first_rows(struct mf_trainer *trainer, long id);

#endif
