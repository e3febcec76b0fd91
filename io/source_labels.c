/* Labels of samples, and names of classes. See source_priv.h. */
#include "io/source_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/labels.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/base/words.h"

/* ---- samples of no class ---- */

/* Does --unknown name this label? */
static int is_marked(struct mf_source *s, const char *label)
{
    double number, other;
    const int is_number = mf_table_number(&s->table, label, &number);

    for (size_t k = 0; k < s->marks; ++k) {
        const char *mark = s->mark[k];

        if (strcmp(label, mark) != 0 && !(is_number && mf_table_number(&s->table, mark, &other) && other == number))
            continue;
        s->marked[k] = 1;
        return 1;
    }
    return 0;
}

static void forget_marked(struct mf_source *s, double *value)
{
    char label[MF_REAL_TEXT];

    for (size_t i = 0; s->marks && i < s->samples; ++i) {
        snprintf(label, sizeof label, "%.15g", value[i]);
        if (is_marked(s, label)) value[i] = -1;
    }
}

static void say_unmarked(const struct mf_source *s, const char *path)
{
    for (size_t k = 0; k < s->marks; ++k)
        if (!s->marked[k]) mf_warn("--unknown %.80s: '%s' has no such label", s->mark[k], path);
}

/* ---- files of numbers ---- */

static int values_of_idx(const struct mf_source *s, const char *path, double *value)
{
    struct mf_idx idx;
    int rc;

    MF_TRY(mf_idx_open(path, &idx));
    rc = mf_source_rows(s, path, idx.dims[0]);
    if (rc == MF_OK && idx.ndim != 1) rc = mf_fail(MF_INPUT, "'%s' holds no labels", path);
    for (size_t i = 0; rc == MF_OK && i < s->samples; ++i) {
        const struct mf_array one = {.kind = idx.kind, .size = idx.size};
        double v;

        rc = mf_idx_read(&idx, i, &v);
        if (rc == MF_OK) mf_array_reals(&one, &v, 1, &value[i]);
    }
    mf_idx_close(&idx);
    return rc;
}

static int values_of_array(const struct mf_source *s, const char *path, double *value)
{
    struct mf_array a;
    double *all;

    MF_TRY(mf_array_may_sample(path));
    MF_TRY(mf_array_open(path, NULL, &a));
    if (a.ndim != 1 && !(a.ndim == 2 && a.shape[1] == 1))
        return mf_fail(MF_INPUT,
                       "'%s' has %d axes and must have one label for each sample; of one-hot labels take "
                       "numpy.argmax(labels, axis=1)",
                       path, a.ndim);
    MF_TRY(mf_source_rows(s, path, a.shape[0]));
    MF_TRY(mf_array_load(&a, s->samples, &all));
    memcpy(value, all, s->samples * sizeof *value);
    free(all);
    return MF_OK;
}

/* ---- cells of a table ---- */

static const char *cell_of(const struct mf_source *s, size_t column, size_t row)
{
    return s->table.cell[row * s->table.columns + column];
}

/* The place of a word among the names of classes; s->classes: it is none. */
static size_t class_of(const struct mf_source *s, const char *cell)
{
    size_t c = 0;

    while (c < s->classes && strcmp(s->class_name[c], cell) != 0) ++c;
    return c;
}

/* Spreadsheets, pandas and R write these where there is no value. */
static int is_unknown(struct mf_source *s, const char *cell)
{
    static const char *const none[] = {"",     "NA",   "N/A",  "n/a",  "#N/A", "#N/A N/A", "#NA",
                                       "#NV",  "<NA>", "NaN",  "nan",  "NAN",  "NaT",      "-NaN",
                                       "-nan", "NULL", "Null", "null", "None", "none",     "NONE"};
    double number;
    int is = mf_table_number(&s->table, cell, &number) && number == -1;

    if (is_marked(s, cell)) return 1;
    for (size_t k = 0; !is && k < sizeof none / sizeof *none; ++k) is = strcmp(cell, none[k]) == 0;
    return is && class_of(s, cell) == s->classes;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The different words of a column, in the order of the alphabet. */
static int name_classes(struct mf_source *s, size_t column)
{
    const char **word = NULL;
    size_t n = 0;

    MF_TRY(MF_ROOM(s->class_name, s->samples + 1, "the labels of %zu samples", s->samples));
    MF_TRY(MF_ROOM(word, s->samples + 1, "the labels of %zu samples", s->samples));
    for (size_t i = 0; i < s->samples; ++i)
        if (!is_unknown(s, cell_of(s, column, i))) word[n++] = cell_of(s, column, i);
    qsort(word, n, sizeof *word, by_text);
    for (size_t i = 0; i < n; ++i)
        if (i == 0 || strcmp(word[i - 1], word[i]) != 0)
            s->class_name[s->classes++] = MF_MUST(strdup(word[i]), "classes");
    free(word);
    return MF_OK;
}

/* Some write a dash or a question mark where there is no value. */
static void doubt_names(const struct mf_source *s)
{
    for (size_t c = 0; c < s->classes; ++c)
        if (!s->class_name[c][strspn(s->class_name[c], ".-_?!/\\*+#~ ")])
            mf_warn(
                "'%s': the label '%.40s' is a class; if it says that the class is not known, give --unknown '%.40s'",
                s->table.path, s->class_name[c], s->class_name[c]);
}

/* Labels are names of classes. */
static int places_of_words(struct mf_source *s, size_t column, double *value)
{
    if (!s->classes) {
        MF_TRY(name_classes(s, column));
        doubt_names(s);
    }
    for (size_t i = 0; i < s->samples; ++i) {
        const char *cell = cell_of(s, column, i);
        const size_t c = class_of(s, cell);

        if (c == s->classes && !is_unknown(s, cell))
            return mf_fail(MF_INPUT, "label '%.80s' in row %zu of '%s' is none of the %zu classes", cell, i + 1,
                           s->table.path, c);
        value[i] = c < s->classes ? (double)c : -1;
    }
    return MF_OK;
}

static int by_number(const void *a, const void *b)
{
    const char *const one = *(char *const *)a, *const other = *(char *const *)b;
    const double x = strtod(one, NULL), y = strtod(other, NULL);

    return x == y ? strcmp(one, other) : (x > y) - (x < y);
}

/* Zeros in front are often a part of a name. */
static int doubt_zeros(struct mf_source *s, size_t column)
{
    const char **cell;
    size_t n = 0, k = 1;

    MF_TRY(MF_ROOM(cell, s->samples + 1, "the labels of %zu samples", s->samples));
    for (size_t i = 0; i < s->samples; ++i)
        if (!is_unknown(s, cell_of(s, column, i))) cell[n++] = cell_of(s, column, i);
    qsort(cell, n, sizeof *cell, by_number);
    while (k < n &&
           (strspn(cell[k], "0") == strspn(cell[k - 1], "0") || strtod(cell[k], NULL) != strtod(cell[k - 1], NULL)))
        ++k;
    if (k < n)
        mf_warn("'%s': the labels '%.40s' and '%.40s' are one number, and so one class; --classes names them as words",
                s->table.path, cell[k - 1], cell[k]);
    free(cell);
    return MF_OK;
}

/* Labels are numbers, none of which may mean another. */
static int check_numbers(struct mf_source *s, size_t column)
{
    for (size_t i = 0; s->table.comma && i < s->samples; ++i)
        if (!is_unknown(s, cell_of(s, column, i))) MF_TRY(mf_table_clear(&s->table, i, column));
    return doubt_zeros(s, column);
}

/* Labels are numbers. If any cell is none, or all cells are names of classes, all are names. */
static int values_of_table(struct mf_source *s, size_t column, double *value)
{
    size_t unknown = 0, numbers = 0, named = 0, first = 0, known;

    for (size_t i = 0; i < s->samples; ++i) {
        const char *cell = cell_of(s, column, i);

        if (is_unknown(s, cell)) {
            first = unknown++ ? first : i;
            value[i] = -1;
            continue;
        }
        numbers += (size_t)mf_table_number(&s->table, cell, &value[i]);
        named += class_of(s, cell) < s->classes;
    }
    if (unknown)
        mf_info("'%s': %zu row%s without a label (row %zu: '%.40s'), so with a class that is not known%s",
                s->table.path, unknown, MF_S(unknown), first + 1, cell_of(s, column, first),
                *cell_of(s, column, first) ? "; if it is a class, name it in --classes" : "");
    known = s->samples - unknown;
    return numbers == known && !(s->classes && named == known) ? check_numbers(s, column)
                                                               : places_of_words(s, column, value);
}

/* ---- all of it ---- */

struct labels {
    const struct mf_source *source;
    size_t column; /* of the table; without one nothing is known */
};

static int is_label(const void *context, const char *name)
{
    const struct labels *l = context;
    size_t i = 0;

    if (l->source->wish->labels) return 0;
    while (i < l->source->table.rows && strcmp(cell_of(l->source, l->column, i), name) != 0) ++i;
    return i < l->source->table.rows;
}

/* Takes the names of --classes and --unknown. */
static int take_names(struct mf_source *s, size_t column)
{
    const struct mf_source_wish *w = s->wish;
    const struct labels labels = {s, column};
    size_t n;
    const char **name = mf_words_names(w->classes, w->class_name, is_label, &labels, &n);
    const char *twice = mf_text_twice(n, name);
    const int rc = twice ? mf_fail(MF_USAGE, "--classes names '%.100s' twice", twice) : MF_OK;

    if (n) s->class_name = MF_MUST(calloc(n, sizeof *s->class_name), "classes");
    for (; s->classes < n; ++s->classes) s->class_name[s->classes] = MF_MUST(strdup(name[s->classes]), "classes");
    free(name);
    s->mark = mf_words_names(w->unknowns, w->unknown, is_label, &labels, &s->marks);
    s->marked = MF_MUST(calloc(s->marks + 1, 1), "labels");
    return rc;
}

static int name_by_numbers(struct mf_source *s, const char *path, size_t classes, const double *code)
{
    const double mark = mf_labels_mark(classes, code);

    MF_TRY(MF_ROOM(s->class_name, classes + 1, "the names of %zu classes", classes));
    for (; s->classes < classes; ++s->classes) {
        s->class_name[s->classes] = MF_MUST(calloc(1, sizeof(mf_name)), "a class");
        mf_label_name(code[s->classes], s->class_name[s->classes]);
    }
    if (mark >= 0)
        mf_warn("'%s': label %.0f is a class; if it stands for samples of no class, give --unknown %.0f", path, mark,
                mark);
    return MF_OK;
}

static int check_names(const struct mf_source *s)
{
    for (size_t c = 0; c < s->classes; ++c)
        if (strlen(s->class_name[c]) >= MF_REAL_TEXT)
            return mf_fail(MF_INPUT, "the class '%.80s' has a name of more than %d bytes", s->class_name[c],
                           MF_REAL_TEXT - 1);
    return MF_OK;
}

static int read_values(struct mf_source *s, const char *path, size_t column, double *value)
{
    if (!s->wish->labels) return values_of_table(s, column, value);
    MF_TRY(mf_idx_is(path) ? values_of_idx(s, path, value) : values_of_array(s, path, value));
    forget_marked(s, value);
    return MF_OK;
}

static int make_classes(struct mf_source *s, const char *path, size_t column, double *value)
{
    double *code = NULL;
    size_t classes = 0;
    int rc;

    MF_TRY(read_values(s, path, column, value));
    say_unmarked(s, path);
    MF_TRY(mf_labels_make(path, s->samples, value, s->classes, &classes, &code, s->label));
    rc = s->classes ? MF_OK : name_by_numbers(s, path, classes, code);
    free(code);
    MF_TRY(rc);
    return s->classes ? check_names(s) : mf_fail(MF_INPUT, "no sample of '%s' has a class that is known", path);
}

int mf_source_labels(struct mf_source *s)
{
    const struct mf_source_wish *w = s->wish;
    const size_t column = w->table ? mf_source_column(s, "label") : 0;
    const int in_table = w->table && column < s->table.columns;
    double *value;
    int rc;

    if (w->labels && in_table)
        return mf_fail(MF_USAGE, "'%s' has a column label, and --labels is given; leave one of them out", w->table);
    if (!w->labels && !in_table && (w->classes || w->unknowns))
        return mf_fail(MF_USAGE, "--%s is about labels, and there are none; give --labels",
                       w->classes ? "classes" : "unknown");
    if (!w->labels && !in_table) return MF_OK;
    MF_TRY(take_names(s, column));
    MF_TRY(MF_ROOM(s->label, s->samples, "the labels of %zu samples", s->samples));
    MF_TRY(MF_ROOM(value, s->samples, "the labels of %zu samples", s->samples));
    rc = make_classes(s, in_table ? w->table : w->labels, column, value);
    free(value);
    return rc;
}
