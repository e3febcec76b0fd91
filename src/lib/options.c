/* See lib.h: options as text. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/lib/lib.h"

/* The options of a session. */
static const char *const of_session[] = {"device",  "threads",   "memory-limit", "gpu-memory-fraction",
                                         "gpu_ids", "share-gpu", "exchange",     "deterministic",
                                         "timeout", NULL};

/* Options that tell a program where to print, write, and stop. */
static const char *const of_program[] = {"microstructure-filenames",
                                         "export",
                                         "average",
                                         "data_folder",
                                         "information",
                                         "json",
                                         "logging_level",
                                         "logfile_name",
                                         "logfile_date",
                                         "log-view",
                                         "dry-run",
                                         "bind",
                                         "verbose",
                                         "print-config",
                                         "help",
                                         "realisations",
                                         "save-gradient",
                                         "outfile-data-steps",
                                         NULL};

static const char blanks[] = " \t\r\n";

/* The word at *text without its quotes, at *to; both pass it. */
static int take_word(const char **text, char **to)
{
    char quote = '\0';

    for (; **text && (quote || !strchr(blanks, **text)); ++*text) {
        const int is_quote = **text == '\'' || **text == '"';

        if (is_quote && !quote)
            quote = **text;
        else if (quote && **text == quote)
            quote = '\0';
        else
            *(*to)++ = **text;
    }
    *(*to)++ = '\0';
    return quote ? mf_fail(MF_USAGE, "a quote (%c) has no end", quote) : MF_OK;
}

/* A list goes on where its key comes again: "--key=1,2" of numbers, "--key word word" of words. */
struct list {
    char *key; /* of the last word, "" where it is no list */
    int argc;
    char **argv;
};

static char *dashed(const char *word) { return mf_format("--%s", word); }

/* A word more of a list, which is no option. */
static int add_word(struct list *list, const char *word, const char *value, int same)
{
    if (strncmp(value, "--", 2) == 0) return mf_fail(MF_USAGE, "'%s' is no value of '%s'", value, word);
    if (!same) list->argv[list->argc++] = dashed(word);
    list->argv[list->argc++] = MF_MUST(strdup(value), "options");
    return MF_OK;
}

/* A number more: behind a comma, where what is no number becomes no input. */
static int add_number(struct list *list, const char *word, const char *value, int same)
{
    char **last = &list->argv[list->argc - same], *before = same ? *last : NULL;

    *last = before ? mf_format("%s,%s", before, value) : mf_format("--%s=%s", word, value);
    list->argc += !same;
    free(before);
    return MF_OK;
}

static int add(struct list *list, char *word, const struct mf_opt *const *tables)
{
    char *value = strchr(word, '=');
    int kind, same;

    if (value) *value = '\0';
    kind = value ? mf_options_is_list(tables, word) : 0;
    if (kind) {
        same = strcmp(list->key, word) == 0;
        list->key = word;
        return (kind == MF_TEXTS ? add_word : add_number)(list, word, value + 1, same);
    }
    if (value) *value = '=';
    list->key = "";
    list->argv[list->argc++] = dashed(word);
    return MF_OK;
}

/* Files and fields. */
static int add_inputs(struct list *list, const char *inputs, char *to)
{
    for (const char *at = inputs; at && *(at += strspn(at, blanks));) {
        char *word = to;

        MF_TRY(take_word(&at, &to));
        if (strncmp(word, "--", 2) == 0) return mf_fail(MF_USAGE, "'%s' is no input; options are another text", word);
        list->argv[list->argc++] = MF_MUST(strdup(word), "options");
    }
    return MF_OK;
}

int mf_lib_words(const char *text, const char *inputs, const struct mf_opt *const *tables, int *argc, char ***argv)
{
    const size_t room = (text ? strlen(text) : 0) + (inputs ? strlen(inputs) : 0);
    char *words = MF_MUST(malloc(2 * room + 2), "options"), *to = words;
    struct list list = {.key = "", .argv = MF_MUST(calloc(2 * room + 3, sizeof(char *)), "options")};
    int rc = add_inputs(&list, inputs, words);

    for (const char *at = text; rc == MF_OK && at && *(at += strspn(at, blanks));) {
        char *word = to;

        rc = take_word(&at, &to);
        if (rc == MF_OK) rc = add(&list, word, tables);
    }
    free(words);
    *argc = list.argc;
    *argv = list.argv;
    if (rc == MF_OK) return MF_OK;
    mf_lib_words_free(list.argv);
    return rc;
}

void mf_lib_words_free(char **argv)
{
    for (char **word = argv; *word; ++word) free(*word);
    free(argv);
}

/* '-' and '_' are the same. */
static int is_same(const char *a, const char *b)
{
    while (*a && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) ++a, ++b;
    return *a == *b;
}

static int is_among(const char *const *list, const char *word)
{
    while (*list && !is_same(*list, word)) ++list;
    return *list != NULL;
}

int mf_lib_is_word(const char *word, int opens)
{
    return is_among(of_program, word) || (opens && is_among(of_session, word));
}

struct open {
    struct mf_common common;
    int trusts;
};

static const struct mf_opt open_rows[] = {
    MF_OPT(open, "trust-files", trusts, MF_FLAG, NULL,
           "decode pictures, HDF5 and other files in this process, which a damaged one may take down"),
    MF_OPT_END};

/* The rows of a program's options that a session has, too. They stay. Whoever is in a call makes them. */
static const struct mf_opt *session_rows(void)
{
    static struct mf_opt rows[sizeof of_session / sizeof *of_session];
    size_t n = 0;

    for (const struct mf_opt *row = mf_common_opts; row->word; ++row)
        if (is_among(of_session, row->word)) rows[n++] = *row;
    MF_ASSERT(n + 1 == sizeof rows / sizeof *rows);
    return rows;
}

int mf_lib_open_options(const char *text, mesoforge_session *s)
{
    const struct mf_opt *const tables[] = {session_rows(), open_rows, NULL};
    struct open open;
    char **argv;
    int argc, rc;

    MF_TRY(mf_lib_words(text, NULL, tables, &argc, &argv));
    rc = mf_options_parse(&s->options, "mesoforge_open", tables, NULL, &open, sizeof open, argc, argv, 0);
    mf_lib_words_free(argv);
    s->common = open.common;
    s->trusts = open.trusts;
    return rc;
}

int mf_lib_check_words(const struct mf_options *options)
{
    for (const char *const *word = of_program; *word; ++word)
        if (mf_options_has(options, *word))
            return mf_fail(MF_USAGE, "--%s is an option of the program; a library prints nothing", *word);
    return MF_OK;
}

int mf_lib_check_runs(const struct mf_options *options)
{
    static const char *const words[] = {"checkpoint-every", "restart", "max-hours"};

    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (mf_options_has(options, words[i]))
            return mf_fail(MF_USAGE,
                           "--%s needs the file of the run, which checkpoints stand beside; try: output=NAME.h5",
                           words[i]);
    return MF_OK;
}

int mf_lib_check_session(const struct mf_options *options)
{
    for (const char *const *word = of_session; *word; ++word)
        if (mf_options_has(options, *word))
            return mf_fail(MF_USAGE, "--%s is an option of a session, and this one is open; try: another session",
                           *word);
    return MF_OK;
}
