/* infer tokens: texts to the numbers of a tokenizer and back, without the weights of its model. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/text/tokenizer.h"
#include "src/text/unicode.h"

enum { FILE_MOST = 1 << 28 };

struct tokens_cmd {
    const char *prompt, *prompts;
    struct mf_longs tokens;
    int bare, literal, special, json;
};

static const struct mf_opt rows[] = {
    MF_OPT(tokens_cmd, "prompt", prompt, MF_TEXT, NULL, "a text, @FILE, or - (standard input): to numbers"),
    MF_OPT(tokens_cmd, "prompts", prompts, MF_TEXT, NULL,
           "a file with a JSON object in each line: {\"text\": \"...\"} to numbers, {\"tokens\": [..]} to text"),
    MF_OPT(tokens_cmd, "tokens", tokens, MF_LONGS, NULL, "numbers, as 12,7,9: to text"),
    MF_OPT(tokens_cmd, "bare", bare, MF_FLAG, NULL, "put no special tokens around a text"),
    MF_OPT(tokens_cmd, "literal", literal, MF_FLAG, NULL, "special tokens that stand in a text are text"),
    MF_OPT(tokens_cmd, "special", special, MF_FLAG, NULL, "special tokens are part of a text that is made of numbers"),
    MF_OPT(tokens_cmd, "json", json, MF_FLAG, NULL, "print results as JSON, with the text of every token"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, NULL};

struct job {
    const struct tokens_cmd *o;
    struct mf_tokenizer *tokenizer;
    struct mf_json *results; /* NULL: plain lines */
};

/* A question: numbers of one text or of two, or the text of numbers. */
struct asked {
    struct mf_bytes text[2];
    size_t texts; /* 0: numbers are given */
    struct mf_tokens tokens, types;
};

static void free_asked(struct asked *a)
{
    mf_bytes_free(&a->text[0]);
    mf_bytes_free(&a->text[1]);
    mf_tokens_free(&a->tokens);
    mf_tokens_free(&a->types);
}

static void put_text(struct mf_json *row, const char *key, const struct mf_bytes *text)
{
    mf_json_bytes(row, key, text->count ? text->at : "", text->count);
}

static void put_numbers(struct mf_json *row, const char *key, const struct mf_tokens *tokens)
{
    struct mf_json *numbers = mf_json_array();

    for (size_t i = 0; i < tokens->count; ++i) mf_json_int(numbers, NULL, tokens->at[i]);
    mf_json_put(row, key, numbers);
}

/* One result: texts, numbers, the text of each, and what the numbers decode to. */
static void put_result(const struct job *job, const struct asked *a, const struct mf_bytes *decoded)
{
    struct mf_json *row = mf_json_object(), *pieces = mf_json_array();

    for (size_t i = 0; i < a->tokens.count; ++i) {
        size_t n;
        const char *piece = mf_tokenizer_piece(job->tokenizer, a->tokens.at[i], &n);

        mf_json_bytes(pieces, NULL, piece, n);
    }
    if (a->texts > 0) put_text(row, "text", &a->text[0]);
    if (a->texts > 1) put_text(row, "text_pair", &a->text[1]);
    put_numbers(row, "tokens", &a->tokens);
    if (a->texts > 1) put_numbers(row, "types", &a->types);
    mf_json_put(row, "pieces", pieces);
    put_text(row, "decoded", decoded);
    if (a->texts > 0) mf_json_size(row, "lost", a->tokens.lost);
    mf_json_put(job->results, NULL, row);
}

static int tell(const struct job *job, const struct asked *a)
{
    struct mf_bytes decoded = {0};
    int rc = MF_OK;

    if (a->texts == 0 || job->results)
        rc = mf_tokenizer_decode(job->tokenizer, a->tokens.at, a->tokens.count, job->o->special, &decoded);
    if (rc == MF_OK && job->results)
        put_result(job, a, &decoded);
    else if (rc == MF_OK && a->texts > 0) {
        for (size_t i = 0; i < a->tokens.count; ++i) printf("%s%u", i ? " " : "", a->tokens.at[i]);
        printf("\n");
    } else if (rc == MF_OK) {
        fwrite(decoded.at ? decoded.at : "", 1, decoded.count, stdout);
        printf("\n");
    }
    mf_bytes_free(&decoded);
    return rc;
}

/* Takes one more text, in which bytes that are no UTF-8 are replaced. */
static void add_text(struct asked *a, const char *text, size_t n)
{
    size_t lost;

    (void)mf_utf8_repair(text, n, 0, &a->text[a->texts++], &lost);
    if (lost) mf_warn("the text is not UTF-8: %zu place%s became U+FFFD", lost, MF_S(lost));
}

static int to_numbers(const struct job *job, struct asked *a)
{
    const unsigned how = (job->o->bare ? MF_ENCODE_BARE : 0u) | (job->o->literal ? MF_ENCODE_LITERAL : 0u);
    const char *const text[] = {a->text[0].at, a->text[1].at};
    const size_t n[] = {a->text[0].count, a->text[1].count};
    int rc;

    if (a->texts > 1)
        rc = mf_tokenizer_encode_two(job->tokenizer, text, n, how, &a->tokens, &a->types);
    else
        rc = mf_tokenizer_encode(job->tokenizer, text[0], n[0], how, &a->tokens);
    if (rc == MF_OK && a->tokens.lost)
        mf_warn("the tokenizer has no token for %zu character%s of the text, which vanished", a->tokens.lost,
                MF_S(a->tokens.lost));
    return rc == MF_OK ? tell(job, a) : rc;
}

static int to_text(const struct job *job, size_t count, double (*number)(const void *list, size_t i), const void *list)
{
    struct asked a = {0};
    int rc = MF_OK;

    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        const double value = number(list, i);

        if (value >= 0 && value < (double)mf_tokenizer_numbers(job->tokenizer) && value == (double)(uint32_t)value)
            mf_tokens_put(&a.tokens, (uint32_t)value);
        else
            rc = mf_fail(MF_INPUT, "no token has number %.17g; those of the tokenizer are 0 to %zu", value,
                         mf_tokenizer_numbers(job->tokenizer) - 1);
    }
    if (rc == MF_OK) rc = tell(job, &a);
    free_asked(&a);
    return rc;
}

static double of_longs(const void *list, size_t i) { return (double)((const struct mf_longs *)list)->at[i]; }

static double of_json(const void *list, size_t i)
{
    const struct mf_json *value = mf_json_item(list, i);

    return mf_json_kind(value) == MF_JSON_REAL ? mf_json_to_real(value) : -1;
}

/* @p second: a second text, or none. */
static int take_texts(const struct job *job, const struct mf_json *first, const struct mf_json *second)
{
    struct asked a = {0};
    int rc;

    add_text(&a, mf_json_to_text(first), mf_json_length(first));
    if (mf_json_kind(second) == MF_JSON_TEXT) add_text(&a, mf_json_to_text(second), mf_json_length(second));
    rc = to_numbers(job, &a);
    free_asked(&a);
    return rc;
}

/* One line of --prompts. */
static int take_line(const struct job *job, const char *file, size_t number, const char *line, size_t n)
{
    char why[200];
    struct mf_json *row = mf_json_parse_foreign(line, n, why, sizeof why);
    const struct mf_json *text = mf_json_get(row, "text"), *tokens = mf_json_get(row, "tokens");
    int rc;

    if (!row) return mf_fail(MF_INPUT, "'%.300s' line %zu is not JSON: %s", file, number, why);
    if (mf_json_kind(text) == MF_JSON_TEXT)
        rc = take_texts(job, text, mf_json_get(row, "text_pair"));
    else if (mf_json_kind(tokens) == MF_JSON_ARRAY)
        rc = to_text(job, mf_json_count(tokens), of_json, tokens);
    else
        rc = mf_fail(MF_INPUT, "'%.300s' line %zu has neither \"text\": \"...\" nor \"tokens\": [..]", file, number);
    mf_json_free(row);
    return rc;
}

static int load(const char *path, char **text, size_t *n)
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

static int take_lines(const struct job *job, const char *file)
{
    char *text = NULL;
    size_t n, number = 1;
    int rc = load(file, &text, &n);

    for (char *at = text, *end; rc == MF_OK && at < text + n; at = end + 1, ++number) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (!end) end = text + n;
        if (end > at) rc = take_line(job, file, number, at, (size_t)(end - at));
    }
    free(text);
    return rc;
}

static int take_prompt(const struct job *job, const char *prompt)
{
    const int is_file = *prompt == '@' || strcmp(prompt, "-") == 0;
    struct asked a = {0};
    char *text = NULL;
    size_t n = 0;
    int rc = is_file ? load(*prompt == '@' ? prompt + 1 : "/dev/stdin", &text, &n) : MF_OK;

    if (rc == MF_OK) {
        add_text(&a, is_file ? text : prompt, is_file ? n : strlen(prompt));
        rc = to_numbers(job, &a);
    }
    free(text);
    free_asked(&a);
    return rc;
}

static int take(const struct job *job)
{
    if (job->o->prompt) return take_prompt(job, job->o->prompt);
    if (job->o->prompts) return take_lines(job, job->o->prompts);
    return to_text(job, job->o->tokens.count, of_longs, &job->o->tokens);
}

/* Prints the tokenizer and its results. */
static int print_json(const struct job *job, const char *path, struct mf_json *results)
{
    struct mf_json *all = mf_json_object();
    int rc;

    MF_JSON(all, "tokenizer", path, "model", mf_tokenizer_kind(job->tokenizer), "numbers",
            mf_tokenizer_numbers(job->tokenizer), "results", results);
    rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

static int check(const struct mf_options *options, const struct tokens_cmd *o, const char **path)
{
    const char *const *words = NULL;
    const int given = (o->prompt != NULL) + (o->prompts != NULL) + (o->tokens.count > 0);

    if (mf_options_positional(options, &words) == 0)
        return mf_fail(MF_USAGE, "no tokenizer; try: mesoforge infer tokens FOLDER --prompt TEXT");
    *path = words[0];
    if (given == 1) return MF_OK;
    return mf_fail(MF_USAGE, given ? "--prompt, --prompts and --tokens contradict each other; leave one of them"
                                   : "no text and no numbers; try: --prompt TEXT, --prompts FILE or --tokens 12,7,9");
}

static int alone(const struct mf_options *options, void *into)
{
    const struct tokens_cmd *o = into;
    struct job job = {.o = o};
    const char *path = NULL;
    int rc;

    MF_TRY(check(options, o, &path));
    mf_log_open(0, 1, MF_WARN);
    MF_TRY(mf_tokenizer_open(path, &job.tokenizer));
    if (o->json) job.results = mf_json_array();
    rc = take(&job);
    if (job.results && rc == MF_OK)
        rc = print_json(&job, path, job.results);
    else
        mf_json_free(job.results);
    mf_tokenizer_close(job.tokenizer);
    return rc;
}

const struct mf_cmd mf_cmd_infer_tokens = {
    .name = "infer tokens",
    .summary = "texts to the numbers of a language model's tokenizer, and back",
    .synopsis = "FOLDER --prompt TEXT | --prompts FILE | --tokens NUMBERS",
    .text = "Reads the tokenizer of a model's folder, and no weights: tokenizer.json, else vocab.json with merges.txt, "
            "else vocab.txt. A file of the form of tokenizer.json may stand for the folder. A part of a tokenizer "
            "that is not known here is refused (exit status 3), since other numbers would come out. A text gives a "
            "line of numbers, and numbers give a text. Special tokens are put around a text as the file says, unless "
            "--bare is given. Special tokens inside of a text count as such, unless --literal is given. Bytes that "
            "are no UTF-8 become U+FFFD, and a warning says it.\n"
            "\n"
            "  mesoforge infer tokens gpt2 --prompt 'the pore network'\n"
            "  mesoforge infer tokens gpt2 --tokens 1169,22345,3127\n"
            "  mesoforge infer tokens llama --prompts texts.jsonl --json\n",
    .tables = tables,
    .size = sizeof(struct tokens_cmd),
    .positional_max = 1,
    .alone = alone,
};
