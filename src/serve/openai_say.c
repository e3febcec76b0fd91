/* The dialect of OpenAI: answers that continue texts. See openai.h. */
#include "src/serve/openai.h"
#include "src/serve/say.h"

/* All answers and events begin with this. */
static struct mf_json *begin(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name)
{
    struct mf_json *body = mf_json_object();
    char id[64], program[64]; /* clients of TGI want the second */

    (void)snprintf(id, sizeof id, "%s-%llu", ask->chats ? "chatcmpl" : "cmpl", name->number);
    (void)snprintf(program, sizeof program, "mesoforge-%.40s", served->version);
    MF_JSON(body, "id", (const char *)id, "object",
            !ask->chats    ? "text_completion"
            : ask->streams ? "chat.completion.chunk"
                           : "chat.completion",
            "created", name->created, "model", served->model, "system_fingerprint", (const char *)program);
    return body;
}

static void put_ended(struct mf_json *choice, enum mf_ended ended)
{
    if (ended == MF_ENDED_NOT)
        mf_json_null(choice, "finish_reason");
    else
        mf_json_text(choice, "finish_reason", ended == MF_ENDED_BY_LENGTH ? "length" : "stop");
}

static void put_usage(struct mf_json *body, const struct mf_ask *ask, const struct mf_said *said)
{
    struct mf_json *usage = mf_json_object();
    size_t asked = 0, made = 0;

    for (size_t k = 0; k < ask->prompts; ++k) {
        asked += said[k].prompt->tokens.count;
        made += said[k].tokens;
    }
    MF_JSON(usage, "prompt_tokens", asked, "completion_tokens", made, "total_tokens", asked + made);
    mf_json_put(body, "usage", usage);
}

/* An event with one choice. */
static void say_choice(struct mf_json *event, const struct mf_ask *ask, struct mf_json *choice_take,
                       struct mf_bytes *to)
{
    struct mf_json *choices = mf_json_array();

    mf_json_put(choices, NULL, choice_take);
    mf_json_put(event, "choices", choices);
    if (ask->counts) mf_json_null(event, "usage"); /* the last event has it */
    mf_say_event(event, to);
}

void mf_openai_end(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                   const struct mf_said *said, struct mf_bytes *to)
{
    if (ask->counts) {
        struct mf_json *event = begin(served, ask, name);

        mf_json_put(event, "choices", mf_json_array());
        put_usage(event, ask, said);
        mf_say_event(event, to);
    }
    mf_bytes_put(to, "data: [DONE]\n\n", 14);
}

/* -- /v1/completions -- */

/* Log-probabilities of tokens @p from to @p to - 1. Offsets are counted in characters. */
static void put_likely(struct mf_json *choice, const struct mf_ask *ask, const struct mf_said *said, size_t from,
                       size_t to)
{
    struct mf_json *all, *texts, *likely, *offsets;
    size_t letters = 0, byte = 0;

    if (!ask->likely) {
        mf_json_null(choice, "logprobs");
        return;
    }
    all = mf_json_object(), texts = mf_json_array(), likely = mf_json_array(), offsets = mf_json_array();
    for (size_t i = 0; i < to; ++i) {
        const struct mf_span piece = mf_said_piece(said, i);

        for (; byte < piece.first; ++byte) letters += (said->text.at[byte] & 0xC0) != 0x80;
        if (i < from) continue;
        mf_say_piece(texts, NULL, said, i);
        mf_json_finite(likely, NULL, said->token[i].log_probability);
        mf_json_size(offsets, NULL, letters);
    }
    MF_JSON(all, "tokens", texts, "token_logprobs", likely);
    mf_json_null(all, "top_logprobs");
    mf_json_put(all, "text_offset", offsets);
    mf_json_put(choice, "logprobs", all);
}

void mf_openai_completion(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          const struct mf_said *said, struct mf_bytes *to)
{
    struct mf_json *body = begin(served, ask, name), *choices = mf_json_array();

    for (size_t k = 0; k < ask->prompts; ++k) {
        struct mf_json *choice = mf_json_object();

        mf_json_size(choice, "index", k);
        if (ask->echoes)
            mf_say_both(choice, "text", &said[k]);
        else
            mf_say_text(choice, "text", &said[k].text);
        put_likely(choice, ask, &said[k], 0, said[k].tokens);
        put_ended(choice, said[k].ended);
        mf_json_put(choices, NULL, choice);
    }
    mf_json_put(body, "choices", choices);
    put_usage(body, ask, said);
    mf_say_json(body, to);
}

void mf_openai_completion_begin(const struct mf_served *served, const struct mf_ask *ask,
                                const struct mf_ask_name *name, struct mf_bytes *to)
{
    for (size_t k = 0; k < ask->prompts && ask->echoes; ++k) {
        struct mf_json *choice = mf_json_object();

        mf_json_size(choice, "index", k);
        mf_say_text(choice, "text", &ask->prompt[k].text);
        mf_json_null(choice, "logprobs");
        mf_json_null(choice, "finish_reason");
        say_choice(begin(served, ask, name), ask, choice, to);
    }
}

/* Says a token something? Not all of a character may have come, or what may begin a stop. */
static int says(const struct mf_ask *ask, const struct mf_said *said, size_t i)
{
    return ask->likely || mf_said_all(said, i) || mf_said_piece(said, i).count > 0;
}

void mf_openai_completion_token(const struct mf_served *served, const struct mf_ask *ask,
                                const struct mf_ask_name *name, const struct mf_said *said, size_t k, size_t token,
                                struct mf_bytes *to)
{
    struct mf_json *choice;

    if (!says(ask, &said[k], token)) return;
    choice = mf_json_object();
    mf_json_size(choice, "index", k);
    mf_say_piece(choice, "text", &said[k], token);
    put_likely(choice, ask, &said[k], token, token + 1);
    put_ended(choice, mf_said_all(&said[k], token) ? said[k].ended : MF_ENDED_NOT);
    say_choice(begin(served, ask, name), ask, choice, to);
}

/* -- /v1/chat/completions -- */

static void put_chat_likely(struct mf_json *choice, const struct mf_ask *ask, const struct mf_said *said, size_t from,
                            size_t to)
{
    struct mf_json *all, *content;

    if (!ask->likely) {
        mf_json_null(choice, "logprobs");
        return;
    }
    all = mf_json_object(), content = mf_json_array();
    for (size_t i = from; i < to; ++i) {
        struct mf_json *row = mf_json_object(), *bytes = mf_json_array();
        const struct mf_span piece = mf_said_piece(said, i);

        mf_say_piece(row, "token", said, i);
        mf_json_finite(row, "logprob", said->token[i].log_probability);
        for (size_t k = 0; k < piece.count; ++k)
            mf_json_int(bytes, NULL, (unsigned char)said->text.at[piece.first + k]);
        MF_JSON(row, "bytes", bytes, "top_logprobs", mf_json_array());
        mf_json_put(content, NULL, row);
    }
    mf_json_put(all, "content", content);
    mf_json_null(all, "refusal");
    mf_json_put(choice, "logprobs", all);
}

void mf_openai_chat(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                    const struct mf_said *said, struct mf_bytes *to)
{
    struct mf_json *body = begin(served, ask, name), *choices = mf_json_array(), *choice = mf_json_object(),
                   *message = mf_json_object();

    mf_json_text(message, "role", "assistant");
    mf_say_text(message, "content", &said->text);
    mf_json_null(message, "refusal");
    MF_JSON(choice, "index", 0, "message", message);
    put_chat_likely(choice, ask, said, 0, said->tokens);
    put_ended(choice, said->ended);
    mf_json_put(choices, NULL, choice);
    mf_json_put(body, "choices", choices);
    put_usage(body, ask, said);
    mf_say_json(body, to);
}

void mf_openai_chat_begin(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          struct mf_bytes *to)
{
    struct mf_json *choice = mf_json_object(), *delta = mf_json_object();

    MF_JSON(delta, "role", "assistant", "content", "");
    MF_JSON(choice, "index", 0, "delta", delta);
    mf_json_null(choice, "logprobs");
    mf_json_null(choice, "finish_reason");
    say_choice(begin(served, ask, name), ask, choice, to);
}

void mf_openai_chat_token(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                          const struct mf_said *said, size_t k, size_t token, struct mf_bytes *to)
{
    struct mf_json *choice, *delta;

    if (!says(ask, &said[k], token)) return;
    choice = mf_json_object(), delta = mf_json_object();
    mf_say_piece(delta, "content", &said[k], token);
    MF_JSON(choice, "index", 0, "delta", delta);
    put_chat_likely(choice, ask, &said[k], token, token + 1);
    put_ended(choice, mf_said_all(&said[k], token) ? said[k].ended : MF_ENDED_NOT);
    say_choice(begin(served, ask, name), ask, choice, to);
}
