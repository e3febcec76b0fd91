/* Weights of a language model that have 16 bits where others have 8. All functions are local. */
#ifndef MF_MODEL_KEPT_TYPE_H
#define MF_MODEL_KEPT_TYPE_H

#include "src/model/language.h"
#include "src/net/list.h"

/** Refuses with MF_USAGE a pattern of model->kept that meets no table or product of @p net. */
int mf_kept_type_check(const struct mf_language *model, const struct mf_net *net);

/** A line names the weights that the patterns met, if there are any. */
void mf_kept_type_say(const struct mf_language *model, const struct mf_net *net);

#endif
