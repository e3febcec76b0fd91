/* Columns of a table of samples. See source_priv.h. */
#include "io/source_priv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/words.h"

/* Columns that are no properties. */
static const char *const others[] = {"file", "label", "split", "id"};

enum { OTHERS = sizeof others / sizeof *others };

int mf_source_rows(const struct mf_source *s, const char *path, size_t rows)
{
    if (rows == s->samples) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %zu rows for %zu samples in '%s'", path, rows, s->samples, s->wish->path);
}

size_t mf_source_column(const struct mf_source *s, const char *name)
{
    const struct mf_table *t = &s->table;
    size_t column = mf_table_column(t, name);

    if (column == t->columns)
        for (column = 0; column < t->columns && strcasecmp(t->name[column], name) != 0;) ++column;
    return column < t->columns && s->ignored[column] ? t->columns : column;
}

/* Refuses a column that is not there. */
static int no_column(const struct mf_table *t, const char *why, const char *name)
{
    const char *near = mf_nearest(name, (const char *const *)t->name, t->columns);
    char all[MF_ERR_TEXT / 4] = "";

    if (t->columns == 1 && strpbrk(t->name[0], "| "))
        return mf_fail(MF_INPUT, "%s'%s' has one column, '%.200s'; separate cells by commas, semicolons or tabs", why,
                       t->path, t->name[0]);
    for (size_t c = 0; c < t->columns; ++c) mf_enumerate(all, sizeof all, "'%s'", t->name[c]);
    return mf_fail(MF_INPUT, "%s'%s' has no column '%.80s'%s%.80s%s (columns: %s)", why, t->path, name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}

static int is_column(const void *table, const char *name)
{
    return mf_table_column(table, name) < ((const struct mf_table *)table)->columns;
}

/* Marks the column of each name. */
static int mark_columns(const struct mf_table *t, const char *option, size_t words, const char *const *word,
                        char *marks)
{
    size_t n;
    const char **name = mf_words_names(words, word, is_column, t, &n);
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < n; ++k) {
        const size_t column = mf_table_column(t, name[k]);

        if (column == t->columns)
            rc = no_column(t, option, name[k]);
        else
            marks[column] = 1;
    }
    free(name);
    return rc;
}

static int is_other(const struct mf_source *s, size_t column)
{
    size_t k = 0;

    while (k < OTHERS && mf_source_column(s, others[k]) != column) ++k;
    return k < OTHERS;
}

int mf_source_chosen(struct mf_source *s)
{
    const struct mf_source_wish *w = s->wish;

    MF_TRY(MF_ROOM(s->wanted, s->table.columns, "the columns of '%.300s'", s->table.path));
    MF_TRY(MF_ROOM(s->ignored, s->table.columns, "the columns of '%.300s'", s->table.path));
    MF_TRY(mark_columns(&s->table, "--columns: ", w->columns, w->column, s->wanted));
    MF_TRY(mark_columns(&s->table, "--ignore: ", w->ignored, w->ignore, s->ignored));
    for (size_t c = 0; c < s->table.columns; ++c) {
        if (s->wanted[c] && s->ignored[c])
            return mf_fail(MF_USAGE, "--columns and --ignore both name '%.80s'", s->table.name[c]);
        if (s->wanted[c] && is_other(s, c))
            return mf_fail(MF_USAGE,
                           "--columns names '%.80s', which is no property; leave it out, or rename the column",
                           s->table.name[c]);
    }
    return MF_OK;
}

/* ---- pictures ---- */

/* Why a picture is not there. Names are often those of another machine. */
static int no_picture(const struct mf_source *s, size_t row, const char *path)
{
    const char *file = s->file[row], *cause = strerror(errno);

    if (*file == '/' || (isalpha((unsigned char)*file) && file[1] == ':'))
        cause = "this is an absolute path; write names as they are in that folder";
    else if (strchr(file, '\\'))
        cause = "write / for \\ between folders";
    else if (access(file, F_OK) == 0)
        cause = "write the name without its folder, in which pictures are looked for";
    return mf_fail(MF_INPUT, "cannot open '%s', which row %zu of '%s' names: %s", path, row + 1, s->table.path, cause);
}

static int find_picture(const struct mf_source *s, size_t row)
{
    char *path = mf_format("%s/%s", s->wish->path, s->file[row]);
    int rc = MF_OK;

    if (!*s->file[row])
        rc = mf_fail(MF_INPUT, "row %zu of '%s' names no picture", row + 1, s->table.path);
    else if (access(path, R_OK) != 0)
        rc = no_picture(s, row, path);
    free(path);
    return rc;
}

int mf_source_files(struct mf_source *s)
{
    const struct mf_table *t = &s->table;
    const size_t column = mf_source_column(s, "file");

    if (mf_table_column(t, "file") < column)
        return mf_fail(MF_USAGE, "--ignore names 'file', which names the pictures");
    if (column == t->columns) return no_column(t, "pictures have no names: ", "file");
    MF_TRY(MF_ROOM(s->file, t->rows, "the pictures of '%.300s'", t->path));
    for (size_t i = 0; i < t->rows; ++i) {
        s->file[i] = t->cell[i * t->columns + column];
        MF_TRY(find_picture(s, i));
    }
    return MF_OK;
}

/* ---- splits ---- */

static int read_split(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;

    MF_TRY(MF_ROOM(s->split, t->rows, "the splits of '%.300s'", t->path));
    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];
        int k = 0;

        while (k < MF_SPLITS && strcmp(cell, mf_split_names[k]) != 0) ++k;
        if (k == MF_SPLITS && strcmp(cell, "none") != 0)
            return mf_fail(MF_INPUT, "'%s' in row %zu of '%s' is no split; write train, validation, test or none", cell,
                           i + 1, t->path);
        s->split[i] = k == MF_SPLITS ? MF_SPLIT_NONE : (uint8_t)k;
    }
    return MF_OK;
}

/* ---- properties ---- */

/* The index of pandas has no name, or gets this one where pandas reads it again. */
static int is_nameless(const char *name) { return !*name || strncmp(name, "Unnamed: ", 9) == 0; }

static int is_property(const struct mf_source *s, size_t column)
{
    return !is_other(s, column) && !s->ignored[column] &&
           (s->wish->columns ? s->wanted[column] : !is_nameless(s->table.name[column]));
}

static void say_nameless(const struct mf_source *s)
{
    for (size_t c = 0; c < s->table.columns; ++c)
        if (is_nameless(s->table.name[c]) && !s->ignored[c] && !s->wanted[c])
            mf_info("'%s': column %zu has no name (an index?) and is left out", s->table.path, c + 1);
}

static int read_real(const struct mf_source *s, size_t row, size_t column, float *real)
{
    const struct mf_table *t = &s->table;
    double value = 0;

    if (mf_table_real(t, row, column, &value) != MF_OK) {
        char why[MF_ERR_TEXT];

        snprintf(why, sizeof why, "%s", mf_err_text());
        return mf_fail(MF_INPUT, "%.800s; --ignore '%.60s' leaves it out, and classes want a column called label", why,
                       t->name[column]);
    }
    *real = (float)value;
    if (isfinite((float)value)) return MF_OK;
    return mf_fail(MF_INPUT, "%g in row %zu of '%s', column '%s', is beyond the range of float32; use another unit",
                   value, row + 1, t->path, t->name[column]);
}

static int read_reals(struct mf_source *s)
{
    const struct mf_table *t = &s->table;
    size_t *column;
    int rc = MF_OK;

    MF_TRY(MF_ROOM(s->real_name, t->columns, "the columns of '%.300s'", t->path));
    MF_TRY(MF_ROOM(column, t->columns, "the columns of '%.300s'", t->path));
    for (size_t c = 0; c < t->columns; ++c) {
        if (!is_property(s, c)) continue;
        column[s->reals] = c;
        s->real_name[s->reals++] = t->name[c];
        if (strlen(t->name[c]) >= MF_REAL_TEXT)
            rc = mf_fail(MF_INPUT, "column '%.80s' of '%s' has a name of more than %d bytes", t->name[c], t->path,
                         MF_REAL_TEXT - 1);
    }
    if (rc == MF_OK) rc = MF_ROOM(s->real, t->rows * (s->reals + 1), "the values of '%.300s'", t->path);
    for (size_t i = 0; rc == MF_OK && i < t->rows * s->reals; ++i)
        rc = read_real(s, i / s->reals, column[i % s->reals], &s->real[i]);
    free(column);
    return rc;
}

int mf_source_columns(struct mf_source *s)
{
    const size_t column = mf_source_column(s, "split");

    say_nameless(s);
    MF_TRY(read_reals(s));
    return column < s->table.columns ? read_split(s, column) : MF_OK;
}
