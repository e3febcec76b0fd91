/* Words become values: conversion, choices, contradictions, defaults. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/base/text.h"

union value {
    int flag;
    long integer;
    double real;
    const char *word;
    struct mf_longs longs;
    struct mf_reals reals;
    struct mf_texts texts;
};

size_t mf_kind_size(enum mf_opt_kind kind)
{
    static const size_t size[] = {sizeof(int),
                                  sizeof(int),
                                  sizeof(long),
                                  sizeof(double),
                                  sizeof(char *),
                                  sizeof(struct mf_longs),
                                  sizeof(struct mf_reals),
                                  sizeof(struct mf_texts)};

    return size[kind];
}

/* The whole of @p text. */
static int word_long(const char *text, long *value)
{
    char *end;
    long got;

    errno = 0;
    got = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || text[0] == ' ') return 0;
    *value = got;
    return 1;
}

/* One number, the whole of @p text. */
static int word_real(const char *text, double *value)
{
    char *end;
    double got = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(got) || text[0] == ' ') return 0;
    *value = got;
    return 1;
}

static int refuse(const struct mf_said *said, const char *want, const char *got)
{
    return mf_fail(MF_USAGE, "%s%s%s wants %s, not '%.200s'", said->place, said->dashes, said->word, want, got);
}

/* What a word that is no long should have been. */
static const char *refuse_long(const char *word, const char *want)
{
    size_t sign = word[0] == '-' || word[0] == '+';

    return word[sign] && strspn(word + sign, "0123456789") == strlen(word + sign) ? "integers from -2^63 to 2^63 - 1"
                                                                                  : want;
}

/* The shortest text that reads back as the same number. */
static char *real_text(struct mf_options *options, double value)
{
    char text[40];

    for (int digits = 6; digits <= 17; ++digits) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return mf_options_copy(options, text, strlen(text));
}

static char *long_text(struct mf_options *options, long value)
{
    char text[32];

    return mf_options_copy(options, text, (size_t)snprintf(text, sizeof text, "%ld", value));
}

/* Cuts "0,128,255" into its words. */
static int cut_commas(struct mf_options *options, const struct mf_said *said, size_t n, const char *const *words,
                      size_t *count, const char ***cut)
{
    size_t most = 0, k = 0;

    for (size_t i = 0; i < n; ++i) most += strlen(words[i]) + 1;
    *cut = mf_options_keep(options, most * sizeof **cut);
    for (size_t i = 0; i < n; ++i)
        for (const char *at = words[i];; ++at) {
            size_t length = strcspn(at, ",");

            if (length == 0) return refuse(said, "numbers", words[i]);
            (*cut)[k++] = mf_options_copy(options, at, length);
            at += length;
            if (*at == '\0') break;
        }
    *count = k;
    return MF_OK;
}

static int to_longs(struct mf_options *options, const struct mf_said *said, size_t n, const char *const *words,
                    union value *v, const char **text)
{
    const char **cut = NULL;
    long *at;

    MF_TRY(cut_commas(options, said, n, words, &n, &cut));
    at = mf_options_keep(options, n * sizeof *at);
    for (size_t i = 0; i < n; ++i) {
        if (!word_long(cut[i], &at[i])) return refuse(said, refuse_long(cut[i], "integers"), cut[i]);
        text[i] = long_text(options, at[i]);
    }
    v->longs = (struct mf_longs){n, at};
    return MF_OK;
}

static int to_reals(struct mf_options *options, const struct mf_said *said, size_t n, const char *const *words,
                    union value *v, const char **text)
{
    const char **cut = NULL;
    double *at;

    MF_TRY(cut_commas(options, said, n, words, &n, &cut));
    at = mf_options_keep(options, n * sizeof *at);
    for (size_t i = 0; i < n; ++i) {
        if (!word_real(cut[i], &at[i])) return refuse(said, "numbers", cut[i]);
        text[i] = real_text(options, at[i]);
    }
    v->reals = (struct mf_reals){n, at};
    return MF_OK;
}

static void to_texts(struct mf_options *options, size_t n, const char *const *words, union value *v, const char **text)
{
    const char **at = mf_options_keep(options, n * sizeof *at);

    for (size_t i = 0; i < n; ++i) text[i] = at[i] = mf_options_copy(options, words[i], strlen(words[i]));
    v->texts = (struct mf_texts){n, at};
}

/* @p text gets the words of the value in canonical form, *n how many. */
static int convert(struct mf_options *options, const struct mf_opt *row, const struct mf_said *said, size_t *n,
                   const char *const *words, union value *v, const char **text)
{
    int rc = MF_OK;

    if (said->quoted && row->kind != MF_TEXT && row->kind != MF_TEXTS)
        return mf_fail(MF_USAGE, "%s%s: a text in quotes, where %s is wanted", said->place, said->word,
                       row->kind <= MF_UNFLAG ? "true or false" : "a number");
    switch (row->kind) {
    case MF_FLAG:
    case MF_UNFLAG:
        if (!mf_word_flag(words[0], &v->flag)) return refuse(said, "true or false", words[0]);
        text[0] = v->flag ? "true" : "false";
        break;
    case MF_LONG:
        if (!word_long(words[0], &v->integer)) return refuse(said, refuse_long(words[0], "an integer"), words[0]);
        text[0] = long_text(options, v->integer);
        break;
    case MF_REAL:
        if (!word_real(words[0], &v->real)) return refuse(said, "a number", words[0]);
        text[0] = real_text(options, v->real);
        break;
    case MF_TEXT: text[0] = v->word = mf_options_copy(options, words[0], strlen(words[0])); break;
    case MF_LONGS: rc = to_longs(options, said, *n, words, v, text); break;
    case MF_REALS: rc = to_reals(options, said, *n, words, v, text); break;
    case MF_TEXTS: to_texts(options, *n, words, v, text); break;
    }
    if (row->kind == MF_LONGS) *n = v->longs.count;
    if (row->kind == MF_REALS) *n = v->reals.count;
    return rc;
}

/* Is @p word among "a|b|c"? If not, refuses with the list and the nearest. */
static int check_choice(struct mf_options *options, const struct mf_opt *row, const struct mf_said *said,
                        const char *word)
{
    const char **list = mf_options_keep(options, (strlen(row->choices) + 1) * sizeof *list), *near;
    size_t n = 0;

    for (const char *at = row->choices; *at; at += strspn(at, "|")) {
        size_t length = strcspn(at, "|");

        list[n] = mf_options_copy(options, at, length);
        if (strcmp(list[n++], word) == 0) return MF_OK;
        at += length;
    }
    near = mf_nearest(word, list, n);
    return mf_fail(MF_USAGE, "%s%s%s: '%.200s' is not %s%s%s%s", said->place, said->dashes, said->word, word,
                   n > 1 ? "one of " : "", row->choices, near ? "; try: " : "", near ? near : "");
}

int mf_options_choice(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int i = 0;

    for (;; choices += strcspn(choices, "|") + 1, ++i) {
        if (strcspn(choices, "|") == length && memcmp(choices, word, length) == 0) return i;
        MF_ASSERT(strchr(choices, '|')); /* else the option was not checked */
    }
}

static char *join(struct mf_options *options, size_t n, const char *const *words)
{
    size_t bytes = 1;
    char *text, *at;

    for (size_t i = 0; i < n; ++i) bytes += strlen(words[i]) + 1;
    at = text = mf_options_keep(options, bytes);
    for (size_t i = 0; i < n; ++i) {
        if (i > 0) *at++ = ' ';
        at = stpcpy(at, words[i]);
    }
    return text;
}

/* A second value for the same option must be the same value; flags win over the file. */
static int check_twice(const struct mf_entry *entry, const struct mf_said *said, const char *text)
{
    if (entry->origin == MF_FROM_DEFAULT || entry->origin < said->origin) return MF_OK;
    if (said->origin == MF_FROM_FILE)
        return mf_fail(MF_USAGE, "%s'%s' sets again what '%s' has set", said->place, said->word, entry->said);
    if (strcmp(entry->text, text) == 0) return MF_OK;
    if (strcmp(entry->said, said->word) == 0)
        return mf_fail(MF_USAGE, "--%s is given twice: '%.200s' and '%.200s'", said->word, entry->text, text);
    return mf_fail(MF_USAGE, "--%s and --%s contradict each other", entry->said, said->word);
}

/* Checks, then stores; @p n words, for flags one of true/false. */
static int store(struct mf_options *options, struct mf_entry *entry, const struct mf_said *said, size_t n,
                 const char *const *words)
{
    size_t most = 1;
    const char **text, *joined;
    union value v;

    for (size_t i = 0; i < n; ++i) most += strlen(words[i]) + 1;
    text = mf_options_keep(options, most * sizeof *text);
    memset(&v, 0, sizeof v);
    MF_TRY(convert(options, entry->row, said, &n, words, &v, text));
    for (size_t i = 0; entry->row->choices && i < n; ++i) MF_TRY(check_choice(options, entry->row, said, text[i]));
    joined = join(options, n, text);
    MF_TRY(check_twice(entry, said, joined));
    if (entry->row->kind == MF_UNFLAG) v.flag = !v.flag;
    memcpy(entry->field, &v, mf_kind_size(entry->row->kind));
    entry->origin = said->origin;
    entry->text = joined;
    entry->said = said->word;
    return MF_OK;
}

int mf_options_set(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said, size_t n,
                   const char *const *words)
{
    static const char *const answer[] = {"false", "true"};
    struct mf_entry *entry = &options->entry[spelling->entry];
    int flag = 1;

    if (entry->row->kind <= MF_UNFLAG) {
        if (n > 0 && (said->quoted || !mf_word_flag(words[0], &flag))) return refuse(said, "true or false", words[0]);
        return store(options, entry, said, 1, &answer[flag ^ spelling->negate]);
    }
    if (n == 0 && !(said->origin == MF_FROM_FILE && entry->row->kind >= MF_LONGS))
        return mf_fail(MF_USAGE, "%s%s%s wants a value", said->place, said->dashes, said->word);
    return store(options, entry, said, n, words);
}

/* Words of a default list, as a user would type them: cut at blanks. */
static size_t cut_blanks(struct mf_options *options, const char *text, const char ***words)
{
    char *copy = mf_options_copy(options, text, strlen(text)), *save = NULL;
    size_t n = 0;

    *words = mf_options_keep(options, (strlen(text) + 1) * sizeof **words);
    for (char *at = strtok_r(copy, " ", &save); at; at = strtok_r(NULL, " ", &save)) (*words)[n++] = at;
    return n;
}

int mf_options_default(struct mf_options *options, struct mf_entry *entry)
{
    const struct mf_opt *row = entry->row;
    struct mf_said said = {"default of ", "--", row->word, MF_FROM_DEFAULT, 0};
    const char **words = NULL, *standard = row->standard;
    size_t n = 1;
    int rc;

    if (row->kind == MF_UNFLAG) standard = "false";
    if (row->kind == MF_FLAG && (!standard || strcmp(standard, "0") == 0 || !*standard)) standard = "false";
    if (row->kind == MF_FLAG && strcmp(standard, "1") == 0) standard = "true";
    if (!standard && (row->kind == MF_LONG || row->kind == MF_REAL)) standard = "0";
    if (!standard) {
        entry->text = "";
        return MF_OK;
    }
    if (row->kind >= MF_LONGS) n = cut_blanks(options, standard, &words);
    rc = row->kind == MF_TEXT && !*standard ? store(options, entry, &said, 1, &standard)
                                            : store(options, entry, &said, n, words ? words : &standard);
    if (rc != MF_OK) mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: %s", options->verb, mf_err_text());
    return rc;
}
