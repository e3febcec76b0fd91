/* Inner header of this folder: what a training tells of its steps and epochs, in metrics and on the screen. Local. */
#ifndef MF_TRAIN_LOOP_TELL_H
#define MF_TRAIN_LOOP_TELL_H

#include "src/train/loop.h"

/** The epoch of the last step, from 1. */
long mf_loop_epoch(const struct mf_loop *loop);

/** The figure by which epochs are compared; NAN: no rows. */
double mf_loop_merit(const struct mf_loop *loop, const struct mf_scores *scores);

/** A row of metrics and the line of progress, of rank 0. */
void mf_loop_write_step(struct mf_loop *loop, const struct mf_step *step);
void mf_loop_write_epoch(struct mf_loop *loop, const struct mf_scores *scores);

/** Writes figures of the run to the metrics: keys of its results that its model does not have. Rank 0. */
void mf_loop_write_end(struct mf_loop *loop, const struct mf_json *results);
extern const char *const mf_loop_ends[]; /* these keys, but for "output"; NULL-terminated */

/** A line of an epoch, once it is judged. Rank 0. */
void mf_loop_say_epoch(const struct mf_loop *loop, const struct mf_scores *scores);

#endif
