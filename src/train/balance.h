/* Stages of a pipeline that take different times are cut anew, between two steps. Weights and moments move by name.
 * The time of a stage is that of its lists without exchanges, so only the host's own work is seen. */
#ifndef MF_TRAIN_BALANCE_H
#define MF_TRAIN_BALANCE_H

#include "src/train/train.h"

/**
 * Looks for another cut where the times @p seconds [stages] of a step differ by more than 15 % of the longest. A stage
 * that had time t for its operations is taken to need t for as many others. Puts the stages of parts into @p to
 * [parts]; those of now are @p from. Returns 1; 0: no other cut shortens the longest time by 5 %. Local.
 */
int mf_balance_find(size_t parts, const double *operations, size_t stages, const double *seconds, const size_t *from,
                    size_t *to);

/** Bytes of host memory that weights and moments take on their way to another stage. Local. */
size_t mf_balance_bytes(const struct mf_network *network);

/** After a step: notes its time. After opts.balance steps it compares the stages by their median steps, and cuts them
 * anew where that is worth it. A line says so. Where memory lacks they stay. Refuses (agreed) as
 * mf_trainer_open(), if not even those of before fit. Collective. */
int mf_balance(struct mf_trainer *trainer);

#endif
