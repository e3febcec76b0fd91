/* The dialect of TGI (text-generation-inference), for models that continue texts. Its clients are that of its own and
 * InferenceClient of huggingface_hub, which calls POST / and takes a list. */
#include <string.h>

#include "src/base/err.h"
#include "src/serve/body.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

/* -- requests -- */

/* TGI draws also where one of these asks for it. */
static void read_choice(struct mf_body *p, struct mf_ask *ask)
{
    static const struct mf_range shares = {0, 1, 1, 1, "above 0 and below 1"};
    struct mf_choice *c = &ask->choice;
    const double temperature = mf_body_real(p, "temperature", 1, &mf_range_factors);
    const int draws = mf_body_flag(p, "do_sample", 0) || temperature < 1 || temperature > 1 ||
                      mf_body_get(p, "top_k") || mf_body_get(p, "top_p");

    c->top_k = (long)mf_body_whole(p, "top_k", 0, &mf_range_counts);
    c->top_p = mf_body_real(p, "top_p", 0, &shares);
    c->repetition = mf_body_real(p, "repetition_penalty", 1, &mf_range_factors);
    c->temperature = draws ? temperature : 0;
    mf_body_seed(p, ask);
}

static void read_parameters(struct mf_body *p, struct mf_ask *ask)
{
    static const struct mf_unserved unserved[] = {{"adapter_id", 0},
                                                  {"best_of", 1},
                                                  {"decoder_input_details", 0},
                                                  {"frequency_penalty", 0},
                                                  {"grammar", 0},
                                                  {"top_n_tokens", 0},
                                                  {"typical_p", 1},
                                                  {"watermark", 0},
                                                  {"response_format", 0},
                                                  {NULL, 0}};

    mf_body_unserved(p, unserved);
    read_choice(p, ask);
    ask->most = (size_t)mf_body_whole(p, "max_new_tokens", 0, &mf_range_counts);
    ask->last = (size_t)mf_body_whole(p, "truncate", 0, &mf_range_counts);
    mf_body_stops(p, "stop", ask);
    ask->echoes = mf_body_flag(p, "return_full_text", 0);
    ask->details = mf_body_flag(p, "details", 0);
}

static int read_any(const struct mf_json *json, struct mf_ask *ask, int streams)
{
    struct mf_body b = {.json = json, .refuses = 422, .empty = 422}, p = b;

    mf_body_text(&b, "inputs", ask);
    ask->streams = mf_body_flag(&b, "stream", 0) || streams;
    p.json = mf_body_object(&b, "parameters");
    if (!b.rc) read_parameters(&p, ask);
    ask->likely = ask->details || ask->streams;
    return b.rc ? b.rc : p.rc;
}

static int read_generate(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask)
{
    (void)served;
    return read_any(body, ask, 0);
}

static int read_stream(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask)
{
    (void)served;
    return read_any(body, ask, 1);
}

/* -- answers -- */

static const char *ended(const struct mf_said *said)
{
    static const char *const words[] = {[MF_ENDED_NOT] = "length",
                                        [MF_ENDED_BY_LENGTH] = "length",
                                        [MF_ENDED_BY_TOKEN] = "eos_token",
                                        [MF_ENDED_BY_STOP] = "stop_sequence"};

    return words[said->ended];
}

static struct mf_json *details(const struct mf_ask *ask, const struct mf_said *said)
{
    struct mf_json *all = mf_json_object();

    MF_JSON(all, "finish_reason", ended(said), "generated_tokens", said->tokens);
    if (ask->choice.temperature > 0)
        mf_json_int(all, "seed", (long long)ask->choice.seed);
    else
        mf_json_null(all, "seed");
    return all;
}

static struct mf_json *token(const struct mf_said *said, size_t i)
{
    const struct mf_said_token *t = &said->token[i];
    struct mf_json *row = mf_json_object();

    mf_json_int(row, "id", t->token);
    mf_say_piece(row, "text", said, i);
    mf_json_finite(row, "logprob", t->log_probability);
    mf_json_bool(row, "special", t->is_special);
    return row;
}

static void put_text(struct mf_json *at, const struct mf_ask *ask, const struct mf_said *said)
{
    if (ask->echoes)
        mf_say_both(at, "generated_text", said);
    else
        mf_say_text(at, "generated_text", &said->text);
}

static struct mf_json *answer(const struct mf_ask *ask, const struct mf_said *said)
{
    struct mf_json *body = mf_json_object(), *more, *tokens;

    put_text(body, ask, said);
    if (!ask->details) return body;
    more = details(ask, said);
    mf_json_put(more, "prefill", mf_json_array());
    tokens = mf_json_array();
    for (size_t i = 0; i < said->tokens; ++i) mf_json_put(tokens, NULL, token(said, i));
    mf_json_put(more, "tokens", tokens);
    mf_json_put(body, "details", more);
    return body;
}

static void whole(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, struct mf_bytes *to)
{
    (void)served, (void)name;
    mf_say_json(answer(ask, said), to);
}

static void whole_list(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                       const struct mf_said *said, struct mf_bytes *to)
{
    struct mf_json *list = mf_json_array();

    (void)served, (void)name;
    mf_json_put(list, NULL, answer(ask, said));
    mf_say_json(list, to);
}

static void one_token(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                      const struct mf_said *said, size_t k, size_t i, struct mf_bytes *to)
{
    struct mf_json *event = mf_json_object();
    const int all = mf_said_all(&said[k], i);

    (void)served, (void)name;
    MF_JSON(event, "index", i + 1, "token", token(&said[k], i));
    if (all)
        put_text(event, ask, &said[k]);
    else
        mf_json_null(event, "generated_text");
    if (all && ask->details) {
        struct mf_json *more = details(ask, &said[k]);

        mf_json_size(more, "input_length", said[k].prompt->tokens.count);
        mf_json_put(event, "details", more);
    } else {
        mf_json_null(event, "details");
    }
    mf_say_event(event, to);
}

static void info(const struct mf_served *served, struct mf_bytes *to)
{
    struct mf_json *body = mf_json_object();

    MF_JSON(body, "model_id", served->model, "model_dtype", served->type, "model_pipeline_tag", "text-generation",
            "max_concurrent_requests", served->requests, "max_best_of", 1, "max_stop_sequences", MF_ASK_STOPS,
            "max_input_tokens", served->input, "max_total_tokens", served->total, "max_client_batch_size", 1, "router",
            "mesoforge", "version", served->version);
    mf_json_null(body, "model_sha");
    mf_json_null(body, "docker_label");
    mf_say_json(body, to);
}

static const struct mf_route routes[] = {
    {.method = "POST",
     .path = "/generate",
     .refuses = 422,
     .read = read_generate,
     .whole = whole,
     .token = one_token,
     .error = mf_error_plain},
    {.method = "POST",
     .path = "/generate_stream",
     .refuses = 422,
     .read = read_stream,
     .whole = whole,
     .token = one_token,
     .error = mf_error_plain},
    {.method = "POST",
     .path = "/",
     .refuses = 422,
     .read = read_generate,
     .whole = whole_list,
     .token = one_token,
     .error = mf_error_plain},
    {.method = "GET", .path = "/info", .does = MF_ROUTE_FACTS, .facts = info, .error = mf_error_plain},
};
const struct mf_routes mf_routes_tgi = {MF_DIALECT_TGI, MF_ASK_IS(MF_ASK_TEXT), routes, sizeof routes / sizeof *routes};
