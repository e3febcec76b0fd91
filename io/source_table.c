/* Columns of a table of samples. See source_priv.h. */
#include "io/source_priv.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

int mf_source_rows(const struct mf_source *s, const char *path, size_t rows)
{
    if (rows == s->samples) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %zu rows for %zu samples in '%s'", path, rows, s->samples, s->wish->path);
}

static int read_split(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;

    s->split = MF_MUST(calloc(t->rows, 1), "splits");
    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];
        int k = 0;

        while (k < MF_SPLITS && strcmp(cell, mf_split_names[k]) != 0) ++k;
        if (k == MF_SPLITS && strcmp(cell, "none") != 0)
            return mf_fail(MF_INPUT, "'%s' in row %zu of '%s' is no split; write train, validation or test", cell,
                           i + 1, t->path);
        s->split[i] = k == MF_SPLITS ? MF_SPLIT_NONE : (uint8_t)k;
    }
    return MF_OK;
}

/* All columns that have no other meaning. */
static int read_reals(struct mf_source *s)
{
    static const char *const others[] = {"file", "label", "split", "id"};
    const struct mf_table *t = &s->table;
    size_t *column = MF_MUST(calloc(t->columns, sizeof *column), "columns");
    int rc = MF_OK;

    s->real_name = MF_MUST(calloc(t->columns, sizeof *s->real_name), "columns");
    for (size_t c = 0; c < t->columns; ++c) {
        size_t k = 0;

        while (k < 4 && strcmp(t->name[c], others[k]) != 0) ++k;
        if (k < 4) continue;
        column[s->reals] = c;
        s->real_name[s->reals++] = t->name[c];
        if (strlen(t->name[c]) >= MF_REAL_TEXT) rc = mf_fail(MF_INPUT, "a name in '%s' is too long", t->path);
    }
    s->real = MF_MUST(calloc(t->rows * (s->reals + 1), sizeof *s->real), "properties");
    for (size_t i = 0; rc == MF_OK && i < t->rows * s->reals; ++i) {
        double value = 0;

        rc = mf_table_real(t, i / s->reals, column[i % s->reals], &value);
        s->real[i] = (float)value;
    }
    free(column);
    return rc;
}

int mf_source_files(struct mf_source *s)
{
    const size_t column = mf_table_column(&s->table, "file");

    if (column == s->table.columns)
        return mf_fail(MF_INPUT, "'%s' has no column 'file' that names the pictures", s->table.path);
    s->file = MF_MUST(calloc(s->table.rows, sizeof *s->file), "pictures");
    for (size_t i = 0; i < s->table.rows; ++i) {
        s->file[i] = s->table.cell[i * s->table.columns + column];
        if (!*s->file[i]) return mf_fail(MF_INPUT, "row %zu of '%s' names no picture", i + 1, s->table.path);
    }
    return MF_OK;
}

int mf_source_columns(struct mf_source *s)
{
    const size_t column = mf_table_column(&s->table, "split");

    MF_TRY(read_reals(s));
    return column < s->table.columns ? read_split(s, column) : MF_OK;
}
