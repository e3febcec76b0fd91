/* Requests of clients are read as their dialects say. Others are refused with the status of the dialect, and one
 * sentence names the member. Answers are written byte for byte. Whatever comes, nothing crashes. Argument: changed
 * requests of each path. */
#include "src/serve/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/unit/mutate.h"

static const struct mf_served served[] = {
    [MF_ASK_TEXT] = {.model = "tiny",
                     .version = "1.0",
                     .family = "llama",
                     .type = "bf16",
                     .kind = MF_ASK_TEXT,
                     .context = 64,
                     .input = 48,
                     .total = 60,
                     .requests = 8,
                     .queue = 128,
                     .batch = 3,
                     .started = 1700000000},
    [MF_ASK_VECTOR] = {.model = "small",
                       .version = "1.0",
                       .family = "bert",
                       .type = "fp32",
                       .kind = MF_ASK_VECTOR,
                       .context = 64,
                       .input = 64,
                       .requests = 8,
                       .queue = 128,
                       .batch = 3,
                       .width = 2,
                       .pool = "mean",
                       .started = 1700000000},
};
static const struct mf_ask_name name = {7, 1700000001};

static const struct mf_route *find(enum mf_ask_kind kind, const char *path)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed;
    int status;
    const struct mf_route *route = mf_route_find(&served[kind], ~0u, "POST", path, &status, &allowed, &error);

    CHECK_SAYS(route, "no route %s", path);
    return route;
}

/* -- what is read -- */

/* All that a request says. */
static void tell(const struct mf_ask *ask, struct mf_bytes *to)
{
    char line[512];
    const struct mf_choice *c = &ask->choice;

#define PUT(...)                                                                            \
    do {                                                                                    \
        const int put_n = snprintf(line, sizeof line, __VA_ARGS__);                         \
        mf_bytes_put(to, line, put_n < (int)sizeof line ? (size_t)put_n : sizeof line - 1); \
    } while (0)
    for (size_t k = 0; k < ask->prompts; ++k) {
        const struct mf_ask_prompt *p = &ask->prompt[k];

        PUT("%s", p->is_tokens ? "#" : "'");
        for (size_t i = 0; i < p->tokens.count; ++i) PUT("%s%u", i ? " " : "", p->tokens.at[i]);
        mf_bytes_put(to, p->text.at, p->text.count);
        PUT("%s", p->is_tokens ? "# " : "' ");
    }
    if (ask->most) PUT("most %zu ", ask->most);
    if (ask->last) PUT("last %zu ", ask->last);
    if (c->temperature > 0) PUT("temperature %g ", c->temperature);
    if (c->top_p > 0 && c->top_p < 1) PUT("top_p %g ", c->top_p);
    if (c->top_k) PUT("top_k %ld ", c->top_k);
    if (c->repetition < 1 || c->repetition > 1) PUT("repetition %g ", c->repetition);
    if (c->seed && c->seed < 1000) PUT("seed %u ", (unsigned)c->seed);
    for (size_t k = 0; k < ask->stops; ++k) PUT("stop '%s' ", ask->stop[k]);
    if (ask->bare) PUT("bare ");
    if (ask->ignores_end) PUT("ignores_end ");
    if (ask->likely) PUT("likely ");
    if (ask->streams) PUT("streams ");
    if (ask->kind == MF_ASK_VECTOR) PUT("normalizes %d truncates %d ", ask->normalizes, ask->truncates);
    if (ask->chats) PUT("chats ");
    if (ask->echoes) PUT("echoes ");
    if (ask->counts) PUT("counts ");
    if (ask->details) PUT("details ");
    if (ask->base64) PUT("base64 ");
    mf_bytes_put(to, "", 1);
#undef PUT
}

struct read {
    const char *path, *body, *tells;
};

static const struct read reads[] = {
    {"/generate", "{\"inputs\":\"Hi\"}", "'Hi' "},
    {"/generate", "{\"inputs\":\"Hi\",\"parameters\":{\"max_new_tokens\":5,\"details\":true}}",
     "'Hi' most 5 likely details "},
    {"/generate",
     "{\"inputs\":\"Hi\",\"parameters\":{\"temperature\":0.5,\"top_k\":3,\"top_p\":0.9,\"seed\":11,\"repetition_"
     "penalty\":"
     "1.5,\"truncate\":4,\"stop\":[\"a\",\"b\"],\"return_full_text\":true,\"typical_p\":1,\"best_of\":1,\"watermark\":"
     "false,\"adapter_id\":null,\"grammar\":null,\"unknown\":{\"a\":1}}}",
     "'Hi' last 4 temperature 0.5 top_p 0.9 top_k 3 repetition 1.5 seed 11 stop 'a' stop 'b' echoes "},
    {"/generate", "{\"inputs\":\"Hi\",\"parameters\":{\"do_sample\":true,\"seed\":1}}", "'Hi' temperature 1 seed 1 "},
    {"/generate", "{\"inputs\":\"Hi\",\"parameters\":{\"temperature\":1.0,\"do_sample\":false}}", "'Hi' "},
    {"/generate", "{\"inputs\":\"Hi\",\"stream\":true,\"parameters\":{}}", "'Hi' likely streams "},
    {"/generate_stream", "{\"inputs\":\"Hi\",\"parameters\":null}", "'Hi' likely streams "},
    {"/", "{\"inputs\":\"\\u00e9\\ud83d\\ude00\",\"parameters\":{}}", "'\xC3\xA9\xF0\x9F\x98\x80' "},
    {"/v1/completions", "{\"prompt\":\"Hi\",\"model\":\"tiny\",\"seed\":3}", "'Hi' most 16 temperature 1 seed 3 "},
    {"/v1/completions", "{\"prompt\":[\"a\",\"b\"],\"temperature\":0,\"max_tokens\":2.0}", "'a' 'b' most 2 "},
    {"/v1/completions", "{\"prompt\":[5,6],\"temperature\":0,\"logprobs\":0,\"n\":1,\"tools\":[]}",
     "#5 6# most 16 likely "},
    {"/v1/completions", "{\"prompt\":[[5],[6,7]],\"temperature\":0,\"stop\":\"x\",\"logit_bias\":{}}",
     "#5# #6 7# most 16 stop 'x' "},
    {"/v1/completions",
     "{\"prompt\":\"Hi\",\"temperature\":0,\"stream\":true,\"stream_options\":{\"include_usage\":true},\"ignore_eos\":"
     "true,\"echo\":true,\"add_special_tokens\":false,\"response_format\":{\"type\":\"text\"},\"top_k\":-1}",
     "'Hi' most 16 bare ignores_end streams echoes counts "},
};

static void check_reads(void)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; ++i) {
        const struct read *r = &reads[i];
        const struct mf_route *route = find(MF_ASK_TEXT, r->path);
        struct mf_bytes told = {0};
        struct mf_ask ask;
        const int rc = mf_route_read(route, &served[MF_ASK_TEXT], r->body, strlen(r->body), &ask);

        CHECK_SAYS(rc == 0, "%s %s: %d %s", r->path, r->body, rc, mf_err_text());
        tell(&ask, &told);
        CHECK_SAYS(strcmp(told.at, r->tells) == 0, "%s %s: read as\n    %s, want\n    %s", r->path, r->body, told.at,
                   r->tells);
        mf_bytes_free(&told);
        mf_ask_free(&ask);
    }
}

/* -- what is refused -- */

struct refused {
    const char *path, *body;
    int status;
    const char *says;
};

static const struct refused refusals[] = {
    {"/generate", "", 400, "not JSON: it is empty"},
    {"/generate", "{", 400, "not JSON"},
    {"/generate", "[]", 422, "the body of the request is an array; it must be an object"},
    {"/generate", "{}", 422, "'inputs' is missing"},
    {"/generate", "{\"inputs\":\"\"}", 422, "'inputs' has no text in it"},
    {"/generate", "{\"inputs\":[\"a\"]}", 422, "'inputs' is an array; it must be text"},
    {"/generate", "{\"inputs\":\"a\",\"inputs\":\"b\"}", 400, "duplicate"},
    {"/generate", "{\"inputs\":\"\\ud800\"}", 400, "not JSON"},
    {"/generate", "{\"inputs\":\"\xED\xA0\x80\"}", 400, "not JSON"},
    {"/generate", "{\"inputs\":\"a\",\"stream\":1}", 422, "'stream' is a number; it must be true or false"},
    {"/generate", "{\"inputs\":\"a\",\"parameters\":[]}", 422, "'parameters' is an array; it must be an object"},
#define TGI(member, says)                                                        \
    {                                                                            \
        "/generate", "{\"inputs\":\"a\",\"parameters\":{" member "}}", 422, says \
    }
    TGI("\"temperature\":0", "'temperature' is 0; it must be above 0 and at most 1000"),
    TGI("\"temperature\":-1", "'temperature' is -1"),
    TGI("\"temperature\":\"x\"", "'temperature' is text; it must be a number"),
    TGI("\"temperature\":1e999", "not JSON"),
    TGI("\"top_p\":1.0", "'top_p' is 1; it must be above 0 and below 1"),
    TGI("\"top_p\":0", "'top_p' is 0"),
    TGI("\"top_k\":0", "'top_k' is 0; it must be a whole number, 1 to 2147483647"),
    TGI("\"top_k\":1.5", "'top_k' is 1.5; it must be a whole number"),
    TGI("\"max_new_tokens\":0", "'max_new_tokens' is 0"),
    TGI("\"max_new_tokens\":-3", "'max_new_tokens' is -3"),
    TGI("\"max_new_tokens\":1e300", "'max_new_tokens' is 1.0000000000000001e+300"),
    TGI("\"truncate\":0", "'truncate' is 0"),
    TGI("\"repetition_penalty\":0", "'repetition_penalty' is 0"),
    TGI("\"seed\":-1", "'seed' is -1; it must be a whole number, 0 to"),
    TGI("\"seed\":1e18", "'seed' is 1e+18"),
    TGI("\"stop\":[\"\"]", "'stop' has an empty text"),
    TGI("\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "'stop' has 5 texts; it may have 4"),
    TGI("\"stop\":[1]", "'stop' has a number in it; it must have texts"),
    TGI("\"stop\":[\"a\\u0000\"]", "'stop' has a text with a NUL character"),
    TGI("\"stop\":5", "'stop' has a number in it"),
    TGI("\"best_of\":2", "'best_of' is not supported with another value than 1"),
    TGI("\"watermark\":true", "'watermark' is not supported; leave it out"),
    TGI("\"decoder_input_details\":true", "'decoder_input_details' is not supported"),
    TGI("\"grammar\":{\"type\":\"json\"}", "'grammar' is not supported"),
    TGI("\"adapter_id\":\"x\"", "'adapter_id' is not supported"),
    TGI("\"top_n_tokens\":2", "'top_n_tokens' is not supported"),
    TGI("\"typical_p\":0.5", "'typical_p' is not supported"),
    TGI("\"frequency_penalty\":0.5", "'frequency_penalty' is not supported"),
    {"/v1/completions", "{}", 400, "'prompt' is missing"},
    {"/v1/completions", "{\"prompt\":{}}", 400, "'prompt' is an object; it must be text, or a list"},
    {"/v1/completions", "{\"prompt\":[]}", 400, "'prompt' is an empty list"},
    {"/v1/completions", "{\"prompt\":[[]]}", 400, "'prompt' has an empty list of tokens"},
    {"/v1/completions", "{\"prompt\":[null]}", 400, "'prompt' is a list of nothing"},
    {"/v1/completions", "{\"prompt\":[\"a\",5]}", 400, "'prompt' has text and a number in one list"},
    {"/v1/completions", "{\"prompt\":[5,\"a\"]}", 400, "'prompt' has text among numbers of tokens"},
    {"/v1/completions", "{\"prompt\":[-5]}", 400, "'prompt' has -5, which is the number of no token"},
    {"/v1/completions", "{\"prompt\":[0.5]}", 400, "'prompt' has 0.5"},
    {"/v1/completions", "{\"prompt\":[\"a\",\"\"]}", 400, "'prompt' has no text in it"},
    {"/v1/completions", "{\"prompt\":[\"a\",\"b\",\"c\",\"d\"]}", 400,
     "'prompt' has 4 texts, and this server takes at most 3"},
#define OPENAI(member, status, says)                                     \
    {                                                                    \
        "/v1/completions", "{\"prompt\":\"a\"," member "}", status, says \
    }
    OPENAI("\"model\":\"gpt\"", 404, "there is no model 'gpt' here; this server has 'tiny'"),
    OPENAI("\"model\":1", 400, "'model' is a number; it must be text"),
    OPENAI("\"model\":\"tiny\\u0000x\"", 404, "there is no model"),
    OPENAI("\"temperature\":-0.1", 400, "'temperature' is -0.1"),
    OPENAI("\"top_p\":0", 400, "'top_p' is 0; it must be above 0 and at most 1"),
    OPENAI("\"top_p\":1.5", 400, "'top_p' is 1.5"),
    OPENAI("\"max_tokens\":0", 400, "'max_tokens' is 0; it must be a whole number, 1 to"),
    OPENAI("\"n\":2", 400, "'n' is not supported with another value than 1"),
    OPENAI("\"best_of\":0", 400, "'best_of' is not supported"),
    OPENAI("\"presence_penalty\":0.1", 400, "'presence_penalty' is not supported"),
    OPENAI("\"logit_bias\":{\"5\":1}", 400, "'logit_bias' is not supported"),
    OPENAI("\"tools\":[{}]", 400, "'tools' is not supported"),
    OPENAI("\"response_format\":{\"type\":\"json_object\"}", 400, "'response_format' is not supported"),
    OPENAI("\"response_format\":\"text\"", 400, "'response_format' is text; it must be an object"),
    OPENAI("\"stream_options\":{}", 400, "'stream_options' needs 'stream'"),
    OPENAI("\"stream\":true,\"stream_options\":{\"include_usage\":1}", 400, "'include_usage' is a number"),
    OPENAI("\"logprobs\":1", 400, "'logprobs' is 1"),
    OPENAI("\"logprobs\":true", 400, "'logprobs' is true or false; it must be a whole number"),
    OPENAI("\"echo\":true,\"logprobs\":0", 400, "'echo' with 'logprobs'"),
    OPENAI("\"skip_special_tokens\":false", 400, "'skip_special_tokens'"),
    {"/v1/completions", "{\"prompt\":[5],\"echo\":true}", 400, "'echo' needs a 'prompt' of text"},
};

static void check_refused(const struct refused *r, const char *body, size_t bytes)
{
    const struct mf_route *route = find(MF_ASK_TEXT, r->path);
    struct mf_ask ask;
    const int rc = mf_route_read(route, &served[MF_ASK_TEXT], body, bytes, &ask);

    CHECK_SAYS((rc == r->status || (rc == 400 && strstr(r->says, "not JSON"))) && strstr(mf_err_text(), r->says),
               "%s %.200s: %d %s; want %d ..%s..", r->path, body, rc, rc ? mf_err_text() : "", r->status, r->says);
    mf_ask_free(&ask);
}

static void check_refusals(void)
{
    char *brackets = malloc(1000000);
    const struct refused deep = {"/v1/completions", "", 400, "not JSON"};

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i)
        check_refused(&refusals[i], refusals[i].body, strlen(refusals[i].body));
    if (!brackets) return;
    memset(brackets, '[', 1000000);
    check_refused(&deep, brackets, 1000000);
    for (size_t i = 0; i < 1000000; ++i) brackets[i] = "{\"a\":"[i % 5];
    check_refused(&deep, brackets, 1000000);
    memset(brackets, 0, 1000000);
    check_refused(&deep, brackets, 1000000);
    free(brackets);
}

/* -- what is written -- */

/* An answer of two tokens: the first ends within a letter of two bytes. */
static struct mf_said_token tokens[] = {{.token = 5, .log_probability = -0.5, .sure = 1},
                                        {.token = 6, .log_probability = -0.25, .sure = 3}};

struct written {
    const char *path, *body, *whole; /* whole: NULL: a stream */
    const char *stream;
};

static const struct written answers[] = {
    {"/generate", "{\"inputs\":\"Hi\"}", "{\"generated_text\":\"a\xC3\xA9\"}", NULL},
    {"/generate", "{\"inputs\":\"Hi\",\"parameters\":{\"return_full_text\":true}}",
     "{\"generated_text\":\"Hia\xC3\xA9\"}", NULL},
    {"/", "{\"inputs\":\"Hi\",\"parameters\":{\"details\":true}}",
     "[{\"generated_text\":\"a\xC3\xA9\",\"details\":{\"finish_reason\":\"eos_token\",\"generated_tokens\":2,\"seed\":"
     "null,"
     "\"prefill\":[],\"tokens\":[{\"id\":5,\"text\":\"a\",\"logprob\":-0.5,\"special\":false},{\"id\":6,\"text\":"
     "\"\xC3\xA9\",\"logprob\":-0.25,\"special\":false}]}}]",
     NULL},
    {"/generate_stream", "{\"inputs\":\"Hi\",\"parameters\":{\"details\":true,\"do_sample\":true,\"seed\":9}}", NULL,
     "data: "
     "{\"index\":1,\"token\":{\"id\":5,\"text\":\"a\",\"logprob\":-0.5,\"special\":false},\"generated_text\":null,"
     "\"details\":null}\n\n"
     "data: {\"index\":2,\"token\":{\"id\":6,\"text\":\"\xC3\xA9\",\"logprob\":-0.25,\"special\":false},"
     "\"generated_text\":\"a\xC3\xA9\",\"details\":{\"finish_reason\":\"eos_token\",\"generated_tokens\":2,\"seed\":9,"
     "\"input_length\":3}}\n\n"},
    {"/v1/completions", "{\"prompt\":\"Hi\",\"temperature\":0}",
     "{\"id\":\"cmpl-7\",\"object\":\"text_completion\",\"created\":1700000001,\"model\":\"tiny\",\"choices\":[{"
     "\"index\":0,"
     "\"text\":\"a\xC3\xA9\",\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,"
     "\"completion_tokens\":2,\"total_tokens\":5}}",
     NULL},
    {"/v1/completions", "{\"prompt\":\"Hi\",\"temperature\":0,\"logprobs\":0}",
     "{\"id\":\"cmpl-7\",\"object\":\"text_completion\",\"created\":1700000001,\"model\":\"tiny\",\"choices\":[{"
     "\"index\":0,"
     "\"text\":\"a\xC3\xA9\",\"logprobs\":{\"tokens\":[\"a\",\"\xC3\xA9\"],\"token_logprobs\":[-0.5,-0.25],\"top_"
     "logprobs\":"
     "null,\"text_offset\":[0,1]},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,"
     "\"total_tokens\":5}}",
     NULL},
#define CHUNK \
    "data: {\"id\":\"cmpl-7\",\"object\":\"text_completion\",\"created\":1700000001,\"model\":\"tiny\",\"choices\":"
    {"/v1/completions", "{\"prompt\":\"Hi\",\"temperature\":0,\"stream\":true}", NULL,
     CHUNK "[{\"index\":0,\"text\":\"a\",\"logprobs\":null,\"finish_reason\":null}]}\n\n" CHUNK
           "[{\"index\":0,\"text\":\"\xC3\xA9\",\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n"
           "data: [DONE]\n\n"},
    {"/v1/completions",
     "{\"prompt\":\"Hi\",\"temperature\":0,\"stream\":true,\"echo\":true,\"stream_options\":{\"include_usage\":true}}",
     NULL,
     CHUNK
     "[{\"index\":0,\"text\":\"Hi\",\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n" CHUNK
     "[{\"index\":0,\"text\":\"a\",\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n" CHUNK
     "[{\"index\":0,\"text\":\"\xC3\xA9\",\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":null}\n\n" CHUNK
     "[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n"
     "data: [DONE]\n\n"},
};

/* All that a stream says. */
static void stream(const struct mf_route *route, const struct mf_served *facts, const struct mf_ask *ask,
                   struct mf_said *said, struct mf_bytes *to)
{
    const size_t tokens_of = said->tokens;

    if (route->begin) route->begin(facts, ask, &name, to);
    said->ended = MF_ENDED_NOT;
    for (size_t i = 0; i < tokens_of; ++i) {
        said->tokens = i + 1;
        if (i + 1 == tokens_of) said->ended = MF_ENDED_BY_TOKEN;
        route->token(facts, ask, &name, said, 0, i, to);
    }
    if (route->end) route->end(facts, ask, &name, said, to);
}

static void check_written(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i) {
        const struct written *a = &answers[i];
        const struct mf_route *route = find(MF_ASK_TEXT, a->path);
        const struct mf_served *facts = &served[MF_ASK_TEXT];
        struct mf_bytes out = {0}, text = {.at = (char *)"a\xC3\xA9", .count = 3};
        struct mf_ask ask;
        struct mf_said said;

        CHECK(mf_route_read(route, facts, a->body, strlen(a->body), &ask) == 0);
        for (uint32_t k = 0; k < 3; ++k) mf_tokens_put(&ask.prompt->tokens, k);
        said = (struct mf_said){ask.prompt, text, tokens, 2, MF_ENDED_BY_TOKEN, NULL, 0};
        if (a->whole)
            route->whole(facts, &ask, &name, &said, &out);
        else
            stream(route, facts, &ask, &said, &out);
        mf_bytes_put(&out, "", 1);
        CHECK_SAYS(strcmp(out.at, a->whole ? a->whole : a->stream) == 0, "%s %s: wrote\n%s\nwant\n%s", a->path, a->body,
                   out.at, a->whole ? a->whole : a->stream);
        mf_bytes_free(&out);
        mf_ask_free(&ask);
    }
}

/* -- routes and errors -- */

struct lost {
    enum mf_ask_kind kind;
    unsigned dialects;
    const char *method, *path;
    int status;
    const char *allowed, *body; /* of the answer; of a stream's error, where it begins with "data:" */
};

#define EVENT(sentence, type, code) \
    "{\"error\":{\"message\":\"" sentence "\",\"type\":\"" type "\",\"param\":null,\"code\":" code "}}"

static const struct lost losses[] = {
    {MF_ASK_TEXT, ~0u, "GET", "/health", 0, NULL, NULL},
    {MF_ASK_TEXT, ~0u, "HEAD", "/", 0, NULL, NULL},
    {MF_ASK_VECTOR, MF_DIALECT_TEI, "GET", "/metrics", 0, NULL, NULL},
    {MF_ASK_TEXT, ~0u, "GET", "/info", 0, NULL, NULL},
    {MF_ASK_TEXT, ~0u, "GET", "/v1/models/tiny", 0, NULL, NULL},
    {MF_ASK_TEXT, ~0u, "GET", "/nowhere", 404, NULL,
     "{\"error\":\"there is no '/nowhere' here\",\"error_type\":\"not_found\"}"},
    {MF_ASK_TEXT, ~0u, "GET", "/v1/models/gpt", 404, NULL,
     EVENT("there is no '/v1/models/gpt' here", "invalid_request_error", "404")},
    {MF_ASK_TEXT, ~0u, "GET", "/generate", 405, "POST",
     "{\"error\":\"'/generate' takes POST, not GET\",\"error_type\":\"method_not_allowed\"}"},
    {MF_ASK_TEXT, ~0u, "PUT", "/", 405, "GET, POST",
     "{\"error\":\"'/' takes GET, POST, not PUT\",\"error_type\":\"method_not_allowed\"}"},
    {MF_ASK_TEXT, MF_DIALECT_OPENAI, "POST", "/", 405, "GET",
     "{\"error\":\"'/' takes GET, not POST\",\"error_type\":\"method_not_allowed\"}"},
    {MF_ASK_TEXT, MF_DIALECT_TGI, "POST", "/v1/completions", 404, NULL,
     EVENT("'/v1/completions' is of a dialect that this server does not serve", "invalid_request_error", "404")},
    {MF_ASK_VECTOR, ~0u, "POST", "/generate", 404, NULL,
     "{\"error\":\"'/generate' is for another kind of model than 'small'\",\"error_type\":\"not_found\"}"},
};

static void check_lost(void)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; ++i) {
        const struct lost *l = &losses[i];
        void (*error)(int, const char *, int, struct mf_bytes *);
        const char *allowed;
        int status;
        const struct mf_route *route =
            mf_route_find(&served[l->kind], l->dialects, l->method, l->path, &status, &allowed, &error);
        struct mf_bytes out = {0};

        CHECK_SAYS(!route == (l->status != 0) && status == l->status, "%s %s: %d", l->method, l->path, status);
        CHECK((!allowed && !l->allowed) || strcmp(allowed, l->allowed) == 0);
        if (route) continue;
        error(status, mf_err_text(), 0, &out);
        mf_bytes_put(&out, "", 1);
        CHECK_SAYS(strcmp(out.at, l->body) == 0, "%s %s: %s", l->method, l->path, out.at);
        mf_bytes_free(&out);
    }
}

static void check_error(const char *path, int status, const char *want)
{
    struct mf_bytes out = {0};

    find(MF_ASK_TEXT, path)->error(status, "it ends", 1, &out);
    mf_bytes_put(&out, "", 1);
    CHECK_SAYS(strcmp(out.at, want) == 0, "%s: %s", path, out.at);
    mf_bytes_free(&out);
}

static void check_facts(const char *path, const char *want)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed;
    struct mf_bytes out = {0};
    int status;
    const struct mf_route *route = mf_route_find(&served[MF_ASK_TEXT], ~0u, "GET", path, &status, &allowed, &error);

    CHECK(route && route->does == MF_ROUTE_FACTS);
    route->facts(&served[MF_ASK_TEXT], &out);
    mf_bytes_put(&out, "", 1);
    CHECK_SAYS(strcmp(out.at, want) == 0, "%s: %s", path, out.at);
    mf_bytes_free(&out);
}

/* -- whatever comes -- */

static void check_changed(long changes)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; ++i)
        for (long k = 0; k < changes; ++k) {
            struct mf_ask ask;
            char body[1024];
            size_t n = strlen(reads[i].body);
            int rc;

            memcpy(body, reads[i].body, n);
            n = mutate(body, n);
            rc = mf_route_read(find(MF_ASK_TEXT, reads[i].path), &served[MF_ASK_TEXT], body, n, &ask);
            CHECK(rc == 0 || ((rc == 400 || rc == 404 || rc == 422) && *mf_err_text()));
            CHECK(rc != 0 || ask.prompts > 0);
            mf_ask_free(&ask);
        }
}

int main(int argc, char **argv)
{
    NEEDS(1, "CHANGES");
    check_reads();
    check_refusals();
    check_written();
    check_lost();
    check_error("/generate_stream", 500, "data: {\"error\":\"it ends\",\"error_type\":\"generation\"}\n\n");
    check_error("/v1/completions", 503, "data: " EVENT("it ends", "service_unavailable", "503") "\n\ndata: [DONE]\n\n");
    check_facts("/v1/models",
                "{\"object\":\"list\",\"data\":[{\"id\":\"tiny\",\"object\":\"model\",\"created\":1700000000,"
                "\"owned_by\":\"mesoforge\",\"max_model_len\":60}]}");
    check_changed(strtol(argv[1], NULL, 10));
    CHECK(mf_dialect_of("vllm") == MF_DIALECT_OPENAI && mf_dialect_of("ollama") == 0);
    return failures != 0;
}
