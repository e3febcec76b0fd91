/* The dialect of TEI (text-embeddings-inference), for models that turn texts into vectors. InferenceClient of
 * huggingface_hub calls POST /. */
#include "src/serve/body.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

static int read_embed(const struct mf_served *served, const struct mf_json *json, struct mf_ask *ask)
{
    static const struct mf_unserved unserved[] = {{"prompt_name", 0}, {NULL, 0}};
    struct mf_body b = {.json = json, .refuses = 422, .empty = 400};
    const struct mf_json *side;

    ask->kind = MF_ASK_VECTOR;
    mf_body_prompts(&b, "inputs", served->batch, ask);
    mf_body_unserved(&b, unserved);
    mf_body_width(&b, served);
    ask->normalizes = mf_body_flag(&b, "normalize", 1);
    ask->truncates = mf_body_flag(&b, "truncate", 1);
    side = mf_body_get(&b, "truncation_direction");
    if (side && !mf_body_is(side, "Right") && !mf_body_is(side, "right"))
        mf_body_refuse(&b, "'truncation_direction' is not supported with another value than Right");
    return b.rc;
}

static void whole(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, struct mf_bytes *to)
{
    (void)served, (void)name;
    for (size_t k = 0; k < ask->prompts; ++k) {
        mf_bytes_put(to, k ? "," : "[", 1);
        mf_say_vector(said[k].vector, said[k].width, to);
    }
    mf_bytes_put(to, "]", 1);
}

static void info(const struct mf_served *served, struct mf_bytes *to)
{
    struct mf_json *body = mf_json_object(), *type = mf_json_object(), *pool = mf_json_object();

    mf_json_text(pool, "pooling", served->pool);
    mf_json_put(type, "embedding", pool);
    MF_JSON(body, "model_id", served->model, "model_dtype", served->type, "model_type", type, "max_concurrent_requests",
            served->requests, "max_input_length", served->input, "max_client_batch_size", served->batch, "version",
            served->version);
    mf_json_bool(body, "auto_truncate", 1);
    mf_json_null(body, "model_sha");
    mf_json_null(body, "docker_label");
    mf_say_json(body, to);
}

static const struct mf_route routes[] = {
    {.method = "POST", .path = "/embed", .refuses = 422, .read = read_embed, .whole = whole, .error = mf_error_plain},
    {.method = "POST", .path = "/", .refuses = 422, .read = read_embed, .whole = whole, .error = mf_error_plain},
    {.method = "GET", .path = "/info", .does = MF_ROUTE_FACTS, .facts = info, .error = mf_error_plain},
};
const struct mf_routes mf_routes_tei = {MF_DIALECT_TEI, MF_ASK_IS(MF_ASK_VECTOR), routes,
                                        sizeof routes / sizeof *routes};
