/* See table.h. */
#include "io/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

#define TEXT_MAX ((size_t)1 << 28)

/* Ends a cell at the next comma or the end of its line, without blanks around; the place behind it. */
static char *cut_cell(char *at, char **cell)
{
    char *end = at + strcspn(at, ",\n"), *next = *end ? end + 1 : end;

    while (at < end && isspace((unsigned char)*at)) ++at;
    while (end > at && isspace((unsigned char)end[-1])) --end;
    *end = '\0';
    *cell = at;
    return next;
}

static size_t count_cells(const char *line)
{
    size_t n = 1;

    for (; *line && *line != '\n'; ++line) n += *line == ',';
    return n;
}

static int is_blank(const char *line) { return line[strspn(line, " \t\r")] == '\n' || !line[strspn(line, " \t\r")]; }

static char *next_line(char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* Lines with something on them. */
static size_t count_lines(char *text)
{
    size_t n = 0;

    for (char *line = text; *line; line = next_line(line)) n += !is_blank(line);
    return n;
}

static int parse(struct mf_table *t)
{
    const size_t lines = count_lines(t->text);
    size_t number = 1, row = 0;
    char *line = t->text;

    if (lines < 2) return mf_fail(MF_INPUT, "'%s' is no table: it needs a line of names and a line of values", t->path);
    for (; is_blank(line); ++number) line = next_line(line);
    t->columns = count_cells(line);
    t->rows = lines - 1;
    t->name = MF_MUST(calloc(t->columns, sizeof *t->name), "a table");
    t->cell = MF_MUST(calloc(t->rows * t->columns, sizeof *t->cell), "a table");
    for (size_t c = 0; c < t->columns; ++c) line = cut_cell(line, &t->name[c]);
    for (++number; *line; ++number) {
        if (is_blank(line)) {
            line = next_line(line);
            continue;
        }
        if (count_cells(line) != t->columns)
            return mf_fail(MF_INPUT, "line %zu of '%s' has %zu cells, and its first line %zu", number, t->path,
                           count_cells(line), t->columns);
        for (size_t c = 0; c < t->columns; ++c) line = cut_cell(line, &t->cell[row * t->columns + c]);
        ++row;
    }
    return MF_OK;
}

int mf_table_load(const char *path, struct mf_table *table)
{
    size_t count = 0;
    int rc;

    *table = (struct mf_table){.path = MF_MUST(strdup(path), "a file name")};
    rc = mf_text_load(path, TEXT_MAX, &table->text, &count);
    if (rc == MF_OK && (count > TEXT_MAX || strlen(table->text) != count))
        rc = mf_fail(MF_INPUT, "'%s' is no table of text", path);
    if (rc == MF_OK) rc = parse(table);
    if (rc != MF_OK) mf_table_free(table);
    return rc;
}

void mf_table_free(struct mf_table *table)
{
    free(table->path);
    free(table->name);
    free(table->cell);
    free(table->text);
    *table = (struct mf_table){0};
}

size_t mf_table_column(const struct mf_table *table, const char *name)
{
    size_t c = 0;

    while (c < table->columns && strcmp(table->name[c], name) != 0) ++c;
    return c;
}

int mf_table_real(const struct mf_table *table, size_t row, size_t column, double *value)
{
    const char *cell = table->cell[row * table->columns + column];
    char *end;

    *value = strtod(cell, &end);
    if (end != cell && !*end && isfinite(*value)) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' in row %zu of '%s', column '%s', is not a finite number", cell, row + 1, table->path,
                   table->name[column]);
}
