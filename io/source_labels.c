/* Labels of samples, and names of classes. See source_priv.h. */
#include "io/source_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

static int labels_of_idx(struct mf_source *s, const char *path)
{
    struct mf_idx idx;
    int rc;

    MF_TRY(mf_idx_open(path, &idx));
    rc = mf_source_rows(s, path, idx.dims[0]);
    if (rc == MF_OK && (idx.ndim != 1 || idx.kind == 'f')) rc = mf_fail(MF_INPUT, "'%s' holds no labels", path);
    for (size_t i = 0; rc == MF_OK && i < s->samples; ++i) {
        union {
            int8_t i1;
            uint8_t u1;
            int16_t i2;
            int32_t i4;
        } v;

        rc = mf_idx_read(&idx, i, &v);
        s->label[i] = idx.size == 4 ? v.i4 : idx.size == 2 ? v.i2 : idx.kind == 'u' ? v.u1 : v.i1;
    }
    mf_idx_close(&idx);
    return rc;
}

static int labels_of_array(struct mf_source *s, const char *path)
{
    struct mf_array a;
    double *values;

    MF_TRY(mf_array_open(path, NULL, &a));
    if (a.ndim != 1) return mf_fail(MF_INPUT, "'%s' must have one label for each sample", path);
    MF_TRY(mf_source_rows(s, path, a.shape[0]));
    MF_TRY(mf_array_load(&a, s->samples, &values));
    for (size_t i = 0; i < s->samples; ++i) {
        if (values[i] == rint(values[i]) && fabs(values[i]) < MF_CLASSES_MAX) {
            s->label[i] = (int32_t)values[i];
            continue;
        }
        mf_fail(MF_INPUT, "label %g of sample %zu in '%s' is not a whole number below %d", values[i], i, path,
                MF_CLASSES_MAX);
        free(values);
        return MF_INPUT;
    }
    free(values);
    return MF_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The different words of a column, in the order of the alphabet. */
static void name_classes(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;
    char **word = MF_MUST(calloc(t->rows, sizeof *word), "classes");
    size_t n = 0;

    for (size_t i = 0; i < t->rows; ++i) word[i] = t->cell[i * t->columns + column];
    qsort(word, t->rows, sizeof *word, by_text);
    for (size_t i = 0; i < t->rows; ++i)
        if (*word[i] && (n == 0 || strcmp(word[n - 1], word[i]) != 0)) word[n++] = word[i];
    s->class_name = MF_MUST(calloc(n + 1, sizeof *s->class_name), "classes");
    for (s->classes = 0; s->classes < n; ++s->classes)
        s->class_name[s->classes] = MF_MUST(strdup(word[s->classes]), "classes");
    free(word);
}

/* Is a cell the number of a class? */
static int number_of(const char *cell, int32_t *label)
{
    char *end;
    const long value = strtol(cell, &end, 10);

    *label = (int32_t)value;
    return end != cell && !*end && labs(value) < MF_CLASSES_MAX;
}

/* Labels are numbers; if any cell is none, all are names. An empty cell is a class that is not known. */
static int labels_of_table(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;
    int numbers = 1;

    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];

        s->label[i] = -1;
        if (*cell) numbers &= number_of(cell, &s->label[i]);
    }
    if (numbers) return MF_OK;
    if (!s->classes) name_classes(s, column);
    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];
        size_t c = 0;

        s->label[i] = -1;
        if (!*cell) continue;
        while (c < s->classes && strcmp(s->class_name[c], cell) != 0) ++c;
        if (c == s->classes)
            return mf_fail(MF_INPUT, "label '%s' in row %zu of '%s' is none of the %zu classes", cell, i + 1, t->path,
                           c);
        s->label[i] = (int32_t)c;
    }
    return MF_OK;
}

/* Every label is a class. Classes without names are called by their numbers. */
static int check_labels(struct mf_source *s, const char *path)
{
    int32_t most = -1;

    for (size_t c = 0; c < s->classes; ++c)
        if (strlen(s->class_name[c]) >= MF_REAL_TEXT)
            return mf_fail(MF_INPUT, "the class '%.80s' has a name of more than %d bytes", s->class_name[c],
                           MF_REAL_TEXT - 1);
    for (size_t i = 0; i < s->samples; ++i) {
        if (s->label[i] < -1 || (s->classes && s->label[i] >= (int64_t)s->classes))
            return mf_fail(MF_INPUT, "label %d of sample %zu in '%s' is none of the %zu classes", s->label[i], i, path,
                           s->classes);
        if (s->label[i] > most) most = s->label[i];
    }
    if (s->classes) return MF_OK;
    if (most < 0) return mf_fail(MF_INPUT, "'%s' names the class of no sample", path);
    s->class_name = MF_MUST(calloc((size_t)most + 1, sizeof *s->class_name), "classes");
    for (s->classes = 0; s->classes <= (size_t)most; ++s->classes)
        s->class_name[s->classes] = mf_format("%zu", s->classes);
    return MF_OK;
}

int mf_source_labels(struct mf_source *s)
{
    const size_t column = s->wish->table ? mf_table_column(&s->table, "label") : 0;
    const int in_table = s->wish->table && column < s->table.columns;
    const char *path = s->wish->labels ? s->wish->labels : s->wish->table;

    if (s->wish->classes) {
        s->class_name = MF_MUST(calloc(s->wish->classes, sizeof *s->class_name), "classes");
        for (; s->classes < s->wish->classes; ++s->classes)
            s->class_name[s->classes] = MF_MUST(strdup(s->wish->class_name[s->classes]), "classes");
    }
    if (s->wish->labels && in_table)
        return mf_fail(MF_USAGE, "'%s' has a column label, and --labels is given; leave one of them out",
                       s->wish->table);
    if (!s->wish->labels && !in_table)
        return s->classes ? mf_fail(MF_USAGE, "--classes names classes, and there are no labels; give --labels")
                          : MF_OK;
    s->label = MF_MUST(calloc(s->samples, sizeof *s->label), "labels");
    if (in_table)
        MF_TRY(labels_of_table(s, column));
    else
        MF_TRY(mf_idx_is(path) ? labels_of_idx(s, path) : labels_of_array(s, path));
    return check_labels(s, path);
}
