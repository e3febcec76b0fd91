/* The dialect of OpenAI: what its parts share. Functions that write are those of struct mf_route. */
#ifndef MF_SERVE_OPENAI_H
#define MF_SERVE_OPENAI_H

#include "src/serve/body.h"
#include "src/serve/dialect.h"

/** Refuses a request for another model, with 404. */
void mf_openai_model(struct mf_body *body, const struct mf_served *served);

/** Reads what /v1/completions and /v1/chat/completions have in common. */
void mf_openai_common(struct mf_body *body, const struct mf_served *served, struct mf_ask *ask);

int mf_openai_read_chat(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask);

void mf_openai_completion(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          const struct mf_said *said, struct mf_bytes *to);
void mf_openai_completion_begin(const struct mf_served *served, const struct mf_ask *ask,
                                const struct mf_ask_name *name, struct mf_bytes *to);
void mf_openai_completion_token(const struct mf_served *served, const struct mf_ask *ask,
                                const struct mf_ask_name *name, const struct mf_said *said, size_t k, size_t token,
                                struct mf_bytes *to);
void mf_openai_chat(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                    const struct mf_said *said, struct mf_bytes *to);
void mf_openai_chat_begin(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          struct mf_bytes *to);
void mf_openai_chat_token(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          const struct mf_said *said, size_t k, size_t token, struct mf_bytes *to);
void mf_openai_end(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                   const struct mf_said *said, struct mf_bytes *to);

#endif
