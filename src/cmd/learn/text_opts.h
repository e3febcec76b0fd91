/* Options of text generation. See text_generation.c. */
#ifndef MF_CMD_LEARN_TEXT_OPTS_H
#define MF_CMD_LEARN_TEXT_OPTS_H

#include "src/cmd/cmd.h"
#include "src/cmd/learn/prompts.h"

struct generation {
    struct mf_common common;
    struct mf_prompt_opts from;
    const char *logits, *plan, *map, *dtype;
    int offload; /* weights are in host memory */
    struct mf_texts stop, keep;
    long most, length, context, requests, top_k, tensor, stages, zero;
    double temperature, top_p, repetition;
    int ignore_eos, bare;
};

extern const struct mf_opt mf_generation_rows[];

/** Refuses what is out of range or contradicts itself, but for prompts: MF_USAGE. Local. */
int mf_generation_check(const struct mf_session *session, const void *options);

#endif
