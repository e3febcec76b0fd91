/* See prompts.h. */
#include "src/cmd/learn/prompts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/text/unicode.h"

enum { FILE_MOST = 1 << 28 };
static const char INPUT[] = "/dev/stdin";

struct reading {
    const struct mf_comm *comm;
    const struct mf_prompt_opts *opts;
    const char *folder;
    struct mf_tokenizer **tokenizer;
    unsigned how;
    int (*take)(void *context, struct mf_prompt *prompt);
    void *context;
};

void mf_prompt_free(struct mf_prompt *p)
{
    mf_bytes_free(&p->text[0]);
    mf_bytes_free(&p->text[1]);
    mf_tokens_free(&p->tokens);
    mf_tokens_free(&p->types);
}

int mf_prompts_check(const struct mf_prompt_opts *o)
{
    const int given = (o->prompt != NULL) + (o->prompts != NULL) + (o->tokens.count > 0) + (o->texts.count > 0);

    if (given == 1) return MF_OK;
    return mf_fail(MF_USAGE, given ? "--prompt, --prompts and --tokens contradict each other; leave one of them"
                                   : "no text and no numbers; try: --prompt TEXT, --prompts FILE or --tokens 12,7,9");
}

/* Takes one more text, in which bytes that are no UTF-8 are replaced. */
static void add_text(struct mf_prompt *p, const char *text, size_t n)
{
    size_t lost;

    (void)mf_utf8_repair(text, n, 0, &p->text[p->texts++], &lost);
    if (lost) mf_warn("the text is not UTF-8: %zu place%s became U+FFFD", lost, MF_S(lost));
}

static int encode(const struct reading *r, struct mf_prompt *p)
{
    const char *const text[] = {p->text[0].at, p->text[1].at};
    const size_t n[] = {p->text[0].count, p->text[1].count};
    int rc;

    if (!*r->tokenizer) MF_TRY(mf_tokenizer_open(r->folder, r->tokenizer));
    if (p->texts > 1)
        rc = mf_tokenizer_encode_two(*r->tokenizer, text, n, r->how, &p->tokens, &p->types);
    else
        rc = mf_tokenizer_encode(*r->tokenizer, text[0], n[0], r->how, &p->tokens);
    if (rc == MF_OK && p->tokens.lost)
        mf_warn("the tokenizer has no token for %zu character%s of the text, which vanished", p->tokens.lost,
                MF_S(p->tokens.lost));
    return rc;
}

static int take_texts(const struct reading *r, struct mf_prompt *p)
{
    int rc = encode(r, p);

    if (rc == MF_OK) rc = r->take(r->context, p);
    mf_prompt_free(p);
    return rc;
}

static int take_text(const struct reading *r, const char *text, size_t n)
{
    struct mf_prompt p = {.texts = 0};

    add_text(&p, text, n);
    return take_texts(r, &p);
}

/* A text of a line, and a second one if there is one. */
static int take_row(const struct reading *r, const struct mf_json *first, const struct mf_json *second)
{
    struct mf_prompt p = {.texts = 0};

    add_text(&p, mf_json_to_text(first), mf_json_length(first));
    if (mf_json_kind(second) == MF_JSON_TEXT) add_text(&p, mf_json_to_text(second), mf_json_length(second));
    return take_texts(r, &p);
}

static int take_numbers(const struct reading *r, size_t count, double (*number)(const void *list, size_t i),
                        const void *list)
{
    const double most = *r->tokenizer ? (double)mf_tokenizer_numbers(*r->tokenizer) : 0x1p31;
    struct mf_prompt p = {.texts = 0};
    int rc = MF_OK;

    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        const double value = number(list, i);

        if (value >= 0 && value < most && value == (double)(uint32_t)value)
            mf_tokens_put(&p.tokens, (uint32_t)value);
        else
            rc = mf_fail(MF_INPUT, "no token has number %.17g; those of the tokenizer are 0 to %.17g", value, most - 1);
    }
    if (rc == MF_OK) rc = r->take(r->context, &p);
    mf_prompt_free(&p);
    return rc;
}

static double of_longs(const void *list, size_t i) { return (double)((const struct mf_longs *)list)->at[i]; }

static double of_json(const void *list, size_t i)
{
    const struct mf_json *value = mf_json_item(list, i);

    return mf_json_kind(value) == MF_JSON_REAL ? mf_json_to_real(value) : -1;
}

static int take_line(const struct reading *r, size_t number, const char *line, size_t n)
{
    const char *file = mf_prompts_file(r->opts);
    char why[200];
    struct mf_json *row = mf_json_parse_foreign(line, n, why, sizeof why);
    const struct mf_json *text = mf_json_get(row, "text"), *tokens = mf_json_get(row, "tokens");
    int rc;

    if (!row && !*why) return mf_room_none(n, "'%.300s' line %zu", file, number);
    if (!row) return mf_fail(MF_INPUT, "'%.300s' line %zu is not JSON: %s", file, number, why);
    if (mf_json_kind(text) != MF_JSON_NULL && mf_json_kind(tokens) != MF_JSON_NULL)
        rc = mf_fail(MF_INPUT, "'%.300s' line %zu has both \"text\" and \"tokens\"; leave one of them", file, number);
    else if (mf_json_kind(text) == MF_JSON_TEXT)
        rc = take_row(r, text, mf_json_get(row, "text_pair"));
    else if (mf_json_kind(tokens) == MF_JSON_ARRAY)
        rc = take_numbers(r, mf_json_count(tokens), of_json, tokens);
    else
        rc = mf_fail(MF_INPUT, "'%.300s' line %zu has neither \"text\": \"...\" nor \"tokens\": [..]", file, number);
    mf_json_free(row);
    return rc;
}

static int load_here(const char *path, char **text, size_t *n)
{
    struct stat s;
    const size_t most =
        stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_size < FILE_MOST ? (size_t)s.st_size : FILE_MOST;

    MF_TRY(mf_text_load(path, most, text, n));
    if (*n <= most) return MF_OK;
    free(*text);
    *text = NULL;
    return mf_fail(MF_INPUT, "'%.300s' is longer than %zu bytes", path, most);
}

/* Rank 0 loads. The caller frees *text. */
static int load(const struct reading *r, const char *path, char **text, size_t *n)
{
    const int is_first = r->comm->rank == 0;

    *n = 0;
    MF_TRY(mf_agree(r->comm, is_first ? load_here(path, text, n) : MF_OK));
    mf_comm_bcast(r->comm, 0, n, sizeof *n);
    if (!is_first) *text = MF_MUST(calloc(1, *n + 1), "a text");
    mf_comm_bcast(r->comm, 0, *text, *n);
    return MF_OK;
}

static int take_lines(const struct reading *r)
{
    char *text = NULL;
    size_t n, number = 1;
    int rc = MF_OK;

    MF_TRY(load(r, mf_prompts_file(r->opts), &text, &n));
    for (char *at = text, *end; rc == MF_OK && at < text + n; at = end + 1, ++number) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (!end) end = text + n;
        if (end > at) rc = take_line(r, number, at, (size_t)(end - at));
    }
    free(text);
    return rc;
}

static int take_prompt(const struct reading *r)
{
    const char *prompt = r->opts->prompt;
    char *text = NULL;
    size_t n;
    int rc;

    if (*prompt != '@' && strcmp(prompt, "-") != 0) return take_text(r, prompt, strlen(prompt));
    MF_TRY(load(r, *prompt == '@' ? prompt + 1 : INPUT, &text, &n));
    rc = take_text(r, text, n);
    free(text);
    return rc;
}

const char *mf_prompts_file(const struct mf_prompt_opts *o)
{
    return strcmp(o->prompts, "-") == 0 ? INPUT : o->prompts;
}

int mf_prompts_each(const struct mf_comm *comm, const struct mf_prompt_opts *opts, const char *folder,
                    struct mf_tokenizer **tokenizer, unsigned how, int (*take)(void *context, struct mf_prompt *prompt),
                    void *context)
{
    const struct reading r = {comm, opts, folder, tokenizer, how, take, context};

    for (size_t i = 0; i < opts->texts.count; ++i) MF_TRY(take_text(&r, opts->texts.at[i], strlen(opts->texts.at[i])));
    if (opts->texts.count) return MF_OK;
    if (opts->prompt) return take_prompt(&r);
    if (opts->prompts) return take_lines(&r);
    return take_numbers(&r, opts->tokens.count, of_longs, &opts->tokens);
}
