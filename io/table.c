/* See table.h. */
#include "io/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/unread.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/utf8.h"

#define TEXT_MAX ((size_t)1 << 32)

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

/* Bytes of a blank at @p at; spreadsheets also write the one that breaks no line. 0: there is none. */
static size_t gap_at(const struct mf_table *t, const char *at)
{
    return is_gap(t, *at) ? 1 : strncmp(at, "\302\240", 2) == 0 ? 2 : 0;
}

/* Blanks around a cell are no part of it, in quotes either. */
static char *trimmed(const struct mf_table *t, char *cell)
{
    char *end = cell;

    while (gap_at(t, cell)) cell += gap_at(t, cell);
    for (char *at = cell; *at;) {
        const size_t gap = gap_at(t, at);

        at += gap ? gap : 1;
        end = gap ? end : at;
    }
    *(end < cell ? cell : end) = '\0';
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
    if (text == cell) *end = '\0';
    return trimmed(t, text);
}

/* Spreadsheets write rows without values as separators alone. */
static int is_blank(const struct mf_table *t, const char *line)
{
    const char gaps[] = {' ', '\t', '\r', t->parts, '\0'};

    line += strspn(line, gaps);
    return *line == '\n' || *line == '\0';
}

/* Returns the separator of the names, outside of quotes. */
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

/* Lines that follow, at most. */
static size_t most_lines(const struct place *p)
{
    size_t n = 1;

    for (const char *at = p->at; *at; ++at) n += *at == '\n';
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

static void skip_blank_lines(const struct mf_table *t, struct place *p)
{
    for (; *p->at && is_blank(t, p->at); ++p->line) {
        p->at += strcspn(p->at, "\n");
        p->at += *p->at == '\n';
    }
}

/* The separator that a first line "sep=;" of Excel names; else 0. */
static char take_sep(struct place *p)
{
    const char parts = strncmp(p->at, "sep=", 4) == 0 ? p->at[4] : '\0';
    const size_t end = parts ? 5 + strspn(p->at + 5, "\r") : 0;

    if (!parts || p->at[end] != '\n') return '\0';
    p->at += end + 1;
    ++p->line;
    return parts;
}

/* Several columns may have no name. */
static int check_names(const struct mf_table *t)
{
    const char **named, *twice;
    size_t n = 0;

    MF_TRY(MF_ROOM(named, t->columns, "the columns of '%.300s'", t->path));
    for (size_t c = 0; c < t->columns; ++c)
        if (*t->name[c]) named[n++] = t->name[c];
    twice = mf_text_twice(n, named);
    free(named);
    return twice ? mf_fail(MF_INPUT, "'%s' has two columns called '%.100s'", t->path, twice) : MF_OK;
}

static int parse(struct mf_table *t)
{
    struct place p = {.at = t->text + (strncmp(t->text, "\357\273\277", 3) == 0 ? 3 : 0), .line = 1}; /* a UTF-8 mark */
    size_t used = 0;

    skip_blank_lines(t, &p);
    t->parts = take_sep(&p);
    if (!t->parts) t->parts = parts_of(p.at);
    MF_TRY(MF_ROOM(t->name, most_cells(t), "the cells of '%.300s'", t->path));
    MF_TRY(take_line(t, &p, t->name, &t->columns));
    MF_TRY(check_names(t));
    t->cell = t->name + t->columns;
    MF_TRY(MF_ROOM(t->line, most_lines(&p), "the lines of '%.300s'", t->path));
    for (skip_blank_lines(t, &p); *p.at; skip_blank_lines(t, &p)) {
        const size_t line = t->line[used / t->columns] = p.line;
        size_t count;

        MF_TRY(take_line(t, &p, t->cell + used, &count));
        if (count != t->columns)
            return mf_fail(
                MF_INPUT, "line %zu of '%s' has %zu cells, and its first line %zu%s", line, t->path, count, t->columns,
                count > t->columns ? "; a cell with a separator (a comma?) in it needs quotes, and every column a name"
                                   : "");
        used += count;
    }
    t->rows = used / t->columns;
    if (t->rows) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is no table: it needs a line of names and a line of values", t->path);
}

/* Names the format of a file that is no text, if it is known. */
static int check_kind(const struct mf_table *t, size_t count)
{
    static const struct kind {
        const char *magic;
        size_t length;
        const char *what;
    } kinds[] = {{"PK\3\4", 4, "a workbook (.xlsx, .ods)"},
                 {"\xd0\xcf\x11\xe0", 4, "a workbook (.xls)"},
                 {"\xff\xfe", 2, "in UTF-16"},
                 {"\xfe\xff", 2, "in UTF-16"},
                 {"\x1f\x8b", 2, "compressed by gzip"},
                 {"PAR1", 4, "a Parquet file"}};

    for (const struct kind *k = kinds; k < kinds + sizeof kinds / sizeof *kinds; ++k)
        if (count >= k->length && memcmp(t->text, k->magic, k->length) == 0)
            return mf_fail(MF_INPUT, "'%s' is %s, no table of text; save it as CSV UTF-8", t->path, k->what);
    if (count <= TEXT_MAX && strlen(t->text) == count) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is no table of text; save it as CSV UTF-8", t->path);
}

/* Names become names of classes and columns, which all files and pictures hold as UTF-8. */
static int check_letters(const struct mf_table *t)
{
    const char *wrong = mf_utf8_wrong(t->text);
    size_t line = 1;

    for (const char *at = t->text; wrong && at < wrong; ++at) line += *at == '\n';
    if (!wrong) return MF_OK;
    return mf_fail(
        MF_INPUT,
        "line %zu of '%s' has letters that are not UTF-8 (byte 0x%02X); save it as CSV UTF-8, or convert it: "
        "iconv -f WINDOWS-1252 -t UTF-8",
        line, t->path, (unsigned)(unsigned char)*wrong);
}

/* Finds a number with a decimal comma. */
static void find_comma(struct mf_table *t)
{
    double value;

    for (size_t i = 0; t->parts == ';' && !t->comma && i < t->rows * t->columns; ++i)
        if (strchr(t->cell[i], ',') && mf_table_number(t, t->cell[i], &value)) t->comma = t->cell[i];
}

/* Lines may end with \r alone, as some spreadsheets write them. */
static void end_lines(char *text)
{
    if (strchr(text, '\n')) return;
    for (; *text; ++text) *text = *text == '\r' ? '\n' : *text;
}

int mf_table_load(const char *path, struct mf_table *table)
{
    size_t count = 0;
    int rc;

    *table = (struct mf_table){.path = MF_MUST(strdup(path), "a file name")};
    rc = mf_text_load(path, TEXT_MAX, &table->text, &count);
    if (rc == MF_OK) rc = mf_unread_pointer(path, (const unsigned char *)table->text, count);
    if (rc == MF_OK) rc = check_kind(table, count);
    if (rc == MF_OK) rc = check_letters(table);
    if (rc == MF_OK) {
        end_lines(table->text);
        rc = parse(table);
    }
    if (rc == MF_OK) find_comma(table);
    if (rc != MF_OK) mf_table_free(table);
    return rc;
}

void mf_table_free(struct mf_table *table)
{
    free(table->path);
    free(table->name);
    free(table->text);
    free(table->line);
    *table = (struct mf_table){0};
}

size_t mf_table_column(const struct mf_table *table, const char *name)
{
    size_t c = 0;

    while (c < table->columns && strcmp(table->name[c], name) != 0) ++c;
    return c;
}

int mf_table_number(const struct mf_table *table, const char *cell, double *value)
{
    const char decimal = table->parts == ';' ? ',' : '.';
    char text[MF_TABLE_NUMBER], *end;

    if (strlen(cell) >= sizeof text || cell[strspn(cell, decimal == ',' ? "0123456789+-eE.," : "0123456789+-eE.")])
        return 0;
    memcpy(text, cell, strlen(cell) + 1);
    for (end = text; *end; ++end) *end = *end == decimal ? '.' : *end;
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value);
}

int mf_table_clear(const struct mf_table *table, size_t row, size_t column)
{
    const char *cell = table->cell[row * table->columns + column];

    if (!table->comma || !strchr(cell, '.')) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%.80s' in row %zu of '%s', column '%s', has a point, and '%.80s' a decimal comma: is it one, or "
                   "does it separate thousands? write decimal commas alone",
                   cell, row + 1, table->path, table->name[column], table->comma);
}

/* Proposes a number for one with separators that no number has. */
static const char *remedy(const struct mf_table *t, const char *cell)
{
    if (!strchr(cell, ',') || cell[strspn(cell, "0123456789+-.,")]) return "";
    return t->parts == ';' ? "; write 1234,5"
                           : "; write 1234.5, or put semicolons between cells, and decimal commas are read";
}

int mf_table_real(const struct mf_table *table, size_t row, size_t column, double *value)
{
    const char *cell = table->cell[row * table->columns + column];

    if (mf_table_number(table, cell, value)) return mf_table_clear(table, row, column);
    return mf_fail(MF_INPUT, "'%.80s' in row %zu of '%s', column '%s', is not a finite number%s", cell, row + 1,
                   table->path, table->name[column], remedy(table, cell));
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
