/* The dialect of OpenAI, for models that turn texts into vectors. Its own client always asks for base64. */
#include <stdio.h>

#include "src/serve/openai.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

enum { INPUTS = 2048 /* of a request: as many as OpenAI takes */ };

static int read_embeddings(const struct mf_served *served, const struct mf_json *json, struct mf_ask *ask)
{
    static const struct mf_unserved unserved[] = {
        {"embed_dtype", 0}, {"truncate_prompt_tokens", 0}, {"use_activation", 0}, {NULL, 0}};
    struct mf_body b = {.json = json, .refuses = 400, .empty = 400};
    const struct mf_json *format = mf_body_get(&b, "encoding_format");

    ask->kind = MF_ASK_VECTOR;
    mf_body_prompts(&b, "input", INPUTS, ask);
    mf_openai_model(&b, served);
    mf_body_width(&b, served);
    mf_body_unserved(&b, unserved);
    ask->bare = !mf_body_flag(&b, "add_special_tokens", 1);
    ask->normalizes = mf_body_flag(&b, "normalize", -1);
    ask->base64 = mf_body_is(format, "base64");
    if (format && !ask->base64 && !mf_body_is(format, "float"))
        mf_body_refuse(&b, "'encoding_format' must be float or base64");
    return b.rc;
}

/* Vectors stand last, behind what JSON makes: one value of it for each number would take long. */
static void whole(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, struct mf_bytes *to)
{
    struct mf_json *body = mf_json_object(), *usage = mf_json_object();
    size_t tokens = 0;
    char row[64];

    (void)name;
    for (size_t k = 0; k < ask->prompts; ++k) tokens += said[k].prompt->tokens.count;
    MF_JSON(usage, "prompt_tokens", tokens, "total_tokens", tokens);
    MF_JSON(body, "object", "list", "model", served->model, "usage", usage);
    mf_say_json(body, to);
    --to->count; /* the bracket that ends it */
    mf_bytes_put(to, ",\"data\":[", 9);
    for (size_t k = 0; k < ask->prompts; ++k) {
        const int n =
            snprintf(row, sizeof row, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", k ? "," : "", k);

        mf_bytes_put(to, row, (size_t)n);
        (ask->base64 ? mf_say_vector_base64 : mf_say_vector)(said[k].vector, said[k].width, to);
        mf_bytes_put(to, "}", 1);
    }
    mf_bytes_put(to, "]}", 2);
}

static const struct mf_route routes[] = {{.method = "POST",
                                          .path = "/v1/embeddings",
                                          .refuses = 400,
                                          .read = read_embeddings,
                                          .whole = whole,
                                          .error = mf_error_openai}};
const struct mf_routes mf_routes_openai_vectors = {MF_DIALECT_OPENAI, MF_ASK_IS(MF_ASK_VECTOR), routes,
                                                   sizeof routes / sizeof *routes};
