/* Requests of clients are read as their dialects say. Others are refused with the status of the dialect, and one
 * sentence names the member. Answers are written byte for byte. Whatever comes, nothing crashes. Argument: changed
 * requests of each path. */
#include "src/serve/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/serve/chat.h"
#include "tests/check.h"
#include "tests/unit/mutate.h"

static struct mf_served served[] = {
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

static const struct mf_served *served_by(const char *path)
{
    return &served[strstr(path, "embed") ? MF_ASK_VECTOR : MF_ASK_TEXT];
}

static const struct mf_route *find(const char *path)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed;
    int status;
    const struct mf_route *route = mf_route_find(served_by(path), ~0u, "POST", path, &status, &allowed, &error);

    CHECK_SAYS(route, "no route %s", path);
    return route;
}

/* The tables below have ' for the quotes of JSON. */
static char *json_of(const char *text)
{
    char *copy = MF_MUST(strdup(text), "a text");

    for (char *c = copy; *c; ++c)
        if (*c == '\'') *c = '"';
    return copy;
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
    if (c->repetition > 0 && (c->repetition < 1 || c->repetition > 1)) PUT("repetition %g ", c->repetition);
    if (c->seed) PUT("seed %llu ", (unsigned long long)c->seed);
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
    {"/generate", "{'inputs':'Hi'}", "'Hi' "},
    {"/generate", "{'inputs':'Hi','parameters':{'max_new_tokens':5,'details':true}}", "'Hi' most 5 likely details "},
    {"/generate",
     "{'inputs':'Hi','parameters':{'temperature':0.5,'top_k':3,'top_p':0.9,'seed':11,'repetition_penalty':1.5,"
     "'truncate':4,'stop':['a','b'],'return_full_text':true,'typical_p':1,'best_of':1,'watermark':false,"
     "'adapter_id':null,'grammar':null,'unknown':{'a':1}}}",
     "'Hi' last 4 temperature 0.5 top_p 0.9 top_k 3 repetition 1.5 seed 11 stop 'a' stop 'b' echoes "},
    {"/generate", "{'inputs':'Hi','parameters':{'do_sample':true,'seed':1}}", "'Hi' temperature 1 seed 1 "},
    {"/generate", "{'inputs':'Hi','parameters':{'do_sample':true,'seed':9007199254740991}}",
     "'Hi' temperature 1 seed 9007199254740991 "},
    {"/generate", "{'inputs':'Hi','parameters':{'temperature':1.0,'do_sample':false}}", "'Hi' "},
    {"/generate", "{'inputs':'Hi','stream':true,'parameters':{}}", "'Hi' likely streams "},
    {"/generate_stream", "{'inputs':'Hi','parameters':null}", "'Hi' likely streams "},
    {"/", "{'inputs':'\\u00e9\\ud83d\\ude00','parameters':{}}", "'\xC3\xA9\xF0\x9F\x98\x80' "},
    {"/v1/completions", "{'prompt':'Hi','model':'tiny','seed':3}", "'Hi' most 16 temperature 1 seed 3 "},
    {"/v1/completions", "{'prompt':['a','b'],'temperature':0,'max_tokens':2.0}", "'a' 'b' most 2 "},
    {"/v1/completions", "{'prompt':[5,6],'temperature':0,'logprobs':0,'n':1,'tools':[]}", "#5 6# most 16 likely "},
    {"/v1/completions", "{'prompt':[[5],[6,7]],'temperature':0,'stop':'x','logit_bias':{}}",
     "#5# #6 7# most 16 stop 'x' "},
    {"/v1/completions",
     "{'prompt':'Hi','temperature':0,'stream':true,'stream_options':{'include_usage':true},'ignore_eos':"
     "true,'echo':true,'add_special_tokens':false,'response_format':{'type':'text'},'top_k':-1,'truncate_prompt_tokens'"
     ":4}",
     "'Hi' most 16 last 4 bare ignores_end streams echoes counts "},
    {"/v1/chat/completions", "{'messages':[{'role':'user','content':'Hi','name':'x'}],'temperature':0,'model':'dummy'}",
     "'<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n' bare chats "},
    {"/v1/chat/completions",
     "{'messages':[{'role':'system','content':'s'},{'role':'user','content':[{'type':'text',"
     "'text':"
     "'a'},{'type':'text','text':'b'}],'tool_calls':[]}],'max_completion_tokens':3,'seed':1,"
     "'logprobs':"
     "true,'top_logprobs':0,'stream':true,'tool_choice':'none'}",
     "'<|im_start|>system\ns<|im_end|>\n<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n' most 3 temperature "
     "1 "
     "seed 1 bare likely streams chats "},
    {"/embed", "{'inputs':'a'}", "'a' normalizes 1 truncates 1 "},
    {"/embed", "{'inputs':['a','b'],'normalize':false,'truncate':true,'truncation_direction':'Right'}",
     "'a' 'b' normalizes 0 truncates 1 "},
    {"/embed", "{'inputs':[[1,2],[3]],'truncate':false,'dimensions':2}", "#1 2# #3# normalizes 1 truncates 0 "},
    {"/v1/embeddings", "{'input':[1,2],'model':'small','encoding_format':'base64','user':'x'}",
     "#1 2# normalizes -1 truncates 0 base64 "},
    {"/v1/embeddings", "{'input':'a','encoding_format':'float'}", "'a' normalizes -1 truncates 0 "},
};

static void check_reads(void)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; ++i) {
        const struct read *r = &reads[i];
        const struct mf_route *route = find(r->path);
        char *body = json_of(r->body);
        struct mf_bytes told = {0};
        struct mf_ask ask;
        const int rc = mf_route_read(route, served_by(r->path), body, strlen(body), &ask);

        CHECK_SAYS(rc == 0, "%s %s: %d %s", r->path, r->body, rc, mf_err_text());
        tell(&ask, &told);
        CHECK_SAYS(strcmp(told.at, r->tells) == 0, "%s %s: read as\n    %s, want\n    %s", r->path, r->body, told.at,
                   r->tells);
        free(body);
        mf_bytes_free(&told);
        mf_ask_free(&ask);
    }
}

/* Without a seed, one is drawn for each request. */
static void check_drawn(void)
{
    uint64_t seed[2];

    for (int i = 0; i < 2; ++i) {
        static const char body[] = "{\"prompt\":\"Hi\"}";
        struct mf_ask ask;

        CHECK(mf_route_read(find("/v1/completions"), &served[MF_ASK_TEXT], body, sizeof body - 1, &ask) == 0);
        seed[i] = ask.choice.seed;
        mf_ask_free(&ask);
    }
    CHECK(seed[0] != seed[1]);
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
    {"/generate", "{'inputs':''}", 422, "'inputs' has no text in it"},
    {"/generate", "{'inputs':['a']}", 422, "'inputs' is an array; it must be text"},
    {"/generate", "{'inputs':'a','inputs':'b'}", 400, "duplicate"},
    {"/generate", "{'inputs':'\\ud800'}", 400, "not JSON"},
    {"/generate", "{'inputs':'\xED\xA0\x80'}", 400, "not JSON"},
    {"/generate", "{'inputs':'a','stream':1}", 422, "'stream' is a number; it must be true or false"},
    {"/generate", "{'inputs':'a','parameters':[]}", 422, "'parameters' is an array; it must be an object"},
#define TGI(members) "/generate", "{'inputs':'a','parameters':{" members "}}"
    {TGI("'temperature':0"), 422, "'temperature' is 0; it must be above 0 and at most 1000"},
    {TGI("'temperature':-1"), 422, "'temperature' is -1"},
    {TGI("'temperature':'x'"), 422, "'temperature' is text; it must be a number"},
    {TGI("'temperature':1e999"), 422, "not JSON"},
    {TGI("'top_p':1.0"), 422, "'top_p' is 1; it must be above 0 and below 1"},
    {TGI("'top_p':0"), 422, "'top_p' is 0"},
    {TGI("'top_k':0"), 422, "'top_k' is 0; it must be a whole number, 1 to 2147483647"},
    {TGI("'top_k':1.5"), 422, "'top_k' is 1.5; it must be a whole number"},
    {TGI("'max_new_tokens':0"), 422, "'max_new_tokens' is 0"},
    {TGI("'max_new_tokens':-3"), 422, "'max_new_tokens' is -3"},
    {TGI("'max_new_tokens':1e300"), 422, "'max_new_tokens' is 1.0000000000000001e+300"},
    {TGI("'truncate':0"), 422, "'truncate' is 0"},
    {TGI("'repetition_penalty':0"), 422, "'repetition_penalty' is 0"},
    {TGI("'seed':-1"), 422, "'seed' is -1; it must be a whole number, 0 to"},
    {TGI("'seed':1e18"), 422, "'seed' is 1e+18"},
    {TGI("'stop':['']"), 422, "'stop' has an empty text"},
    {TGI("'stop':['a','b','c','d','e']"), 422, "'stop' has 5 texts; it may have 4"},
    {TGI("'stop':[1]"), 422, "'stop' has a number in it; it must have texts"},
    {TGI("'stop':['a\\u0000']"), 422, "'stop' has a text with a NUL character"},
    {TGI("'stop':5"), 422, "'stop' has a number in it"},
    {TGI("'best_of':2"), 422, "'best_of' is not supported with another value than 1"},
    {TGI("'watermark':true"), 422, "'watermark' is not supported; leave it out"},
    {TGI("'decoder_input_details':true"), 422, "'decoder_input_details' is not supported"},
    {TGI("'grammar':{'type':'json'}"), 422, "'grammar' is not supported"},
    {TGI("'adapter_id':'x'"), 422, "'adapter_id' is not supported"},
    {TGI("'top_n_tokens':2"), 422, "'top_n_tokens' is not supported"},
    {TGI("'typical_p':0.5"), 422, "'typical_p' is not supported"},
    {TGI("'frequency_penalty':0.5"), 422, "'frequency_penalty' is not supported"},
    {"/v1/completions", "{}", 400, "'prompt' is missing"},
    {"/v1/completions", "{'prompt':{}}", 400, "'prompt' is an object; it must be text, or a list"},
    {"/v1/completions", "{'prompt':[]}", 400, "'prompt' is an empty list"},
    {"/v1/completions", "{'prompt':[[]]}", 400, "'prompt' has an empty list of tokens"},
    {"/v1/completions", "{'prompt':[null]}", 400, "'prompt' is a list of nothing"},
    {"/v1/completions", "{'prompt':['a',5]}", 400, "'prompt' has text and a number in one list"},
    {"/v1/completions", "{'prompt':[5,'a']}", 400, "'prompt' has text among numbers of tokens"},
    {"/v1/completions", "{'prompt':[-5]}", 400, "'prompt' has -5, which is the number of no token"},
    {"/v1/completions", "{'prompt':[0.5]}", 400, "'prompt' has 0.5"},
    {"/v1/completions", "{'prompt':['a','']}", 400, "'prompt' has no text in it"},
    {"/v1/completions", "{'prompt':['a','b','c','d']}", 400, "'prompt' has 4 texts, and this server takes at most 3"},
#define OPENAI(members) "/v1/completions", "{'prompt':'a'," members "}"
    {OPENAI("'model':'gpt'"), 404, "there is no model 'gpt' here; this server has 'tiny'"},
    {OPENAI("'model':1"), 400, "'model' is a number; it must be text"},
    {OPENAI("'model':'tiny\\u0000x'"), 404, "there is no model"},
    {OPENAI("'temperature':-0.1"), 400, "'temperature' is -0.1"},
    {OPENAI("'top_p':0"), 400, "'top_p' is 0; it must be above 0 and at most 1"},
    {OPENAI("'top_p':1.5"), 400, "'top_p' is 1.5"},
    {OPENAI("'max_tokens':0"), 400, "'max_tokens' is 0; it must be a whole number, 1 to"},
    {OPENAI("'n':2"), 400, "'n' is not supported with another value than 1"},
    {OPENAI("'best_of':0"), 400, "'best_of' is not supported"},
    {OPENAI("'presence_penalty':0.1"), 400, "'presence_penalty' is not supported"},
    {OPENAI("'logit_bias':{'5':1}"), 400, "'logit_bias' is not supported"},
    {OPENAI("'tools':[{}]"), 400, "'tools' is not supported"},
    {OPENAI("'response_format':{'type':'json_object'}"), 400, "'response_format' is not supported"},
    {OPENAI("'response_format':'text'"), 400, "'response_format' is text; it must be an object"},
    {OPENAI("'stream_options':{}"), 400, "'stream_options' needs 'stream'"},
    {OPENAI("'stream':true,'stream_options':{'include_usage':1}"), 400, "'include_usage' is a number"},
    {OPENAI("'logprobs':1"), 400, "'logprobs' is 1"},
    {OPENAI("'logprobs':true"), 400, "'logprobs' is true or false; it must be a whole number"},
    {OPENAI("'echo':true,'logprobs':0"), 400, "'echo' with 'logprobs'"},
    {OPENAI("'skip_special_tokens':false"), 400, "'skip_special_tokens'"},
    {"/v1/completions", "{'prompt':[5],'echo':true}", 400, "'echo' needs a 'prompt' of text"},
#define CHAT(members) "/v1/chat/completions", "{" members "}"
#define HI            "'messages':[{'role':'user','content':'Hi'}]"
    {CHAT(""), 400, "'messages' must be a list of messages, and not empty"},
    {CHAT("'messages':[]"), 400, "'messages' must be"},
    {CHAT("'messages':{}"), 400, "'messages' must be"},
    {CHAT("'messages':[1]"), 400, "message 1 is a number; it must be an object"},
    {CHAT("'messages':[{'content':'a'}]"), 400, "'role' of message 1 must be"},
    {CHAT("'messages':[{'role':'us\\u0000er','content':'a'}]"), 400, "'role' of message 1 must be"},
    {CHAT("'messages':[{'role':'tool','content':'a'}]"), 400, "message 1 has the role 'tool'"},
    {CHAT("'messages':[{'role':'system','content':'a'}]"), 400, "there is no message of the user"},
    {CHAT("'messages':[{'role':'user','content':null}]"), 400, "'content' of message 1 is nothing"},
    {CHAT("'messages':[{'role':'user','content':[{'type':'image_url'}]}]"), 400,
     "a part of the type 'image_url'; this server takes text"},
    {CHAT("'messages':[{'role':'user','content':[{'type':'text'}]}]"), 400, "a part whose 'text' is nothing"},
    {CHAT("'messages':[{'role':'user','content':'a','tool_calls':[{}]}]"), 400, "'tool_calls' is not supported"},
    {CHAT(HI ",'max_tokens':1,'max_completion_tokens':1"), 400,
     "'max_completion_tokens' and 'max_tokens' mean the same"},
    {CHAT(HI ",'max_completion_tokens':0"), 400, "'max_completion_tokens' is 0"},
    {CHAT(HI ",'logprobs':true,'top_logprobs':2"), 400, "'top_logprobs' is not supported"},
    {CHAT(HI ",'logprobs':0"), 400, "'logprobs' is a number; it must be true or false"},
    {CHAT(HI ",'tools':[{}]"), 400, "'tools' is not supported"},
    {CHAT(HI ",'add_generation_prompt':false"), 400, "'add_generation_prompt'"},
    {CHAT(HI ",'chat_template':'x'"), 400, "'chat_template' is not supported"},
    {"/embed", "{}", 422, "'inputs' is missing"},
    {"/embed", "{'inputs':''}", 400, "'inputs' has no text in it"},
    {"/embed", "{'inputs':[]}", 400, "'inputs' is an empty list"},
    {"/embed", "{'inputs':['a','a','a','a']}", 422, "'inputs' has 4 texts, and this server takes at most 3"},
    {"/embed", "{'inputs':'a','normalize':1}", 422, "'normalize' is a number"},
    {"/embed", "{'inputs':'a','truncation_direction':'Left'}", 422, "'truncation_direction' is not supported"},
    {"/embed", "{'inputs':'a','prompt_name':'query'}", 422, "'prompt_name' is not supported"},
    {"/embed", "{'inputs':'a','dimensions':5}", 422, "'dimensions' must be 2"},
    {"/v1/embeddings", "{'input':'a','encoding_format':'int8'}", 400, "'encoding_format' must be float or base64"},
    {"/v1/embeddings", "{'input':'a','truncate_prompt_tokens':3}", 400, "'truncate_prompt_tokens' is not supported"},
    {"/v1/embeddings", "{'input':''}", 400, "'input' has no text in it"},
    {"/v1/embeddings", "{'input':'a','model':'ada'}", 404, "there is no model 'ada' here"},
};

static void check_refused(const struct refused *r, const char *body, size_t bytes)
{
    const struct mf_route *route = find(r->path);
    struct mf_ask ask;
    const int rc = mf_route_read(route, served_by(r->path), body, bytes, &ask);

    CHECK_SAYS((rc == r->status || (rc == 400 && strstr(r->says, "not JSON"))) && strstr(mf_err_text(), r->says),
               "%s %.200s: %d %s; want %d ..%s..", r->path, body, rc, rc ? mf_err_text() : "", r->status, r->says);
    mf_ask_free(&ask);
}

static void check_refusals(void)
{
    char *brackets = malloc(1000000);
    const struct refused deep = {"/v1/completions", "", 400, "not JSON"};

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        char *body = json_of(refusals[i].body);

        check_refused(&refusals[i], body, strlen(body));
        free(body);
    }
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

static const float vector[] = {0.5f, -0.1f};

struct written {
    const char *path, *body, *says; /* .. whole, or as a stream */
};

#define E_ACUTE "\xC3\xA9"
#define TOKEN_1 "{'id':5,'text':'a','logprob':-0.5,'special':false}"
#define TOKEN_2 "{'id':6,'text':'" E_ACUTE "','logprob':-0.25,'special':false}"
#define USAGE   "'usage':{'prompt_tokens':3,'completion_tokens':2,'total_tokens':5}"
#define DONE    "data: [DONE]\n\n"

#define COMPLETION                                                                  \
    "'id':'cmpl-7','object':'text_completion','created':1700000001,'model':'tiny'," \
    "'system_fingerprint':'mesoforge-1.0'"
#define CHUNK(words)     "data: {" COMPLETION ",'choices':[" words "}\n\n"
#define ONE(text, ended) "{'index':0,'text':'" text "','logprobs':null,'finish_reason':" ended "}]"

#define CHAT_OF(kind)                                                                 \
    "'id':'chatcmpl-7','object':'chat." kind "','created':1700000001,'model':'tiny'," \
    "'system_fingerprint':'mesoforge-1.0'"
#define CHAT_CHUNK(words) "data: {" CHAT_OF("completion.chunk") ",'choices':[{'index':0,'delta':{" words "}]}\n\n"
#define LIKELY(text, of_it, bytes) \
    "[{'token':'" text "','logprob':" of_it ",'bytes':[" bytes "],'top_logprobs':[]}],'refusal':null}"

#define VECTORS(words) \
    "{'object':'list','model':'small','usage':{'prompt_tokens':3,'total_tokens':3},'data':[{" words "}]}"

static const struct written answers[] = {
    {"/generate", "{'inputs':'Hi'}", "{'generated_text':'a" E_ACUTE "'}"},
    {"/generate", "{'inputs':'Hi','parameters':{'return_full_text':true}}", "{'generated_text':'Hia" E_ACUTE "'}"},
    {"/", "{'inputs':'Hi','parameters':{'details':true}}",
     "[{'generated_text':'a" E_ACUTE "','details':{'finish_reason':'eos_token','generated_tokens':2,'seed':null,"
     "'prefill':[],'tokens':[" TOKEN_1 "," TOKEN_2 "]}}]"},
    {"/generate_stream", "{'inputs':'Hi','parameters':{'details':true,'do_sample':true,'seed':9}}",
     "data: {'index':1,'token':" TOKEN_1 ",'generated_text':null,'details':null}\n\n"
     "data: {'index':2,'token':" TOKEN_2 ",'generated_text':'a" E_ACUTE "','details':{'finish_reason':'eos_token',"
     "'generated_tokens':2,'seed':9,'input_length':3}}\n\n"},
    {"/v1/completions", "{'prompt':'Hi','temperature':0}",
     "{" COMPLETION ",'choices':[" ONE("a" E_ACUTE, "'stop'") "," USAGE "}"},
    {"/v1/completions", "{'prompt':'Hi','temperature':0,'logprobs':0}",
     "{" COMPLETION ",'choices':[{'index':0,'text':'a" E_ACUTE "','logprobs':{'tokens':['a','" E_ACUTE "'],"
     "'token_logprobs':[-0.5,-0.25],'top_logprobs':null,'text_offset':[0,1]},'finish_reason':'stop'}]," USAGE "}"},
    {"/v1/completions", "{'prompt':'Hi','temperature':0,'stream':true}",
     CHUNK(ONE("a", "null")) CHUNK(ONE(E_ACUTE, "'stop'")) DONE},
    {"/v1/completions",
     "{'prompt':'Hi','temperature':0,'stream':true,'echo':true,'stream_options':{'include_usage':true}}",
     CHUNK(ONE("Hi", "null") ",'usage':null") CHUNK(ONE("a", "null") ",'usage':null")
         CHUNK(ONE(E_ACUTE, "'stop'") ",'usage':null") CHUNK("]," USAGE) DONE},
    {"/v1/chat/completions", "{" HI ",'temperature':0}",
     "{" CHAT_OF("completion") ",'choices':[{'index':0,'message':{'role':'assistant','content':'a" E_ACUTE
                               "','refusal':null},'logprobs':null,'finish_reason':'stop'}]," USAGE "}"},
    {"/v1/chat/completions", "{" HI ",'temperature':0,'stream':true,'logprobs':true}",
     CHAT_CHUNK("'role':'assistant','content':''},'logprobs':null,'finish_reason':null")
         CHAT_CHUNK("'content':'a'},'logprobs':{'content':" LIKELY("a", "-0.5", "97") ",'finish_reason':null")
             CHAT_CHUNK("'content':'" E_ACUTE
                        "'},'logprobs':{'content':" LIKELY(E_ACUTE, "-0.25", "195,169") ","
                                                                                        "'finish_reason':'stop'") DONE},
    {"/embed", "{'inputs':'a'}", "[[0.5,-0.100000001]]"},
    {"/v1/embeddings", "{'input':'a'}", VECTORS("'object':'embedding','index':0,'embedding':[0.5,-0.100000001]")},
    {"/v1/embeddings", "{'input':'a','encoding_format':'base64'}",
     VECTORS("'object':'embedding','index':0,'embedding':'AAAAP83MzL0='")},
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

static void check_answer(const struct written *a, const char *body, const char *want)
{
    const struct mf_route *route = find(a->path);
    const struct mf_served *facts = served_by(a->path);
    struct mf_bytes out = {0}, text = {.at = (char *)"a\xC3\xA9", .count = 3};
    struct mf_ask ask;
    struct mf_said said;

    CHECK(mf_route_read(route, facts, body, strlen(body), &ask) == 0);
    for (uint32_t k = 0; k < 3; ++k) mf_tokens_put(&ask.prompt->tokens, k);
    said = (struct mf_said){ask.prompt, text, tokens, 2, MF_ENDED_BY_TOKEN, vector, 2, NULL, NULL};
    if (ask.streams)
        stream(route, facts, &ask, &said, &out);
    else
        route->whole(facts, &ask, &name, &said, &out);
    mf_bytes_put(&out, "", 1);
    CHECK_SAYS(strcmp(out.at, want) == 0, "%s %s: wrote\n%s\nwant\n%s", a->path, body, out.at, want);
    mf_bytes_free(&out);
    mf_ask_free(&ask);
}

static void check_written(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i) {
        char *body = json_of(answers[i].body), *want = json_of(answers[i].says);

        check_answer(&answers[i], body, want);
        free(body);
        free(want);
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
    {MF_ASK_VECTOR, ~0u, "POST", "/", 0, NULL, NULL},
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

    find(path)->error(status, "it ends", 1, &out);
    mf_bytes_put(&out, "", 1);
    CHECK_SAYS(strcmp(out.at, want) == 0, "%s: %s", path, out.at);
    mf_bytes_free(&out);
}

static void check_facts(enum mf_ask_kind kind, const char *path, const char *want)
{
    void (*error)(int, const char *, int, struct mf_bytes *);
    const char *allowed;
    struct mf_bytes out = {0};
    int status;
    const struct mf_route *route = mf_route_find(&served[kind], ~0u, "GET", path, &status, &allowed, &error);

    CHECK(route && route->does == MF_ROUTE_FACTS);
    route->facts(&served[kind], &out);
    mf_bytes_put(&out, "", 1);
    CHECK_SAYS(strcmp(out.at, want) == 0, "%s: %s", path, out.at);
    mf_bytes_free(&out);
}

/* -- whatever comes -- */

static void check_changed(const struct read *r, long changes)
{
    char *sound = json_of(r->body), body[1024];
    const size_t bytes = strlen(sound);

    CHECK(bytes < sizeof body);
    for (long k = 0; k < changes && bytes < sizeof body; ++k) {
        struct mf_ask ask;
        int rc;

        memcpy(body, sound, bytes);
        rc = mf_route_read(find(r->path), served_by(r->path), body, mutate(body, bytes), &ask);
        CHECK(rc == 0 || ((rc == 400 || rc == 404 || rc == 422) && *mf_err_text()));
        CHECK(rc != 0 || ask.prompts > 0);
        mf_ask_free(&ask);
    }
    free(sound);
}

int main(int argc, char **argv)
{
    struct mf_chat *chat = NULL;

    NEEDS(1, "CHANGES");
    CHECK(mf_chat_open("chatml", "/", &chat) == MF_OK);
    served[MF_ASK_TEXT].chat = chat;
    check_reads();
    check_drawn();
    check_refusals();
    check_written();
    check_lost();
    check_error("/generate_stream", 500, "data: {\"error\":\"it ends\",\"error_type\":\"generation\"}\n\n");
    check_error("/v1/completions", 503, "data: " EVENT("it ends", "service_unavailable", "503") "\n\ndata: [DONE]\n\n");
    check_facts(MF_ASK_TEXT, "/v1/models",
                "{\"object\":\"list\",\"data\":[{\"id\":\"tiny\",\"object\":\"model\",\"created\":1700000000,"
                "\"owned_by\":\"mesoforge\",\"max_model_len\":60}]}");
    check_facts(MF_ASK_TEXT, "/info",
                "{\"model_id\":\"tiny\",\"model_dtype\":\"bf16\",\"model_pipeline_tag\":\"text-generation\","
                "\"max_concurrent_requests\":8,\"max_best_of\":1,\"max_stop_sequences\":4,\"max_input_tokens\":48,"
                "\"max_total_tokens\":60,\"max_client_batch_size\":1,\"router\":\"mesoforge\",\"version\":\"1.0\","
                "\"model_sha\":null,\"docker_label\":null}");
    check_facts(
        MF_ASK_VECTOR, "/info",
        "{\"model_id\":\"small\",\"model_dtype\":\"fp32\",\"model_type\":{\"embedding\":{\"pooling\":\"mean\"}},"
        "\"max_concurrent_requests\":8,\"max_input_length\":64,\"max_client_batch_size\":3,\"version\":\"1.0\","
        "\"auto_truncate\":true,\"model_sha\":null,\"docker_label\":null}");
    for (size_t i = 0; i < sizeof reads / sizeof *reads; ++i) check_changed(&reads[i], strtol(argv[1], NULL, 10));
    CHECK(mf_dialect_of("vllm") == MF_DIALECT_OPENAI && mf_dialect_of("ollama") == 0);
    mf_chat_close(chat);
    return failures != 0;
}
