/* Answers of infer about files and samples, as text, as JSON, as a table. */
#ifndef MF_CMD_LEARN_INFER_SHOW_H
#define MF_CMD_LEARN_INFER_SHOW_H

#include <stdio.h>

#include "src/base/json.h"
#include "src/cmd/common.h"
#include "src/cmd/planned.h"
#include "src/cmd/refused.h"
#include "src/session/peaks.h"
#include "src/train/learn.h"

/** Answer about a file, or about a sample of a dataset. */
struct mf_predicted {
    const char *file;
    long sample;   /* -1: it is a file */
    double tiles;  /* that it was cut into */
    float *output; /* [outputs], finite */
};

/** All of them, in the order of the files. */
struct mf_predictions {
    const struct mf_session *session;
    const char *model; /* its file */
    const struct mf_task *task;
    const void *context; /* of who made the network */
    size_t outputs;      /* of a file or sample */
    const char *const *files;
    const struct mf_refused *refused; /* of these */
    const struct mf_run_plan *plan;   /* NULL: none */
    const struct mf_peaks *peaks;     /* NULL: not asked for */
    struct mf_predicted *said;
    size_t lines;
};

/** The object of an answer in JSON. */
struct mf_json *mf_predicted_json(const struct mf_task *task, const struct mf_predicted *said);

/** Puts what a network reads, and the names of its outputs. */
void mf_predictor_facts(const struct mf_model_card *card, const struct mf_task *task, struct mf_json *to);

/** Adds one; @p output is copied. */
int mf_predictions_add(struct mf_predictions *predictions, struct mf_predicted said, const float *output);
void mf_predictions_free(struct mf_predictions *predictions);

/** Prints all on standard output. Local; MF_OUTPUT. */
int mf_predictions_print(const struct mf_predictions *predictions);

/** Prints an object with the answers @p all_take under @p key. MF_OUTPUT. */
int mf_predictions_json(const struct mf_predictions *predictions, const char *key, struct mf_json *all_take);

/** Prints a table of commas; for mf_predict_table(). */
void mf_predictions_put(const void *predictions, FILE *to);

#endif
