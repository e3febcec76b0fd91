/* Output made from the rows: help, man page, configuration, command line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/base/text.h"

enum { WIDTH = 79, INDENT = 26 };

static const char *argument(enum mf_opt_kind kind)
{
    static const char *const name[] = {"", "", " N", " X", " WORD", " WORD", " WORD", " N ...", " X ...", " WORD ..."};

    return name[kind];
}

/* Help with what follows from the row: choices, default, other spellings. The caller frees. */
static char *describe(const struct mf_opt *const *tables, const struct mf_opt *row)
{
    const char *gap = ": ", *standard = row->standard ? row->standard : "";
    char *text = NULL;
    size_t size, length;
    FILE *to = MF_MUST(open_memstream(&text, &size), "help");

    fputs(row->help ? row->help : "", to);
    for (const char *at = row->choices; at && *at; at += length + (at[length] == '|'), gap = ", ") {
        length = strcspn(at, "|");
        fprintf(to, "%s%.*s", gap, (int)length, at);
    }
    if (*standard && row->kind > MF_UNFLAG) fprintf(to, " (%s)", standard);
    if (row->kind == MF_FLAG && !row->alias_of && (*standard == '1' || *standard == 't')) fputs(" (the default)", to);
    for (; *tables; ++tables)
        for (const struct mf_opt *r = *tables; r->word; ++r)
            if (r->alias_of && !mf_is_same(r) && mf_same_word(r->alias_of, row->word))
                fprintf(to, "; also --%s", r->word);
    return MF_MUST(fclose(to) == 0 ? text : NULL, "help");
}

/* "  --word ARGUMENT", and its text from column INDENT on, below it where the word is long. */
static void help_row(const struct mf_opt *row, const char *text)
{
    char *head = mf_format("  --%s%s", row->word, argument(row->kind)), *line, *folded;
    const int at = (int)strlen(head);

    line = mf_format("%s%s%*s%s", head, at < INDENT ? "" : "\n", at < INDENT ? INDENT - at : INDENT, "", text);
    folded = mf_fold(line, at < INDENT ? INDENT - 2 : 0, WIDTH);
    printf("%s\n", folded);
    free(folded);
    free(line);
    free(head);
}

static void help_table(const struct mf_opt *const *tables, const struct mf_opt *row)
{
    for (; row->word; ++row) {
        char *text = row->alias_of && !mf_is_same(row) ? NULL : describe(tables, row);

        if (text) help_row(row, text);
        free(text);
    }
}

void mf_options_help(const struct mf_opt *const *tables)
{
    for (size_t t = 0; tables[t]; ++t) {
        help_table(tables, tables[t]);
        printf("\n");
    }
    for (const struct mf_opt *row = mf_control_opts; row->word; ++row)
        if (!mf_row_of(tables, row->word)) help_row(row, row->help);
}

static void man_row(const struct mf_opt *row, const char *text)
{
    printf(".TP\n\\fB\\-\\-");
    mf_roff(row->word);
    printf("\\fR\\fI%s\\fR\n", argument(row->kind));
    mf_roff(text);
    printf("\n");
}

static void man_table(const struct mf_opt *const *tables, const struct mf_opt *row)
{
    for (; row->word; ++row) {
        char *text = row->alias_of && !mf_is_same(row) ? NULL : describe(tables, row);

        if (text) man_row(row, text);
        free(text);
    }
}

void mf_options_man(const struct mf_opt *const *tables)
{
    for (size_t t = 0; tables[t]; ++t) man_table(tables, tables[t]);
    for (const struct mf_opt *row = mf_control_opts; row->word; ++row)
        if (!mf_row_of(tables, row->word)) man_row(row, row->help);
}

static void yaml_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; ++text) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 32 || c == 127)
            fprintf(to, "\\x%02x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void yaml_texts(FILE *to, size_t n, const char *const *texts)
{
    fputc('[', to);
    for (size_t i = 0; i < n; ++i) {
        if (i > 0) fputs(", ", to);
        yaml_text(to, texts[i]);
    }
    fputc(']', to);
}

static void yaml_numbers(FILE *to, const char *text)
{
    fputc('[', to);
    for (; *text; ++text)
        if (*text == ' ')
            fputs(", ", to);
        else
            fputc(*text, to);
    fputc(']', to);
}

static void yaml_entry(FILE *to, const struct mf_entry *entry)
{
    static const char *const origin[] = {"default", "", "file", "environment", "flag"};
    const struct mf_texts *texts = entry->field;
    int given = entry->origin != MF_FROM_DEFAULT;

    if (!given && !entry->row->standard && entry->row->kind > MF_UNFLAG) {
        fprintf(to, "# %s:  # %s\n", entry->row->word, entry->left ? "planner" : "not set");
        return;
    }
    fprintf(to, "%s%s: ", given ? "" : "# ", entry->row->word);
    if (entry->row->kind == MF_TEXTS)
        yaml_texts(to, texts->count, texts->at);
    else if (entry->row->kind >= MF_LONGS)
        yaml_numbers(to, entry->text);
    else if (mf_kind_is_text(entry->row->kind))
        yaml_text(to, entry->text);
    else
        fputs(entry->text, to);
    if (entry->origin == MF_FROM_FOREIGN)
        fprintf(to, "  # %s\n", entry->said);
    else if (given && !mf_same_word(entry->row->word, entry->said))
        fprintf(to, "  # %s, %s\n", origin[entry->origin], entry->said);
    else
        fprintf(to, "  # %s\n", given || !entry->left ? origin[entry->origin] : "planner");
}

/* A key of the configuration file without effect. Its value stays on its line. */
static void yaml_noted(FILE *to, const struct mf_options *options, const struct mf_noted *one)
{
    if (!mf_noted_shown(options, one)) return;
    fprintf(to, "# %s:%s", one->key, *one->text ? " " : "");
    for (const char *c = one->text; *c; ++c) fputc(iscntrl((unsigned char)*c) ? '?' : *c, to);
    fprintf(to, "  # file, %s\n", one->spelling ? "but the plan decides" : "without effect here");
}

char *mf_options_yaml(const struct mf_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = MF_MUST(open_memstream(&text, &size), "options");

    fprintf(to, "# mesoforge %s\n", options->verb);
    if (options->positional > 0) {
        fputs(MF_ARGUMENTS ": ", to);
        yaml_texts(to, options->positional, options->words);
        fputc('\n', to);
    }
    for (size_t i = 0; i < options->entries; ++i)
        if (!options->entry[i].control) yaml_entry(to, &options->entry[i]);
    for (const struct mf_noted *one = options->noted; one; one = one->next) yaml_noted(to, options, one);
    return MF_MUST(fclose(to) == 0 ? text : NULL, "options");
}

void mf_options_print(const struct mf_options *options)
{
    char *text = mf_options_yaml(options);

    fputs(text, stdout);
    free(text);
}

static void line_entry(FILE *to, const struct mf_entry *entry)
{
    const struct mf_texts *texts = entry->field;
    enum mf_opt_kind kind = entry->row->kind;

    fprintf(to, "--%s", entry->row->word);
    if (kind <= MF_UNFLAG) {
        if (strcmp(entry->text, "true") != 0) fprintf(to, "=%s", entry->text);
    } else if (kind == MF_TEXTS) {
        for (size_t i = 0; i < texts->count; ++i) {
            fputc(' ', to);
            mf_quote(to, texts->at[i]);
        }
    } else if (mf_kind_is_text(kind)) {
        fputc(entry->text[0] == '-' ? '=' : ' ', to);
        mf_quote(to, entry->text);
    } else {
        fprintf(to, " %s", entry->text);
    }
}

char *mf_options_line(const struct mf_options *options, char gap)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a line");

    for (size_t i = 0; i < options->positional; ++i) {
        if (n++) fputc(gap, to);
        mf_quote(to, options->words[i]);
    }
    for (size_t i = 0; i < options->entries; ++i) {
        const struct mf_entry *entry = &options->entry[i];

        if (entry->control || entry->origin == MF_FROM_DEFAULT) continue;
        if (n++) fputc(gap, to);
        line_entry(to, entry);
    }
    return MF_MUST(fclose(to) == 0 ? text : NULL, "a line");
}
