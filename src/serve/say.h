/* Parts of answers that several dialects write. All functions are local. */
#ifndef MF_SERVE_SAY_H
#define MF_SERVE_SAY_H

#include "src/base/json.h"
#include "src/serve/ask.h"

/** Appends a JSON value, which it takes, on one line; the same as an event of a stream. */
void mf_say_json(struct mf_json *value_take, struct mf_bytes *to);
void mf_say_event(struct mf_json *value_take, struct mf_bytes *to);

/** Puts a text; the text that became sure with token @p i; a prompt and its answer as one text. */
void mf_say_text(struct mf_json *at, const char *key, const struct mf_bytes *text);
void mf_say_piece(struct mf_json *at, const char *key, const struct mf_said *said, size_t i);
void mf_say_both(struct mf_json *at, const char *key, const struct mf_said *said);

/** Appends a vector as an array of numbers; as base64 of its bytes, 32 bits each with the lowest byte first. */
void mf_say_vector(const float *vector, size_t width, struct mf_bytes *to);
void mf_say_vector_base64(const float *vector, size_t width, struct mf_bytes *to);

/** Bytes that became sure with token @p i. */
struct mf_span mf_said_piece(const struct mf_said *said, size_t i);

/** Is token @p i the last one? */
int mf_said_all(const struct mf_said *said, size_t i);

#endif
