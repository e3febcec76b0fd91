/* Options: rows become entries, arguments become values. See opt.h. */
#include "src/base/opt.h"
#include "src/base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"

const struct mf_opt mf_control_opts[] = {
    {"config", 0, MF_TEXT, NULL, "read options from this YAML or JSON file; flags win over it", NULL, NULL},
    {"print-config", 0, MF_FLAG, NULL, "print all options as YAML, with where each came from, and stop", NULL, NULL},
    {"help", 0, MF_FLAG, NULL, "print this help and stop", NULL, NULL},
    MF_OPT_END};

void *mf_options_keep(struct mf_options *options, size_t bytes)
{
    struct mf_block *block = MF_MUST(calloc(1, sizeof *block + bytes), "options");

    block->next = options->owned;
    options->owned = block;
    return block->at;
}

char *mf_options_copy(struct mf_options *options, const char *text, size_t length)
{
    char *copy = mf_options_keep(options, length + 1);

    memcpy(copy, text, length);
    return copy;
}

static char plain(char c) { return (char)(c == '_' ? '-' : c); }

static int same(const char *word, const char *typed, size_t length)
{
    size_t i = 0;

    while (i < length && word[i] && plain(word[i]) == plain(typed[i])) ++i;
    return i == length && word[i] == '\0';
}

int mf_same_word(const char *a, const char *b) { return same(a, b, strlen(b)); }

const struct mf_spelling *mf_options_find(const struct mf_options *options, const char *word, size_t length)
{
    for (size_t i = 0; i < options->spellings; ++i)
        if (same(options->spelling[i].row->word, word, length)) return &options->spelling[i];
    return NULL;
}

/* The switch that an "--no-x" row switches off; NULL when that row stands alone. */
static const struct mf_opt *partner(const struct mf_opt *const *tables, const struct mf_opt *row)
{
    for (; row->kind == MF_UNFLAG && *tables; ++tables)
        for (const struct mf_opt *r = *tables; r->word; ++r)
            if (!r->alias_of && r->kind == MF_FLAG && r->offset == row->offset) return r;
    return NULL;
}

static void add_spelling(struct mf_options *options, const struct mf_opt *row, size_t entry, int negate)
{
    if (mf_options_find(options, row->word, strlen(row->word)))
        mf_die(MF_BROKEN, __FILE__, __LINE__, "%s: two rows for option '%s'", options->verb, row->word);
    options->spelling[options->spellings++] = (struct mf_spelling){row, entry, negate};
}

static void add_entry(struct mf_options *options, const struct mf_opt *row, void *field, int control)
{
    options->entry[options->entries] = (struct mf_entry){.row = row, .field = field, .control = control};
    add_spelling(options, row, options->entries++, 0);
}

static void add_other(struct mf_options *options, const struct mf_opt *row, const char *target, int negate)
{
    const struct mf_spelling *of = mf_options_find(options, target, strlen(target));

    if (!of) mf_die(MF_BROKEN, __FILE__, __LINE__, "'%s' is an alias of nothing: '%s'", row->word, target);
    add_spelling(options, row, of->entry, of->negate ^ negate);
}

const struct mf_opt *mf_row_of(const struct mf_opt *const *tables, const char *word)
{
    for (; *tables; ++tables)
        for (const struct mf_opt *row = *tables; row->word; ++row)
            if (mf_same_word(row->word, word)) return row;
    return NULL;
}

/* Entries first, then "--no-x" rows, then aliases: each finds what it refers to. */
static void add_rows(struct mf_options *options, const struct mf_opt *const *tables, char *into, size_t size)
{
    void *control[] = {&options->control.config, &options->control.print_config, &options->control.help};

    for (size_t i = 0; i < sizeof control / sizeof *control; ++i)
        if (!mf_row_of(tables, mf_control_opts[i].word)) add_entry(options, &mf_control_opts[i], control[i], 1);
    for (size_t t = 0; tables[t]; ++t)
        for (const struct mf_opt *row = tables[t]; row->word; ++row) {
            if (row->alias_of || partner(tables, row)) continue;
            MF_ASSERT(row->offset + mf_kind_size(row->kind) <= size);
            add_entry(options, row, into + row->offset, 0);
        }
    for (size_t t = 0; tables[t]; ++t)
        for (const struct mf_opt *row = tables[t]; row->word; ++row)
            if (!row->alias_of && partner(tables, row)) add_other(options, row, partner(tables, row)->word, 1);
    for (size_t t = 0; tables[t]; ++t)
        for (const struct mf_opt *row = tables[t]; row->word; ++row)
            if (row->alias_of) add_other(options, row, row->alias_of, 0);
}

static struct mf_options *new_options(const char *verb, const struct mf_opt *const *tables,
                                      const struct mf_opt_key *keys, void *into, size_t size, size_t positional_max)
{
    struct mf_options *options = MF_MUST(calloc(1, sizeof *options), "options");
    size_t rows = 3;

    for (size_t t = 0; tables[t]; ++t)
        for (const struct mf_opt *row = tables[t]; row->word; ++row) ++rows;
    options->verb = verb;
    options->keys = keys;
    options->entry = mf_options_keep(options, rows * sizeof *options->entry);
    options->spelling = mf_options_keep(options, rows * sizeof *options->spelling);
    options->positional_max = positional_max;
    memset(into, 0, size);
    add_rows(options, tables, into, size);
    return options;
}

const char *mf_options_try(struct mf_options *options, const char *dashes, const char *word)
{
    const char **words = mf_options_keep(options, options->spellings * sizeof *words), *near;
    char *end;
    size_t room;

    for (size_t i = 0; i < options->spellings; ++i) words[i] = options->spelling[i].row->word;
    near = mf_nearest(word, words, options->spellings);
    if (!near) return "";
    room = strlen(near) + strlen(dashes) + 8;
    end = mf_options_keep(options, room);
    snprintf(end, room, "; try: %s%s", dashes, near);
    return end;
}

static int is_option(const char *word) { return word[0] == '-' && word[1] == '-'; }

/* Was a number meant? "64x" is a bad one, "64.npy" and "64/a" are files. */
static int is_numeric(const char *word)
{
    const char *first = word + strspn(word, "+-.");
    char *end;

    (void)strtod(word, &end); /* knows nan and inf, to be refused as numbers */
    if (end != word && *end == '\0') return 1;
    if (!isdigit((unsigned char)*first) || strchr(word, '/')) return 0;
    for (const char *dot = strchr(first, '.'); dot; dot = strchr(dot + 1, '.'))
        if (isalpha((unsigned char)dot[1])) return 0;
    return 1;
}

/* How many words from @p argv belong to an option of this kind. */
static int words_of(enum mf_opt_kind kind, int argc, char **argv, size_t positional_max)
{
    int numbers = kind == MF_LONGS || kind == MF_REALS, n = 0;

    if (kind == MF_FLAG || kind == MF_UNFLAG) return 0;
    if (kind < MF_LONGS) return argc > 0 && !is_option(argv[0]);
    while (n < argc && !is_option(argv[n]) && !(n > 0 && numbers && positional_max > 0 && !is_numeric(argv[n]))) ++n;
    return n;
}

/* One "--word", "--word=value" or "--word value ...": *used words of argv. */
static int parse_option(struct mf_options *options, int argc, char **argv, int *used)
{
    const char *word = argv[0] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct mf_spelling *spelling = mf_options_find(options, word, length);
    struct mf_said said = {"", "--", mf_options_copy(options, word, length), MF_FROM_FLAG, 0};
    enum mf_opt_kind kind;
    int n;

    if (!spelling) return mf_fail(MF_USAGE, "no option '--%s'%s", said.word, mf_options_try(options, "--", said.word));
    if (equals) {
        const char *value = equals + 1;

        *used = 1;
        return mf_options_set(options, spelling, &said, 1, &value);
    }
    kind = mf_is_same(spelling->row) ? MF_FLAG : options->entry[spelling->entry].row->kind;
    n = words_of(kind, argc - 1, argv + 1, options->positional_max);
    *used = 1 + n;
    return mf_options_set(options, spelling, &said, (size_t)n, (const char *const *)argv + 1);
}

int mf_options_argument(struct mf_options *options, const char *word)
{
    size_t n = options->positional, max = options->positional_max;

    if (n < max) {
        if ((n & (n - 1)) == 0) { /* full: room doubles at powers of two */
            const char **more = mf_options_keep(options, 2 * (n + 1) * sizeof *more);

            if (n > 0) memcpy(more, options->words, n * sizeof *more);
            options->words = more;
        }
        options->words[options->positional++] = mf_options_copy(options, word, strlen(word));
        return MF_OK;
    }
    if (max == 0)
        return mf_fail(MF_USAGE, "unexpected argument '%s': options begin with '--'%s", word,
                       mf_options_try(options, "--", word));
    return mf_fail(MF_USAGE, "unexpected argument '%s': at most %zu without '--'", word, max);
}

static int short_option(struct mf_options *options, const char *word)
{
    if (access(word, F_OK) == 0)
        return mf_fail(MF_USAGE, "no option '%s': options begin with '--'; the file of that name is './%s'", word,
                       word);
    return mf_fail(MF_USAGE, "no option '%s': options begin with '--'%s", word,
                   mf_options_try(options, "--", word + 1));
}

static int parse_all(struct mf_options *options, int argc, char **argv)
{
    int bare = 0, used;

    for (int i = 0; i < argc; i += used) {
        used = 1;
        if (!bare && strcmp(argv[i], "--") == 0)
            bare = 1;
        else if (!bare && is_option(argv[i]))
            MF_TRY(parse_option(options, argc - i, argv + i, &used));
        else if (!bare && argv[i][0] == '-' && argv[i][1] != '\0')
            return short_option(options, argv[i]);
        else
            MF_TRY(mf_options_argument(options, argv[i]));
    }
    return MF_OK;
}

/* The file of "--config FILE" or "--config=FILE"; NULL if there is none. */
static const char *config_of(const struct mf_options *options, int argc, char **argv)
{
    if (!options->entry[mf_options_find(options, "config", 6)->entry].control) return NULL;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        if (strncmp(argv[i], "--config=", 9) == 0) return argv[i] + 9;
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc && !is_option(argv[i + 1])) return argv[i + 1];
    }
    return NULL;
}

static int parse(struct mf_options *options, int argc, char **argv)
{
    const char *config = config_of(options, argc, argv), **words;
    size_t filed;

    if (config) MF_TRY(mf_options_file(options, config));
    words = options->words;
    filed = options->positional;
    options->words = NULL;
    options->positional = 0;
    MF_TRY(parse_all(options, argc, argv));
    if (options->positional == 0) {
        options->words = words;
        options->positional = filed;
    }
    for (size_t i = 0; i < options->entries; ++i)
        if (options->entry[i].origin == MF_FROM_DEFAULT) MF_TRY(mf_options_default(options, &options->entry[i]));
    return MF_OK;
}

int mf_options_parse(struct mf_options **options, const char *verb, const struct mf_opt *const *tables,
                     const struct mf_opt_key *keys, void *into, size_t size, int argc, char **argv,
                     size_t positional_max)
{
    struct mf_options *made = new_options(verb, tables, keys, into, size, positional_max);
    int rc = parse(made, argc, argv);

    if (rc != MF_OK) {
        mf_options_free(made);
        return rc;
    }
    *options = made;
    return MF_OK;
}

void mf_options_free(struct mf_options *options)
{
    if (!options) return;
    for (struct mf_block *block = options->owned, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(options);
}

int mf_options_help_asked(size_t n, const char *const *words)
{
    for (size_t i = 0; i < n && strcmp(words[i], "--") != 0; ++i)
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) return 1;
    return 0;
}

int mf_options_env(struct mf_options *options, const char *word, const char *variable)
{
    const struct mf_spelling *spelling = mf_options_find(options, word, strlen(word));
    struct mf_said said = {"", "", variable, MF_FROM_ENV, 0};
    const char *value = getenv(variable);

    MF_ASSERT(spelling);
    if (!value || !*value || options->entry[spelling->entry].origin != MF_FROM_DEFAULT) return MF_OK;
    return mf_options_set(options, spelling, &said, 1, &value);
}

int mf_options_adopt(struct mf_options *options, const char *word, const char *place, const char *key,
                     const char *value)
{
    const struct mf_spelling *spelling = mf_options_find(options, word, strlen(word));
    const struct mf_said said = {mf_options_copy(options, place, strlen(place)), "",
                                 mf_options_copy(options, key, strlen(key)), MF_FROM_FOREIGN, 0};

    MF_ASSERT(spelling);
    return mf_options_set(options, spelling, &said, 1, &value);
}

void mf_options_leave(struct mf_options *options, const char *word)
{
    options->entry[mf_options_find(options, word, strlen(word))->entry].left = 1;
}

const char *mf_options_verb(const struct mf_options *options) { return options->verb; }

const char *mf_options_config(const struct mf_options *options) { return options->control.config; }

size_t mf_options_positional(const struct mf_options *options, const char *const **words)
{
    if (words) *words = options->words;
    return options->positional;
}

int mf_options_takes(const struct mf_opt *const *tables, const char *word)
{
    const struct mf_opt *row = is_option(word) ? mf_row_of(tables, word + 2) : NULL;

    if (row && mf_is_same(row)) return 0;
    if (row && row->alias_of) row = mf_row_of(tables, row->alias_of);
    return row && row->kind != MF_FLAG && row->kind != MF_UNFLAG;
}

int mf_options_is_list(const struct mf_opt *const *tables, const char *word)
{
    const struct mf_opt *row = mf_row_of(tables, word);

    if (row && !mf_is_same(row) && row->alias_of) row = mf_row_of(tables, row->alias_of);
    return row && row->kind >= MF_LONGS ? (int)row->kind : 0;
}

int mf_options_knows(const struct mf_options *options, const char *word)
{
    return mf_options_find(options, word, strlen(word)) != NULL;
}

static const struct mf_entry *entry_of(const struct mf_options *options, const char *word)
{
    const struct mf_spelling *spelling = mf_options_find(options, word, strlen(word));

    if (!spelling) mf_die(MF_BROKEN, __FILE__, __LINE__, "%s has no option '%s'", options->verb, word);
    return &options->entry[spelling->entry];
}

enum mf_origin mf_options_origin(const struct mf_options *options, const char *word)
{
    return entry_of(options, word)->origin;
}

const char *mf_options_value(const struct mf_options *options, const char *word)
{
    return entry_of(options, word)->text;
}

const char *mf_options_said(const struct mf_options *options, const char *word)
{
    return options->entry[mf_options_find(options, word, strlen(word))->entry].said;
}

int mf_options_given(const struct mf_options *options, const char *word)
{
    return mf_options_origin(options, word) != MF_FROM_DEFAULT;
}

int mf_options_has(const struct mf_options *options, const char *word)
{
    return mf_options_knows(options, word) && mf_options_given(options, word);
}

void mf_options_each(const struct mf_options *options,
                     void (*visit)(void *context, const char *word, const char *value, enum mf_origin origin),
                     void *context)
{
    for (size_t i = 0; i < options->entries; ++i)
        if (!options->entry[i].control)
            visit(context, options->entry[i].row->word, options->entry[i].text, options->entry[i].origin);
}
