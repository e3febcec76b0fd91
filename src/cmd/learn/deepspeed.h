/* Configurations of DeepSpeed (JSON) as options of train. Each key becomes an option, is what this program does anyway,
 * or is refused. Rule: nothing of a file is ignored without a word. */
#ifndef MF_CMD_LEARN_DEEPSPEED_H
#define MF_CMD_LEARN_DEEPSPEED_H

#include "src/base/opt.h"

/**
 * Gives the options the values of the file. "auto" leaves the choice to this program. Keys of DeepSpeed that are
 * missing have its defaults where they change the result. These are no clipping, no decay, no momentum, a warm-up of
 * 1000 steps. Refuses with MF_INPUT a file that is no JSON object. Refuses with MF_USAGE all keys and values that are
 * not supported, in one sentence, or an option that says otherwise. Local.
 */
int mf_deepspeed_adopt(struct mf_options *options, const char *path);

/** Adds to a refusal @p rc the keys of the file that gave the options which it names. Returns @p rc. Local. */
int mf_deepspeed_explain(const struct mf_options *options, const char *path, int rc);

/** Names the keys of an adopted file that have no effect here, in one line of the log. Local. */
void mf_deepspeed_say(const char *path);

#endif
