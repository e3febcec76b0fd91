/* Words about the questions of a dataset, for data info and the verbs that make sets. */
#ifndef MF_CMD_FILES_QUESTIONS_TELL_H
#define MF_CMD_FILES_QUESTIONS_TELL_H

#include "io/questions.h"
#include "src/base/json.h"

/** Tells counts of questions by type and split, and of their answers. Text, or a member of @p json. Local. */
void mf_questions_tell(const struct mf_dataset *set, const struct mf_questions *questions, struct mf_json *json);

#endif
