/* See chat_read.h. */
#include "src/serve/chat_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/base/utf8.h"

enum { MOST_BYTES = 64 << 20, MOST_VALUES = 4000000, MOST_FORM = 64 << 10 };

/* -- files of a model -- */

/* A JSON file of a folder; *json is NULL where there is none. */
static int load(const char *folder, const char *name, struct mf_json **json)
{
    char *path = mf_format("%s/%s", folder, name);
    int rc = MF_OK;

    *json = NULL;
    if (access(path, F_OK) == 0) rc = mf_json_load_foreign(path, MOST_BYTES, MOST_VALUES, json);
    free(path);
    return rc;
}

/* A token is a text, or an object with it. */
static char *token_of(const struct mf_json *json, const char *key)
{
    const struct mf_json *value = mf_json_get(json, key);
    const char *text = mf_json_to_text(mf_json_kind(value) == MF_JSON_OBJECT ? mf_json_get(value, "content") : value);

    return *text ? MF_MUST(strdup(text), "a token") : NULL;
}

int mf_chat_tokens(const char *folder, char **bos, char **eos)
{
    static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json"};

    *bos = *eos = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        struct mf_json *json;

        MF_TRY(load(folder, names[i], &json));
        if (!*bos) *bos = token_of(json, "bos_token");
        if (!*eos) *eos = token_of(json, "eos_token");
        mf_json_free(json);
    }
    return MF_OK;
}

/* The template of a file: a text, or the one of a list that is named "default". */
static const struct mf_json *template_of(const struct mf_json *json)
{
    const struct mf_json *value = mf_json_get(json, "chat_template");

    for (size_t i = 0; i < mf_json_count(value); ++i)
        if (strcmp(mf_json_get_text(mf_json_item(value, i), "name"), "default") == 0)
            return mf_json_get(mf_json_item(value, i), "template");
    return value;
}

/* *found: the folder has such a file, or such a member in it. */
static int look(const char *folder, const char *name, int *found, const struct mf_chat_form **form)
{
    const struct mf_json *text;
    struct mf_json *json;

    MF_TRY(load(folder, name, &json));
    text = template_of(json);
    *found = mf_json_kind(text) == MF_JSON_TEXT;
    if (*found) *form = mf_chat_form_written(mf_json_to_text(text), mf_json_length(text));
    mf_json_free(json);
    return MF_OK;
}

static int look_plain(const char *folder, int *found, const struct mf_chat_form **form)
{
    char *path = mf_format("%s/chat_template.jinja", folder), *text = NULL;
    size_t n = 0;
    int rc = MF_OK;

    *found = access(path, F_OK) == 0;
    if (*found) rc = mf_text_load(path, MOST_BYTES, &text, &n);
    if (text) *form = mf_chat_form_written(text, n);
    free(text);
    free(path);
    return rc;
}

int mf_chat_form_of(const char *folder, const struct mf_chat_form **form)
{
    int found;

    *form = NULL;
    MF_TRY(look_plain(folder, &found, form));
    if (!found) MF_TRY(look(folder, "tokenizer_config.json", &found, form));
    if (!found) MF_TRY(look(folder, "chat_template.json", &found, form));
    return MF_OK;
}

/* -- a file with a line for each role -- */

/* Replaces \n and \\ in a line. NULL, or the place of another one. */
static const char *unescape(char *line)
{
    char *to = line;

    for (const char *from = line; *from; ++from) {
        if (*from == '\\' && from[1] != 'n' && from[1] != '\\') return from;
        if (*from == '\\') {
            *to++ = *++from == 'n' ? '\n' : '\\';
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return NULL;
}

/* Where the text of a word belongs; *is_message: of a role. NULL: there is no such word. */
static const char **place_of(const char *word, size_t n, struct mf_chat_form *form, int *is_message)
{
    *is_message = 0;
    if (n == 5 && strncmp(word, "begin", n) == 0) return &form->begin;
    if (n == 6 && strncmp(word, "answer", n) == 0) return &form->answer;
    *is_message = 1;
    for (int r = 0; r < MF_CHAT_ROLES; ++r)
        if (strlen(mf_chat_roles[r]) == n && strncmp(word, mf_chat_roles[r], n) == 0) return &form->role[r];
    return NULL;
}

static int read_line(const char *path, int number, char *line, struct mf_chat_form *form)
{
    const size_t n = strcspn(line, " ");
    char *text = line + n + (line[n] == ' ');
    const char **place, *wrong;
    int is_message;

    if (*line == '\0' || *line == '#') return MF_OK;
    place = place_of(line, n, form, &is_message);
    if (!place)
        return mf_fail(MF_INPUT, "'%.300s', line %d: '%.*s' is none of begin, system, user, assistant and answer", path,
                       number, (int)(n < 40 ? n : 40), line);
    if (*place) return mf_fail(MF_INPUT, "'%.300s', line %d: a second line of '%.*s'", path, number, (int)n, line);
    wrong = unescape(text);
    if (wrong) return mf_fail(MF_INPUT, "'%.300s', line %d: a backslash stands before n or another one", path, number);
    if (is_message && !strstr(text, "{text}"))
        return mf_fail(MF_INPUT, "'%.300s', line %d: the text of a message, {text}, is not in it", path, number);
    *place = text;
    return MF_OK;
}

static int read_lines(const char *path, char *text, struct mf_chat_form *form)
{
    int number = 0;

    for (char *line = text; line; ++number) {
        char *end = strchr(line, '\n');

        if (end) *end = '\0';
        if (end && end > line && end[-1] == '\r') end[-1] = '\0';
        MF_TRY(read_line(path, number + 1, line, form));
        line = end ? end + 1 : NULL;
    }
    if (!form->role[MF_CHAT_USER]) return mf_fail(MF_INPUT, "'%.300s' has no line of 'user'", path);
    if (!form->answer) return mf_fail(MF_INPUT, "'%.300s' has no line of 'answer'", path);
    if (!form->begin) form->begin = "";
    return MF_OK;
}

int mf_chat_form_read(const char *path, char **text, struct mf_chat_form *form)
{
    size_t n = 0;

    *form = (struct mf_chat_form){.name = path};
    if (access(path, F_OK) != 0)
        return mf_fail(MF_USAGE,
                       "'%.300s' is no chat template, and no file; try: chatml, llama2, llama3, mistral, zephyr", path);
    MF_TRY(mf_text_load(path, MOST_FORM, text, &n));
    if (n > MOST_FORM || strlen(*text) != n || mf_utf8_wrong(*text))
        return mf_fail(MF_INPUT, "'%.300s' is no text of at most %d bytes in UTF-8", path, (int)MOST_FORM);
    return read_lines(path, *text, form);
}
