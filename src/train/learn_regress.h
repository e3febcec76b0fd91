/* The task to predict real values: an output for each column, which is learnt in units of its own, squared error, R2.
 */
#ifndef MF_TRAIN_LEARN_REGRESS_H
#define MF_TRAIN_LEARN_REGRESS_H

#include "src/train/learn_show.h"

extern const struct mf_learn mf_learn_regress;
extern const struct mf_learn_show mf_show_regress;

/** Columns @p column [columns] of a dataset. Their units are those of its train split. mf_task_close() frees. */
struct mf_task mf_task_columns(const struct mf_dataset *set, size_t columns, const size_t *column);

/** Where output @p c is among the columns of the dataset; its mean. */
size_t mf_regress_column(const struct mf_task *task, size_t c);
double mf_regress_mean(const struct mf_task *task, size_t c);

/** Scores of output @p c: 1 - squared error / variance; mean of the absolute error. */
double mf_regress_r2(const struct mf_task *task, const struct mf_head_scores *s, size_t c);
double mf_regress_error(const struct mf_task *task, const struct mf_head_scores *s, size_t c);

/** R2 as it is printed: four decimals, or four digits of a large number; "none" where it is not finite. */
const char *mf_r2_text(double r2, char text[MF_LOSS_TEXT]);

#endif
