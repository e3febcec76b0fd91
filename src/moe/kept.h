/* JSON in a checkpoint, as an array of the bytes of its text that every rank holds. */
#ifndef MF_MOE_KEPT_H
#define MF_MOE_KEPT_H

#include "src/base/json.h"
#include "src/run/checkpoint.h"

/**
 * Saving: lists *json. Loading: makes it. The memory @p text must live until the checkpoint is written; the caller
 * frees it, also after a refusal. Not collective. MF_INPUT.
 */
int mf_kept_json(struct mf_checkpoint *checkpoint, const char *name, struct mf_json **json, char **text);

#endif
