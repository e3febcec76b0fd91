/* Tokens at which a model ends by itself, as the files of its folder say. All functions are local. */
#ifndef MF_GEN_STOPS_H
#define MF_GEN_STOPS_H

#include "src/text/buffer.h"

/** Appends the numbers of "eos_token_id" in generation_config.json, else in config.json. None: the model knows no end.
 * Refuses with MF_INPUT a file that cannot be read, and numbers that no token of @p vocabulary has. */
int mf_stops_read(const char *folder, size_t vocabulary, struct mf_tokens *stops);

int mf_stops_have(const struct mf_tokens *stops, uint32_t token);

#endif
