/* Words about datasets, for the verbs that make or change them. */
#ifndef MF_CMD_FILES_DATA_H
#define MF_CMD_FILES_DATA_H

#include "io/questions.h"
#include "src/cmd/cmd.h"

/** How a set is divided: the members train and validation of an options struct. */
#define MF_DATA_PART_ROWS(type)                                                                  \
    MF_OPT(type, "train", train, MF_REAL, "0.8", "share of the samples that training sees [-]"), \
        MF_OPT(type, "validation", validation, MF_REAL, "0.1", "share that chooses among models [-]")

/** Refuses what are no shares of 1 (MF_USAGE). Local. */
int mf_data_part(double train, double validation);

/** The one file that the verb needs, before anything runs: MF_USAGE. Local. */
int mf_data_one(const struct mf_session *session, const char *verb);

/** Facts of a set, and of its questions (NULL: none), as text or as members of @p json (NULL: text). Local. */
void mf_data_tell(const struct mf_dataset *set, const struct mf_questions *questions, struct mf_json *json);

/** Prints that the file @p path has, or would have, so many samples. Local; MF_OUTPUT. */
int mf_data_counted(const struct mf_session *session, const char *path, size_t samples);

/** Opens the set at @p path and prints its facts, for a verb that has just written it. If it was made by a model,
 * the object of --json also gets the members of @p more. Otherwise (NULL) it warns of what a training should not learn
 * from. Collective; MF_INPUT, MF_OUTPUT. */
int mf_data_report(const struct mf_session *session, const char *path, const struct mf_json *more);

#endif
