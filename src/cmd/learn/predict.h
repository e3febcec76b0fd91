/* What verbs that predict share: an option, refusals, tables. */
#ifndef MF_CMD_LEARN_PREDICT_H
#define MF_CMD_LEARN_PREDICT_H

#include <stdio.h>

#include "src/cmd/common.h"

/** The row of --batch-size in the options of a verb. */
#define MF_PREDICT_ROW(type) MF_OPT(type, "batch-size", batch, MF_LONG, "64", "samples of one rank in one pass")

/** Refusals of options that eval and infer share: MF_USAGE. Local. */
int mf_predict_check(const struct mf_session *session, const char *verb, long batch);

/** Writes a table on rank 0 by @p print. Collective; MF_OUTPUT, agreed. */
int mf_predict_table(const struct mf_comm *comm, const char *path, void (*print)(const void *context, FILE *to),
                     const void *context);

#endif
