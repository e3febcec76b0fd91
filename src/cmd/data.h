/* What the verbs that make or change datasets say of them. */
#ifndef MF_CMD_DATA_H
#define MF_CMD_DATA_H

#include "io/dataset.h"
#include "src/cmd/session.h"

/** Facts of a set as text, or as members of @p json (NULL: text). Local. */
void mf_data_tell(const struct mf_dataset *set, struct mf_json *json);

/** Opens the set at @p path and prints its facts, for a verb that has just written it. Collective; MF_INPUT,
 * MF_OUTPUT. */
int mf_data_report(const struct mf_session *session, const char *path);

#endif
