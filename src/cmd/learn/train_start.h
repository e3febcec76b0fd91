/* Where a training begins: its step, its set, and its weights. */
#ifndef MF_CMD_LEARN_TRAIN_START_H
#define MF_CMD_LEARN_TRAIN_START_H

#include "src/cmd/learn/train_opts.h"

/** Opens the set of --data with the items that the options want. Collective. Refuses as mf_learn_open(). */
int mf_train_set(const struct mf_session *session, const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                 struct mf_dataset **set);

/** With --restart auto and without --effective-batch, a run that goes on keeps the samples of its step. The ranks may
 * be others, so passes of --batch-size samples follow from them. Collective; refuses (agreed) with MF_OUTPUT. */
int mf_train_keep_step(const struct mf_session *session, struct mf_train_cmd *o);

/**
 * Gives the trainer the weights of --model; without it does nothing. The last layer keeps its fresh weights where that
 * model predicts other classes or columns, or with --new-head. A line says so. Refuses (agreed) with MF_INPUT what does
 * not fit, MF_MEMORY. Collective.
 */
int mf_train_start(const struct mf_train_cmd *o, struct mf_trainer *trainer);

#endif
