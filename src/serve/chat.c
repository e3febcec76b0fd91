/* See chat.h. */
#include "src/serve/chat.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/serve/chat_forms.h"
#include "src/serve/chat_read.h"
#include "src/text/unicode.h"

struct mf_chat {
    struct mf_chat_form form;
    char *file;      /* text of a file, to which the form points */
    char *bos, *eos; /* tokens of the model; NULL: it says none */
};

const char *mf_chat_name(const struct mf_chat *chat) { return chat->form.name; }

void mf_chat_close(struct mf_chat *chat)
{
    if (!chat) return;
    free(chat->file);
    free(chat->bos);
    free(chat->eos);
    free(chat);
}

/* -- opening -- */

/* Tokens that a form names, and the model does not. */
static const char *lacks(const struct mf_chat *chat)
{
    const char *texts[] = {chat->form.begin, chat->form.role[MF_CHAT_SYSTEM], chat->form.role[MF_CHAT_USER],
                           chat->form.role[MF_CHAT_ASSISTANT], chat->form.answer};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (texts[i] && strstr(texts[i], "{bos}") && !chat->bos) return "bos_token";
        if (texts[i] && strstr(texts[i], "{eos}") && !chat->eos) return "eos_token";
    }
    return NULL;
}

/* The form by its name, or of a file. */
static int find(const char *name, struct mf_chat *chat)
{
    const struct mf_chat_form *form = mf_chat_form_named(name);

    if (form) {
        chat->form = *form;
        return MF_OK;
    }
    return mf_chat_form_read(name, &chat->file, &chat->form);
}

static int open_named(const char *name, const char *folder, struct mf_chat *chat)
{
    const char *token;

    MF_TRY(find(name, chat));
    token = lacks(chat);
    if (!token) return MF_OK;
    return mf_fail(MF_INPUT,
                   "the chat template '%.200s' needs the model's %s, and '%.300s' names none; try: a file without it",
                   name, token, folder);
}

int mf_chat_open(const char *name, const char *folder, struct mf_chat **chat)
{
    struct mf_chat *c = MF_MUST(calloc(1, sizeof *c), "a chat template");
    const struct mf_chat_form *form = NULL;
    int rc = mf_chat_tokens(folder, &c->bos, &c->eos);

    *chat = NULL;
    if (rc == MF_OK) rc = name ? open_named(name, folder, c) : mf_chat_form_of(folder, &form);
    if (form) c->form = *form;
    if (rc == MF_OK && c->form.name && !lacks(c))
        *chat = c;
    else
        mf_chat_close(c);
    return rc;
}

/* -- writing -- */

static int is_space(uint32_t point) /* as of Python, whose templates trim */
{
    return mf_point_is_space(point) || (point >= 0x1C && point <= 0x1F);
}

/* The part of a text without white space around it. */
static struct mf_span trimmed(const char *text, size_t n)
{
    size_t first = 0, end = n, bytes;

    while (first < n && is_space(mf_point(text + first, &bytes))) first += bytes;
    while (end > first && is_space(mf_point_before(text + first, text + end))) {
        do --end;
        while (end > first && (text[end] & 0xC0) == 0x80);
    }
    return (struct mf_span){first, end - first};
}

/* Appends @p format, with @p text as a piece for {text}. */
static void say(const struct mf_chat *chat, const char *format, const char *text, size_t n, struct mf_pieces *to)
{
    while (*format) {
        const size_t plain = strcspn(format, "{");

        mf_bytes_put(&to->text, format, plain);
        format += plain;
        if (strncmp(format, "{text}", 6) == 0) {
            mf_pieces_put(to, text, n);
            format += 6;
        } else if (strncmp(format, "{bos}", 5) == 0 || strncmp(format, "{eos}", 5) == 0) {
            const char *token = format[1] == 'b' ? chat->bos : chat->eos;

            mf_bytes_put(&to->text, token, strlen(token));
            format += 5;
        } else if (*format) {
            mf_bytes_put(&to->text, format++, 1);
        }
    }
}

static enum mf_chat_role role_of(const char *word)
{
    enum mf_chat_role role = 0;

    while (role < MF_CHAT_ROLES && strcmp(word, mf_chat_roles[role]) != 0) ++role;
    return role;
}

static int check(const struct mf_chat *chat, size_t messages, const struct mf_chat_message *message)
{
    const struct mf_chat_form *f = &chat->form;
    const size_t begin = messages && role_of(message->role) == MF_CHAT_SYSTEM;

    if (messages == begin) return mf_fail(MF_USAGE, "there is no message of the user or the assistant");
    for (size_t i = 0; i < messages; ++i) {
        const enum mf_chat_role role = role_of(message[i].role),
                                turn = (i - begin) % 2 ? MF_CHAT_ASSISTANT : MF_CHAT_USER;

        if (role == MF_CHAT_ROLES || !(f->role[role] || (role == MF_CHAT_SYSTEM && f->wrap)))
            return mf_fail(MF_USAGE, "message %zu has the role '%.40s', which the chat template %.100s has not", i + 1,
                           message[i].role, f->name);
        if (f->alternates && i >= begin && role != turn)
            return mf_fail(MF_USAGE,
                           "message %zu is of the %s; with the chat template %.100s user and assistant alternate",
                           i + 1, message[i].role, f->name);
    }
    return MF_OK;
}

/* A message; @p before: a text of the system in front of it, or NULL. */
static void say_message(const struct mf_chat *chat, const struct mf_chat_message *m,
                        const struct mf_chat_message *before, struct mf_pieces *to)
{
    struct mf_pieces said = {0};
    struct mf_bytes *text = &said.text;
    struct mf_span part;

    if (before) say(chat, chat->form.wrap, before->text, before->bytes, &said);
    mf_bytes_put(text, m->text, m->bytes);
    part = chat->form.trims ? trimmed(text->at, text->count) : (struct mf_span){0, text->count};
    say(chat, chat->form.role[role_of(m->role)], text->at ? text->at + part.first : "", part.count, to);
    mf_pieces_free(&said);
}

int mf_chat_write(const struct mf_chat *chat, size_t messages, const struct mf_chat_message *message,
                  struct mf_pieces *prompt)
{
    const struct mf_chat_form *f = &chat->form;
    const struct mf_chat_message *before = NULL;
    int guided;

    MF_TRY(check(chat, messages, message));
    guided = role_of(message->role) == MF_CHAT_SYSTEM;
    say(chat, f->begin, "", 0, prompt);
    if (!guided && f->usual) {
        const struct mf_chat_message usual = {"system", f->usual, strlen(f->usual)};

        say_message(chat, &usual, NULL, prompt);
    }
    if (guided && f->wrap) {
        before = message++;
        --messages;
    }
    for (size_t i = 0; i < messages; ++i) say_message(chat, &message[i], i == 0 ? before : NULL, prompt);
    say(chat, f->answer, "", 0, prompt);
    return MF_OK;
}
