/* Ranks that keep the same parameters compare them now and then: a fault of a memory, a link or a library would
 * otherwise spoil a training in silence.
 * Rule: every rank decides from the same numbers. */
#ifndef MF_TRAIN_REPLICAS_H
#define MF_TRAIN_REPLICAS_H

#include "src/train/train.h"

/**
 * Compares every parameter that several ranks have whole: its bits and its sum. Refuses with MF_NUMERIC, naming the
 * first one whose sums differ by more than rounding. Warns once where only bits do, since processors of different kinds
 * round differently. Reads all parameters once. Collective.
 */
int mf_replicas_compare(struct mf_trainer *trainer);

#endif
