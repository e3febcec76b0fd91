/* Pictures of a training: its course, a confusion matrix, predictions beside true values. Rank 0. */
#ifndef MF_SHOW_TRAINING_H
#define MF_SHOW_TRAINING_H

#include "src/show/figure.h"

/** Columns of a row. A number that was not measured is NAN. */
enum mf_training_column {
    MF_TRAINING_STEP,
    MF_TRAINING_EPOCH,
    MF_TRAINING_LOSS,
    MF_TRAINING_VAL_LOSS,
    MF_TRAINING_ACCURACY,
    MF_TRAINING_R2,
    MF_TRAINING_LEARNING_RATE,
    MF_TRAINING_SAMPLES_PER_SECOND,
    MF_TRAINING_MEMORY,  /* bytes */
    MF_TRAINING_SECONDS, /* since the start, in rows of epochs */
    MF_TRAINING_EXPERTS, /* of a mixture */
    MF_TRAINING_COLUMNS
};

/** Their keys in rows of metrics: "step", "epoch", "loss", "val_loss", ... */
extern const char *const mf_training_key[MF_TRAINING_COLUMNS];

/** Name of a training: its model @p output. It is the folder of "model.safetensors", which has the file @p beside. The
 * caller frees. */
char *mf_training_name(const char *beside, const char *output);

/**
 * Panels of loss, accuracy or R2, learning rate, samples per second and memory. A panel without numbers is left out.
 * The axis is the epoch, if all rows have one and it grows from row to row, else the step. Many rows are averaged. A
 * circle marks the row with the highest accuracy or R2, of equal ones with the least loss of validation. A training
 * keeps its weights likewise. A mixture of experts has panels of their number and of the seconds of an epoch in
 * addition.
 */
void mf_figure_training(struct mf_figure *figure, size_t count, const double (*rows)[MF_TRAINING_COLUMNS]);

/** Confusion matrix: @p counts [true class][predicted class]. Colours are shares of the true class. */
void mf_figure_confusion(struct mf_figure *figure, size_t classes, const char *const *names, const double *counts);

/** Predicted against true values [count], with the diagonal, and R2 in the title. The name @p name is the quantity's,
 * with its unit. */
void mf_figure_predicted(struct mf_figure *figure, const char *name, size_t count, const double *truth,
                         const double *predicted);

#endif
