/* The dialect of OpenAI, for models that continue texts. This file reads requests, openai_say.c writes answers. vLLM
 * and llama.cpp speak the dialect, too, and some members are theirs. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/serve/body.h"
#include "src/serve/openai.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

void mf_openai_model(struct mf_body *b, const struct mf_served *served)
{
    /* InferenceClient of huggingface_hub says "dummy" to a server of its own, clients of TGI "tgi". */
    static const char *const any[] = {"dummy", "tgi"};
    const struct mf_json *model = mf_body_get(b, "model");
    const char *name = mf_json_to_text(model);

    if (!model || mf_body_is(model, served->model)) return;
    for (size_t i = 0; i < sizeof any / sizeof *any; ++i)
        if (mf_body_is(model, any[i])) return;
    if (mf_json_kind(model) != MF_JSON_TEXT)
        mf_body_refuse(b, "'model' is %s; it must be text", mf_json_kind_name(model));
    else if (!b->rc)
        b->rc = mf_fail(404, "there is no model '%.200s' here; this server has '%.200s'", name, served->model);
}

/* -- what both ways of asking have -- */

static const struct mf_unserved unserved[] = {{"allowed_token_ids", 0},
                                              {"audio", 0},
                                              {"bad_words", 0},
                                              {"best_of", 1},
                                              {"chat_template", 0},
                                              {"chat_template_kwargs", 0},
                                              {"continue_final_message", 0},
                                              {"documents", 0},
                                              {"dry_multiplier", 0},
                                              {"frequency_penalty", 0},
                                              {"function_call", 0},
                                              {"functions", 0},
                                              {"grammar", 0},
                                              {"guided_choice", 0},
                                              {"guided_grammar", 0},
                                              {"guided_json", 0},
                                              {"guided_regex", 0},
                                              {"include_stop_str_in_output", 0},
                                              {"json_schema", 0},
                                              {"length_penalty", 1},
                                              {"logit_bias", 0},
                                              {"min_p", 0},
                                              {"min_tokens", 0},
                                              {"mirostat", 0},
                                              {"n", 1},
                                              {"presence_penalty", 0},
                                              {"prompt_logprobs", 0},
                                              {"return_token_ids", 0},
                                              {"stop_token_ids", 0},
                                              {"structured_outputs", 0},
                                              {"suffix", 0},
                                              {"tools", 0},
                                              {"typical_p", 1},
                                              {"use_beam_search", 0},
                                              {NULL, 0}};

/* A form that is not text. */
static void read_format(struct mf_body *b)
{
    const struct mf_json *format = mf_body_object(b, "response_format");

    if (format && !mf_body_is(mf_json_get(format, "type"), "text"))
        mf_body_refuse(b, "'response_format' is not supported with another type than text");
}

static void read_choice(struct mf_body *b, struct mf_ask *ask)
{
    static const struct mf_range temperatures = {0, 1000, 0, 0, "0 to 1000"},
                                 shares = {0, 1, 1, 0, "above 0 and at most 1"},
                                 most = {-1, 2147483647, 0, 0, "1 or more, or -1 for all tokens"};
    struct mf_choice *c = &ask->choice;
    long long top;

    c->temperature = mf_body_real(b, "temperature", 1, &temperatures);
    c->top_p = mf_body_real(b, "top_p", 1, &shares);
    top = mf_body_whole(b, "top_k", 0, &most);
    c->top_k = top > 0 ? (long)top : 0;
    c->repetition = mf_body_real(b, "repetition_penalty", 1, &mf_range_factors);
    mf_body_seed(b, ask);
}

static void read_stream(struct mf_body *b, struct mf_ask *ask)
{
    struct mf_body options = *b;

    ask->streams = mf_body_flag(b, "stream", 0);
    options.json = mf_body_object(b, "stream_options");
    if (b->rc || !options.json) return;
    if (!ask->streams) mf_body_refuse(b, "'stream_options' needs 'stream'");
    ask->counts = mf_body_flag(&options, "include_usage", 0);
    if (!b->rc) b->rc = options.rc;
}

void mf_openai_common(struct mf_body *b, const struct mf_served *served, struct mf_ask *ask)
{
    mf_openai_model(b, served);
    mf_body_unserved(b, unserved);
    read_format(b);
    read_choice(b, ask);
    read_stream(b, ask);
    mf_body_stops(b, "stop", ask);
    ask->last = (size_t)mf_body_whole(b, "truncate_prompt_tokens", 0, &mf_range_counts);
    ask->ignores_end = mf_body_flag(b, "ignore_eos", 0);
    if (!mf_body_flag(b, "skip_special_tokens", 1))
        mf_body_refuse(b, "'skip_special_tokens' is not supported with false");
}

/* -- /v1/completions -- */

enum { USUAL = 16 }; /* new tokens, as of OpenAI */

/* The chosen token alone has a probability. */
static void read_likely(struct mf_body *b, struct mf_ask *ask)
{
    static const struct mf_range none = {0, 0, 0, 0, "0: this server knows that of the chosen token alone"};

    ask->likely = mf_body_get(b, "logprobs") != NULL;
    (void)mf_body_whole(b, "logprobs", 0, &none);
}

static void read_echo(struct mf_body *b, struct mf_ask *ask)
{
    ask->echoes = mf_body_flag(b, "echo", 0);
    if (!ask->echoes) return;
    if (ask->likely) mf_body_refuse(b, "'echo' with 'logprobs' is not supported; leave one of them out");
    if (ask->prompts && ask->prompt[0].is_tokens) mf_body_refuse(b, "'echo' needs a 'prompt' of text");
}

static int read_completion(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask)
{
    struct mf_body b = {.json = body, .refuses = 400, .empty = 400};

    mf_body_prompts(&b, "prompt", served->batch, ask);
    mf_openai_common(&b, served, ask);
    ask->most = (size_t)mf_body_whole(&b, "max_tokens", USUAL, &mf_range_counts);
    ask->bare = !mf_body_flag(&b, "add_special_tokens", 1);
    read_likely(&b, ask);
    read_echo(&b, ask);
    return b.rc;
}

static const struct mf_route text[] = {{.method = "POST",
                                        .path = "/v1/completions",
                                        .refuses = 400,
                                        .read = read_completion,
                                        .whole = mf_openai_completion,
                                        .begin = mf_openai_completion_begin,
                                        .token = mf_openai_completion_token,
                                        .end = mf_openai_end,
                                        .error = mf_error_openai},
                                       {.method = "POST",
                                        .path = "/v1/chat/completions",
                                        .refuses = 400,
                                        .read = mf_openai_read_chat,
                                        .whole = mf_openai_chat,
                                        .begin = mf_openai_chat_begin,
                                        .token = mf_openai_chat_token,
                                        .end = mf_openai_end,
                                        .error = mf_error_openai}};
const struct mf_routes mf_routes_openai_text = {MF_DIALECT_OPENAI, MF_ASK_IS(MF_ASK_TEXT), text,
                                                sizeof text / sizeof *text};

/* -- /v1/models -- */

static struct mf_json *model_of(const struct mf_served *served)
{
    struct mf_json *model = mf_json_object();

    MF_JSON(model, "id", served->model, "object", "model", "created", served->started, "owned_by", "mesoforge",
            "max_model_len", served->total ? served->total : served->context);
    return model;
}

static void say_model(const struct mf_served *served, struct mf_bytes *to) { mf_say_json(model_of(served), to); }

static void say_models(const struct mf_served *served, struct mf_bytes *to)
{
    struct mf_json *body = mf_json_object(), *list = mf_json_array();

    mf_json_put(list, NULL, model_of(served));
    MF_JSON(body, "object", "list", "data", list);
    mf_say_json(body, to);
}

static const struct mf_route facts[] = {
    {.method = "GET", .path = "/v1/models", .does = MF_ROUTE_FACTS, .facts = say_models, .error = mf_error_openai},
    {.method = "GET", .path = "/v1/models/", .does = MF_ROUTE_FACTS, .facts = say_model, .error = mf_error_openai}};
const struct mf_routes mf_routes_openai_facts = {MF_DIALECT_OPENAI, MF_ASK_ANY, facts, sizeof facts / sizeof *facts};
