/* See table.h. */
#include "io/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

#define TEXT_MAX ((size_t)1 << 28)

static int is_gap(const struct mf_table *t, char c) { return c != t->parts && (c == ' ' || c == '\t' || c == '\r'); }

static int is_end(const struct mf_table *t, char c) { return c == t->parts || c == '\n' || c == '\0'; }

/* The text between quotes, in its place; NULL: they do not end. *end: behind it. */
static char *unquote(char *at, char **end)
{
    char *to = at, *cell = at;

    for (; *at && (*at != '"' || at[1] == '"'); ++at) {
        at += *at == '"';
        *to++ = *at;
    }
    *end = at + 1;
    if (!*at) return NULL;
    *to = '\0';
    return cell;
}

/* Where a table is read, and what ended the last cell. */
struct place {
    char *at, last;
    size_t line;
};

/* Reads a cell. NULL: its quotes are wrong. */
static char *take_cell(const struct mf_table *t, struct place *p)
{
    char *cell = p->at, *end, *text;

    while (is_gap(t, *cell)) ++cell;
    for (text = end = cell; *cell != '"' && !is_end(t, *end);) ++end;
    if (*cell == '"') {
        text = unquote(cell + 1, &end);
        if (!text) return NULL;
        while (is_gap(t, *end)) ++end;
        if (!is_end(t, *end)) return NULL;
    }
    p->last = *end;
    p->at = end + (*end != '\0');
    if (text != cell) return text;
    while (end > cell && is_gap(t, end[-1])) --end;
    *end = '\0';
    return cell;
}

static int is_blank(const char *line) { return line[strspn(line, " \t\r")] == '\n' || !line[strspn(line, " \t\r")]; }

/* What stands between the names, outside of quotes. */
static char parts_of(const char *line)
{
    int quoted = 0;

    for (; *line && (quoted || *line != '\n'); ++line) {
        quoted ^= *line == '"';
        if (!quoted && strchr(",;\t", *line)) return *line;
    }
    return ',';
}

/* Cells of a table, at most. */
static size_t most_cells(const struct mf_table *t)
{
    size_t n = 1;

    for (const char *at = t->text; *at; ++at) n += *at == t->parts || *at == '\n';
    return n;
}

/* Reads a line, which has more lines where its quotes do. */
static int take_line(const struct mf_table *t, struct place *p, char **cells, size_t *count)
{
    size_t lines = 1;

    *count = 0;
    do {
        char *cell = take_cell(t, p);

        if (!cell)
            return mf_fail(MF_INPUT, "the quotes of cell %zu in line %zu of '%s' do not end with the cell", *count + 1,
                           p->line, t->path);
        cells[(*count)++] = cell;
        for (; *cell; ++cell) lines += *cell == '\n';
    } while (p->last == t->parts);
    p->line += lines;
    return MF_OK;
}

static void skip_blank_lines(struct place *p)
{
    for (; *p->at && is_blank(p->at); ++p->line) {
        p->at += strcspn(p->at, "\n");
        p->at += *p->at == '\n';
    }
}

static int check_names(const struct mf_table *t)
{
    const char *twice = mf_text_twice(t->columns, (const char *const *)t->name);

    return twice ? mf_fail(MF_INPUT, "'%s' has two columns called '%.100s'", t->path, twice) : MF_OK;
}

static int parse(struct mf_table *t)
{
    struct place p = {.at = t->text + (strncmp(t->text, "\357\273\277", 3) == 0 ? 3 : 0), .line = 1}; /* a UTF-8 mark */
    size_t used = 0;

    skip_blank_lines(&p);
    t->parts = parts_of(p.at);
    t->name = MF_MUST(calloc(most_cells(t), sizeof *t->name), "a table");
    MF_TRY(take_line(t, &p, t->name, &t->columns));
    MF_TRY(check_names(t));
    t->cell = t->name + t->columns;
    for (skip_blank_lines(&p); *p.at; skip_blank_lines(&p)) {
        const size_t line = p.line;
        size_t count;

        MF_TRY(take_line(t, &p, t->cell + used, &count));
        if (count != t->columns)
            return mf_fail(MF_INPUT, "line %zu of '%s' has %zu cells, and its first line %zu", line, t->path, count,
                           t->columns);
        used += count;
    }
    t->rows = used / t->columns;
    if (t->rows) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is no table: it needs a line of names and a line of values", t->path);
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
    char *cell = table->cell[row * table->columns + column], *end, *comma = strchr(cell, ',');

    if (comma && table->parts == ';') *comma = '.';
    *value = strtod(cell, &end);
    if (end != cell && !*end && isfinite(*value)) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' in row %zu of '%s', column '%s', is not a finite number", cell, row + 1, table->path,
                   table->name[column]);
}

void mf_table_put(FILE *to, const char *text)
{
    if (!strpbrk(text, ",;\t\"\n\r")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; ++text) fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}
