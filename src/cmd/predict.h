/* A trained model that predicts: its file, its network, and tables of its predictions. */
#ifndef MF_CMD_PREDICT_H
#define MF_CMD_PREDICT_H

#include <stdio.h>

#include "src/cmd/session.h"
#include "src/train/saved.h"

struct mf_predictor {
    struct mf_saved saved;
    struct mf_trainer trainer; /* not trained: it has no gradients */
};

/** The row of --batch-size in the options of a verb. */
#define MF_PREDICT_ROW(type) MF_OPT(type, "batch-size", batch, MF_LONG, "64", "samples of one rank in one pass")

/** Refusals of options that eval and infer share: MF_USAGE. Local. */
int mf_predictor_check(const struct mf_session *session, const char *verb, long batch);

/** Reads what the file says of its model. mf_predictor_close() follows in every case. Collective; MF_INPUT, agreed. */
int mf_predictor_open(const struct mf_session *session, const char *path, struct mf_predictor *predictor);

/** Makes its network, for samples as those of @p set, which outlives it. Collective; refuses (agreed) with MF_INPUT,
 * MF_MEMORY. */
int mf_predictor_start(const struct mf_session *session, const struct mf_dataset *set, long batch,
                       struct mf_predictor *predictor);
void mf_predictor_close(struct mf_predictor *predictor);

/** Makes of outputs [n][outputs] what is said of samples. Local. */
void mf_predictor_answer(const struct mf_saved *saved, size_t n, float *output);

/** Writes a table on rank 0 by @p print. Collective; MF_OUTPUT, agreed. */
int mf_predictor_table(const struct mf_comm *comm, const char *path, void (*print)(const void *context, FILE *to),
                       const void *context);

#endif
