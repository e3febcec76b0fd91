/* The task to tell classes apart: an output for each class, labels, cross-entropy, accuracy. */
#ifndef MF_TRAIN_LEARN_CLASSIFY_H
#define MF_TRAIN_LEARN_CLASSIFY_H

#include "src/train/learn_show.h"

extern const struct mf_learn mf_learn_classify;
extern const struct mf_learn_show mf_show_classify;

/** @p n classes; @p name: as of mf_task_named(). @p smoothing: of the labels. mf_task_close() frees. */
struct mf_task mf_task_classes(size_t n, const mf_name *name, double smoothing);

/** The class of a sample with the largest of its @p n logits or probabilities; of equals the first. @p n: none, since
 * they are not finite. */
size_t mf_classify_best(size_t n, const float *output);

/** Scores of the classes: part of the labels that are right, NAN where the loss is not finite; samples of class (row)
 * that were taken for class (column). */
static inline double mf_classify_accuracy(const struct mf_head_scores *s) { return s->figure[0]; }
static inline const double *mf_classify_confusion(const struct mf_head_scores *s) { return s->figure + 1; }

/** A share of the labels as it is printed: "12.50 %". */
const char *mf_accuracy_text(double accuracy, char text[MF_LOSS_TEXT]);

#endif
