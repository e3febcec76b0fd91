/* Conversations are written as transformers writes them by the template of a model. The template is recognised word for
 * word. Others are not known, files with a line for each role are read, and wrong ones are refused. Argument: a folder
 * with templates and conversations.json. */
#include "src/serve/chat.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "tests/check.h"

static char folder[] = "/tmp/mesoforge-chat-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[2][512];
    static int next;

    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    CHECK(file && fwrite(text, 1, strlen(text), file) == strlen(text) && fclose(file) == 0);
}

#define TOKENS "\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"}"

/* -- as transformers -- */

static void check_row(const struct mf_chat *chat, const struct mf_json *row)
{
    const struct mf_json *list = mf_json_get(row, "messages"), *want = mf_json_get(row, "text");
    const size_t n = mf_json_count(list);
    struct mf_chat_message message[16];
    struct mf_pieces said = {0};
    const struct mf_bytes *text = &said.text;
    int rc;

    for (size_t i = 0; i < n && i < 16; ++i) {
        const struct mf_json *words = mf_json_item(mf_json_item(list, i), 1);

        message[i] = (struct mf_chat_message){mf_json_to_text(mf_json_item(mf_json_item(list, i), 0)),
                                              mf_json_to_text(words), mf_json_length(words)};
    }
    rc = mf_chat_write(chat, n, message, &said);
    CHECK_SAYS((rc == MF_OK) == (mf_json_kind(want) == MF_JSON_TEXT), "%s: %d %s", mf_chat_name(chat), rc,
               mf_err_text());
    if (rc == MF_OK)
        CHECK_SAYS(text->count == mf_json_length(want) && memcmp(text->at, mf_json_to_text(want), text->count) == 0,
                   "%s: '%.*s', want '%s'", mf_chat_name(chat), (int)text->count, text->at, mf_json_to_text(want));
    mf_pieces_free(&said);
}

/* @p form by its name, and the same by the template in a file, or in a member of one. */
static void check_form(const char *fixtures, const char *form, const struct mf_json *rows)
{
    char *file = mf_format("%s/%s.jinja", fixtures, form), *text = NULL, *config;
    struct mf_json *json = mf_json_parse("{" TOKENS "}"), *list = mf_json_parse("[{\"name\":\"default\"}]");
    size_t n;

    CHECK(mf_text_load(file, 1 << 20, &text, &n) == MF_OK);
    mf_json_text(mf_json_item(list, 0), "template", text ? text : "");
    mf_json_text(json, "chat_template", text ? text : "");
    for (int way = 0; way < 5; ++way) {
        struct mf_chat *chat = NULL;
        int rc;

        if (way == 2) mf_json_put(json, "chat_template", list);
        config = mf_json_string(json);
        put("tokenizer_config.json", way == 0 || way >= 3 ? "{" TOKENS "}" : config);
        if (way == 4) put("chat_template.json", config);
        free(config);
        if (way == 3) put("chat_template.jinja", text ? text : "");
        rc = mf_chat_open(way == 0 ? form : NULL, folder, &chat);
        CHECK_SAYS(rc == MF_OK && chat && strcmp(mf_chat_name(chat), form) == 0, "%s, way %d: %d", form, way, rc);
        for (size_t i = 0; chat && i < mf_json_count(rows); ++i)
            if (strcmp(mf_json_get_text(mf_json_item(rows, i), "form"), form) == 0)
                check_row(chat, mf_json_item(rows, i));
        mf_chat_close(chat);
        (void)remove(path_of("chat_template.jinja"));
    }
    (void)remove(path_of("chat_template.json"));
    mf_json_free(json);
    free(text);
    free(file);
}

/* -- templates that are not known, tokens that lack -- */

static void check_unknown(void)
{
    struct mf_chat *chat;

    put("tokenizer_config.json", "{" TOKENS ",\"chat_template\":\"{{ messages }}\"}");
    CHECK(mf_chat_open(NULL, folder, &chat) == MF_OK && !chat);
    put("tokenizer_config.json", "{}");
    CHECK(mf_chat_open(NULL, folder, &chat) == MF_OK && !chat);
    CHECK(mf_chat_open("chatml", folder, &chat) == MF_OK && chat);
    mf_chat_close(chat);
    CHECK(mf_chat_open("zephyr", folder, &chat) == MF_INPUT && !chat && strstr(mf_err_text(), "eos_token"));
    CHECK(mf_chat_open("nowhere", folder, &chat) == MF_USAGE && !chat && strstr(mf_err_text(), "try: chatml"));
    put("tokenizer_config.json", "{");
    CHECK(mf_chat_open(NULL, folder, &chat) == MF_INPUT && !chat);
    put("tokenizer_config.json", "{" TOKENS "}");
}

/* -- files with a line for each role -- */

static void check_file(void)
{
    const struct mf_chat_message said[] = {{"user", "Hi\\n {eos}", 10}, {"assistant", "{", 1}, {"user", "", 0}};
    const struct mf_chat_message guided[] = {{"system", "x", 1}, {"user", "y", 1}};
    struct mf_pieces text = {0};
    struct mf_chat *chat;

    put("form", "# a comment\nbegin {bos}\n\nuser U: {text}\\n\r\nassistant A: {text}{eos}\\\\\\n\nanswer A:");
    CHECK(mf_chat_open(path_of("form"), folder, &chat) == MF_OK && chat);
    if (!chat) return;
    CHECK(mf_chat_write(chat, 3, said, &text) == MF_OK);
    mf_bytes_put(&text.text, "", 1);
    CHECK(text.count == 3 && text.span[0].first == 6 && text.span[0].count == 10 && text.span[2].count == 0);
    CHECK_SAYS(strcmp(text.text.at, "<s>U: Hi\\n {eos}\nA: {</s>\\\nU: \nA:") == 0, "%s", text.text.at);
    CHECK(mf_chat_write(chat, 2, guided, &text) == MF_USAGE && strstr(mf_err_text(), "has the role 'system'"));
    CHECK(mf_chat_write(chat, 0, NULL, &text) == MF_USAGE);
    mf_pieces_free(&text);
    mf_chat_close(chat);
}

static void check_wrong_files(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "no line of 'user'"},
        {"user {text}", "no line of 'answer'"},
        {"user text\nanswer", "line 1: the text of a message, {text}, is not in it"},
        {"user {text}\nuser {text}\nanswer", "line 2: a second line of 'user'"},
        {"person {text}", "line 1: 'person' is none of"},
        {"user {text}\\t\nanswer", "line 1: a backslash"},
        {"user {text}\xFF\nanswer", "in UTF-8"},
    };
    struct mf_chat *chat;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        put("form", wrong[i].text);
        CHECK_SAYS(mf_chat_open(path_of("form"), folder, &chat) == MF_INPUT && !chat &&
                       strstr(mf_err_text(), wrong[i].says),
                   "'%s': %s", wrong[i].text, mf_err_text());
    }
    (void)remove(path_of("form"));
}

int main(int argc, char **argv)
{
    static const char *const forms[] = {"chatml", "llama2", "llama3", "mistral", "zephyr"};
    struct mf_json *rows = NULL;
    char *path;

    NEEDS(1, "FOLDER");
    CHECK(mkdtemp(folder));
    path = mf_format("%s/conversations.json", argv[1]);
    CHECK(mf_json_load(path, 1 << 20, &rows) == MF_OK && mf_json_count(rows) >= 45);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) check_form(argv[1], forms[i], rows);
    check_unknown();
    check_file();
    check_wrong_files();
    mf_json_free(rows);
    free(path);
    (void)remove(path_of("tokenizer_config.json"));
    CHECK(remove(folder) == 0);
    return failures != 0;
}
