/* The dialect of OpenAI: conversations. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/serve/chat.h"
#include "src/serve/openai.h"

/* Appends the text of a part of a message. */
static void read_part(struct mf_body *b, size_t i, const struct mf_json *part, struct mf_bytes *text)
{
    const struct mf_json *words = mf_json_get(part, "text");

    if (!mf_body_is(mf_json_get(part, "type"), "text"))
        mf_body_refuse(b, "message %zu has a part of the type '%.40s'; this server takes text", i + 1,
                       mf_json_get_text(part, "type"));
    else if (mf_json_kind(words) != MF_JSON_TEXT)
        mf_body_refuse(b, "message %zu has a part whose 'text' is %s", i + 1, mf_json_kind_name(words));
    else
        mf_bytes_put(text, mf_json_to_text(words), mf_json_length(words));
}

/* The content of message @p i: text, or a list of parts, each of which begins a line. */
static void read_content(struct mf_body *b, size_t i, const struct mf_json *content, struct mf_bytes *text)
{
    if (mf_json_kind(content) == MF_JSON_TEXT)
        mf_bytes_put(text, mf_json_to_text(content), mf_json_length(content));
    else if (mf_json_kind(content) != MF_JSON_ARRAY)
        mf_body_refuse(b, "'content' of message %zu is %s; it must be text", i + 1, mf_json_kind_name(content));
    for (size_t k = 0; k < mf_json_count(content); ++k) {
        if (k > 0) mf_bytes_put(text, "\n", 1);
        read_part(b, i, mf_json_item(content, k), text);
    }
}

static void read_message(struct mf_body *b, size_t i, const struct mf_json *json, struct mf_chat_message *message,
                         struct mf_bytes *text)
{
    static const struct mf_unserved unserved[] = {{"audio", 0}, {"function_call", 0}, {"tool_calls", 0}, {NULL, 0}};
    const struct mf_json *role = mf_json_get(json, "role");
    struct mf_body own = *b;

    if (mf_json_kind(json) != MF_JSON_OBJECT) {
        mf_body_refuse(b, "message %zu is %s; it must be an object", i + 1, mf_json_kind_name(json));
        return;
    }
    own.json = json;
    mf_body_unserved(&own, unserved);
    if (mf_json_kind(role) != MF_JSON_TEXT || strlen(mf_json_to_text(role)) != mf_json_length(role))
        mf_body_refuse(&own, "'role' of message %zu must be system, user or assistant", i + 1);
    read_content(&own, i, mf_json_get(json, "content"), text);
    *message = (struct mf_chat_message){mf_json_to_text(role), text->at ? text->at : "", text->count};
    b->rc = own.rc;
}

/* Writes the messages as the template of the model has them. */
static void write_prompt(struct mf_body *b, const struct mf_served *served, size_t n,
                         const struct mf_chat_message *message, struct mf_ask *ask)
{
    struct mf_pieces written = {0};

    if (mf_chat_write(served->chat, n, message, &written) != MF_OK) mf_body_refuse(b, "%s", mf_err_text());
    ask->prompt = MF_MUST(calloc(1, sizeof *ask->prompt), "a prompt");
    *ask->prompt = (struct mf_ask_prompt){.text = written.text, .user = written.span, .users = written.count};
    ask->prompts = 1;
}

static void read_messages(struct mf_body *b, const struct mf_served *served, struct mf_ask *ask)
{
    const struct mf_json *list = mf_body_get(b, "messages");
    const size_t n = mf_json_count(list);
    struct mf_chat_message *message = MF_MUST(calloc(n + 1, sizeof *message), "messages");
    struct mf_bytes *text = MF_MUST(calloc(n + 1, sizeof *text), "messages");

    if (!served->chat)
        mf_body_refuse(b, "the chat template of '%.200s' is not known; the server's option --chat-template names one",
                       served->model);
    if (mf_json_kind(list) != MF_JSON_ARRAY || n == 0)
        mf_body_refuse(b, "'messages' must be a list of messages, and not empty");
    for (size_t i = 0; i < n && !b->rc; ++i) read_message(b, i, mf_json_item(list, i), &message[i], &text[i]);
    if (!b->rc) write_prompt(b, served, n, message, ask);
    for (size_t i = 0; i < n; ++i) mf_bytes_free(&text[i]);
    free(message);
    free(text);
}

static void read_most(struct mf_body *b, struct mf_ask *ask)
{
    static const char *const names[] = {"max_completion_tokens", "max_tokens"};
    const int newer = mf_body_get(b, names[0]) != NULL;

    if (newer && mf_body_get(b, names[1]))
        mf_body_refuse(b, "'%s' and '%s' mean the same; give one", names[0], names[1]);
    ask->most = (size_t)mf_body_whole(b, names[!newer], 0, &mf_range_counts);
}

int mf_openai_read_chat(const struct mf_served *served, const struct mf_json *body, struct mf_ask *ask)
{
    static const struct mf_unserved unserved[] = {{"top_logprobs", 0}, {NULL, 0}};
    struct mf_body b = {.json = body, .refuses = 400, .empty = 400};

    ask->chats = 1;
    ask->bare = !mf_body_flag(&b, "add_special_tokens", 0);
    read_messages(&b, served, ask);
    mf_openai_common(&b, served, ask);
    mf_body_unserved(&b, unserved);
    read_most(&b, ask);
    ask->likely = mf_body_flag(&b, "logprobs", 0);
    if (!mf_body_flag(&b, "add_generation_prompt", 1))
        mf_body_refuse(&b, "'add_generation_prompt' is not supported with false");
    return b.rc;
}
