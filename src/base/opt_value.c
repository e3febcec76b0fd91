/* Converts words to values: conversion, choices, contradictions, defaults. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/base/text.h"
#include "src/base/words.h"

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
                                  sizeof(char *),
                                  sizeof(int),
                                  sizeof(struct mf_longs),
                                  sizeof(struct mf_reals),
                                  sizeof(struct mf_texts)};

    return size[kind];
}

static int refuse(const struct mf_said *said, const char *want, const char *got)
{
    return mf_fail(MF_USAGE, "%s%s%s must be %s, not '%.200s'", said->place, said->dashes, said->word, want, got);
}

/* Refuses a word that is no long, and says the form that it should have. */
static const char *refuse_long(const char *word, const char *want)
{
    size_t sign = word[0] == '-' || word[0] == '+';

    return word[sign] && strspn(word + sign, "0123456789") == strlen(word + sign) ? "integers from -2^63 to 2^63 - 1"
                                                                                  : want;
}

/* The whole of @p word as a number, and its canonical text. */
static int read_long(struct mf_options *options, const struct mf_said *said, const char *want, const char *word,
                     long *value, const char **text)
{
    char *end, canonical[32];

    errno = 0;
    *value = strtol(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || word[0] == ' ') return refuse(said, refuse_long(word, want), word);
    *text = mf_options_copy(options, canonical, (size_t)snprintf(canonical, sizeof canonical, "%ld", *value));
    return MF_OK;
}

/* The same; the canonical text is the shortest that reads back as the same number. */
static int read_real(struct mf_options *options, const struct mf_said *said, const char *want, const char *word,
                     double *value, const char **text)
{
    char *end, canonical[40] = "";

    *value = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(*value) || word[0] == ' ') return refuse(said, want, word);
    for (int digits = 6; digits <= 17 && (!*canonical || strtod(canonical, NULL) != *value); ++digits)
        snprintf(canonical, sizeof canonical, "%.*g", digits, *value);
    *text = mf_options_copy(options, canonical, strlen(canonical));
    return MF_OK;
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
    for (size_t i = 0; i < n; ++i) MF_TRY(read_long(options, said, "integers", cut[i], &at[i], &text[i]));
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
    for (size_t i = 0; i < n; ++i) MF_TRY(read_real(options, said, "numbers", cut[i], &at[i], &text[i]));
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

    if (said->quoted && !mf_kind_is_text(row->kind) && row->kind != MF_TEXTS)
        return mf_fail(MF_USAGE, "%s%s must be %s, not a text in quotes", said->place, said->word,
                       row->kind <= MF_UNFLAG ? "true or false" : "a number");
    switch (row->kind) {
    case MF_FLAG:
    case MF_UNFLAG:
        if (!mf_word_flag(words[0], &v->flag)) return refuse(said, "true or false", words[0]);
        text[0] = v->flag ? "true" : "false";
        break;
    case MF_LONG: rc = read_long(options, said, "an integer", words[0], &v->integer, text); break;
    case MF_REAL: rc = read_real(options, said, "a number", words[0], &v->real, text); break;
    case MF_NAME:
        if (!*words[0])
            return mf_fail(MF_USAGE, "%s%s%s is empty; give it a value, or leave it out", said->place, said->dashes,
                           said->word);
        /* fall through */
    case MF_TEXT:
    case MF_WORD: v->word = text[0] = mf_options_copy(options, words[0], strlen(words[0])); break;
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
        return mf_fail(MF_USAGE, "%s'%s' and '%s' set the same option", said->place, said->word, entry->said);
    if (strcmp(entry->text, text) == 0) return MF_OK;
    if (said->origin == MF_FROM_FOREIGN)
        return mf_fail(MF_USAGE, "%s%s %s and %s%s %s contradict each other", said->place, said->word, text,
                       entry->origin == MF_FROM_FOREIGN ? "" : "--", entry->said, entry->text);
    if (strcmp(entry->said, said->word) == 0)
        return mf_fail(MF_USAGE, "--%s is given twice: '%.200s' and '%.200s'", said->word, entry->text, text);
    return mf_fail(MF_USAGE, "--%s and --%s contradict each other", entry->said, said->word);
}

/* Reads @p n words, for flags one of true/false. *text: the value, canonical. */
static int read(struct mf_options *options, const struct mf_opt *row, const struct mf_said *said, size_t n,
                const char *const *words, union value *v, const char **canonical)
{
    size_t most = 1;
    const char **text;

    for (size_t i = 0; i < n; ++i) most += strlen(words[i]) + 1;
    text = mf_options_keep(options, most * sizeof *text);
    memset(v, 0, sizeof *v);
    MF_TRY(convert(options, row, said, &n, words, v, text));
    for (size_t i = 0; row->choices && i < n; ++i) MF_TRY(check_choice(options, row, said, text[i]));
    if (row->kind == MF_WORD) v->flag = mf_words_place(row->choices, text[0]) + (row->standard == NULL);
    *canonical = join(options, n, text);
    return MF_OK;
}

static int store(struct mf_options *options, struct mf_entry *entry, const struct mf_said *said, size_t n,
                 const char *const *words)
{
    const char *text;
    union value v;

    MF_TRY(read(options, entry->row, said, n, words, &v, &text));
    MF_TRY(check_twice(entry, said, text));
    if (entry->origin > said->origin) return MF_OK; /* it was given, and says the same */
    if (entry->row->kind == MF_UNFLAG) v.flag = !v.flag;
    memcpy(entry->field, &v, mf_kind_size(entry->row->kind));
    entry->origin = said->origin;
    entry->text = text;
    entry->said = said->word;
    return MF_OK;
}

int mf_is_same(const struct mf_opt *row) { return row->alias_of && row->standard; }

int mf_options_would(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said,
                     size_t n, const char *const *words, const char **text)
{
    const struct mf_opt *row = options->entry[spelling->entry].row;
    union value v;

    MF_ASSERT(n > 0 && !mf_is_same(spelling->row));
    return read(options, row, said, n, words, &v, text);
}

/* A switch that is another option with a value: true sets it, false says nothing. */
static int set_same(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said,
                    size_t n, const char *const *words)
{
    int flag = 1;

    if (n > 0 && (said->quoted || !mf_word_flag(words[0], &flag))) return refuse(said, "true or false", words[0]);
    return flag ? store(options, &options->entry[spelling->entry], said, 1, &spelling->row->standard) : MF_OK;
}

int mf_options_set(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said, size_t n,
                   const char *const *words)
{
    static const char *const answer[] = {"false", "true"};
    struct mf_entry *entry = &options->entry[spelling->entry];
    int flag = 1;

    if (mf_is_same(spelling->row)) return set_same(options, spelling, said, n, words);
    if (entry->row->kind <= MF_UNFLAG) {
        if (n > 0 && (said->quoted || !mf_word_flag(words[0], &flag))) return refuse(said, "true or false", words[0]);
        return store(options, entry, said, 1, &answer[flag ^ spelling->negate]);
    }
    if (n == 0 && !(said->origin == MF_FROM_FILE && entry->row->kind >= MF_LONGS))
        return mf_fail(MF_USAGE, "%s%s%s needs a value", said->place, said->dashes, said->word);
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
    rc = mf_kind_is_text(row->kind) && !*standard ? store(options, entry, &said, 1, &standard)
                                                  : store(options, entry, &said, n, words ? words : &standard);
    if (rc != MF_OK) mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: %s", options->verb, mf_err_text());
    return rc;
}
