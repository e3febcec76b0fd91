/* Routes of the dialects. See dialect.h. */
#ifndef MF_SERVE_ROUTES_H
#define MF_SERVE_ROUTES_H

#include "src/serve/dialect.h"

/** Routes of one dialect, for some kinds of models. */
struct mf_routes {
    unsigned dialects, kinds; /* kinds: MF_ASK_IS(kind) */
    const struct mf_route *route;
    size_t count;
};

#define MF_ASK_IS(kind) (1u << (kind))
#define MF_ASK_ANY      (~0u)

extern const struct mf_routes mf_routes_tgi, mf_routes_tei, mf_routes_openai_facts, mf_routes_openai_text,
    mf_routes_openai_vectors, mf_routes_predict;

/** Errors {"error": {"message": "..", ..}} of OpenAI. */
void mf_error_openai(int status, const char *sentence, int streams, struct mf_bytes *to);

#endif
