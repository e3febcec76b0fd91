/* The model of a trainer on disk (src/model/card.h), and the task of such a file. */
#ifndef MF_TRAIN_SAVED_H
#define MF_TRAIN_SAVED_H

#include "src/train/train.h"

/** The object of a trainer's model. @p results: put into it and taken over; NULL: none. The caller frees it. Local. */
struct mf_json *mf_saved_card(const struct mf_trainer *trainer, struct mf_json *results);

/** Rank 0 writes weights and card. Collective; MF_OUTPUT (agreed). */
int mf_saved_write(const struct mf_trainer *trainer, const char *path, const struct mf_json *card);

/** Gives an open trainer the model's weights, and its experts: MF_INPUT, MF_NUMERIC, MF_MEMORY. Collective where these
 * are other ones. */
int mf_saved_load(const struct mf_model_card *card, struct mf_trainer *trainer);

/** What a model predicts. Refuses with MF_INPUT. mf_task_close() frees in every case. Local. */
int mf_task_load(const struct mf_model_card *card, struct mf_task *task);

/** Finds the outputs in a set by name, after mf_model_card_reads(). The set gets the model's classes in its order.
 * Samples of a class that the model does not know lose their label, which rank 0 says. Refuses with MF_INPUT a set that
 * has none of the classes, or not all columns. Local. */
int mf_task_fit(struct mf_task *task, const struct mf_model_card *card, struct mf_dataset *set);

#endif
