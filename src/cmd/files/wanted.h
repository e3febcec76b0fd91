/* generate --condition: the words that say which samples are wanted. */
#ifndef MF_CMD_FILES_WANTED_H
#define MF_CMD_FILES_WANTED_H

#include "src/base/opt.h"
#include "src/model/generator.h"

/** Reads NAME=VALUE of @p texts into wish->label and wish->value [columns], which the caller frees in every case.
 * Before, wish->per_class is set. @p model: its file, for sentences. Refuses with MF_USAGE a condition that the model
 * has not, or that is said twice, and a class that it has not learnt. Local. */
int mf_wanted_read(const struct mf_texts *texts, const char *model, const struct mf_denoise *denoise,
                   struct mf_generator_wish *wish);

/** Warns of values beyond those of the train split, and of guidance by a model that always had a condition. Local. */
void mf_wanted_warn(const struct mf_denoise *denoise, const struct mf_generator_wish *wish);

#endif
