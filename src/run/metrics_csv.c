/* Metrics as tables (CSV): one for each kind of rows, with fixed columns. See metrics.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/run/metrics_priv.h"

/* The next cell of a line, *length letters; NULL: there is none. Moves *at behind it. */
static const char *next_cell(const char **at, size_t *length)
{
    const char *cell = *at;

    if (!cell) return NULL;
    *length = strcspn(cell, ",\n");
    *at = cell[*length] == ',' ? cell + *length + 1 : NULL;
    return cell;
}

/* The whole number in column @p key; false: the line has none. */
static int cell_of(const char *header, const char *line, const char *key, long long *value)
{
    size_t named, length;
    const char *name, *cell;
    char *end;

    while ((name = next_cell(&header, &named)) && (cell = next_cell(&line, &length)))
        if (named == strlen(key) && strncmp(name, key, named) == 0) {
            *value = strtoll(cell, &end, 10);
            return end > cell;
        }
    return 0;
}

/* ---- a continued run ---- */

struct cut {
    const struct mf_metrics_cut *what;
    const char *header;
};

static int is_late(const char *line, void *context)
{
    const struct cut *cut = context;
    long long step, part;

    return cell_of(cut->header, line, "step", &step) && step > cut->what->step &&
           (!cut->what->key || !cell_of(cut->header, line, cut->what->key, &part) || (uint64_t)part == cut->what->part);
}

static void cut_table(const struct mf_metrics_file *table, const struct mf_metrics_cut *what)
{
    struct cut cut = {what, table->header};

    if (what->wanted && table->header) mf_metrics_sift(table->path, is_late, &cut);
}

void mf_tables_cut(const struct mf_metrics *m)
{
    for (size_t i = 0; i < m->tables; ++i) cut_table(&m->table[i], &m->cut);
}

/* ---- files ---- */

/* "metrics.csv" of "metrics.jsonl", or "metrics-KIND.csv"; heap. */
static char *path_of(const char *lines, const char *kind)
{
    const size_t stem = strlen(lines) - (mf_ends_with(lines, ".jsonl") ? strlen(".jsonl") : 0);

    return mf_format("%.*s%s%s.csv", (int)stem, lines, *kind ? "-" : "", kind);
}

/* The first line of a file, without its end; NULL: there is none. */
static char *header_of(const char *path)
{
    FILE *from = fopen(path, "re");
    char *line = NULL, *end;
    size_t room = 0;

    if (from && getline(&line, &room, from) > 0 && (end = strchr(line, '\n'))) {
        *end = '\0';
    } else {
        free(line);
        line = NULL;
    }
    if (from) (void)fclose(from);
    return line;
}

/* "step,loss"; heap. */
static char *header_for(size_t count, const struct mf_metric *values)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a table");

    for (size_t i = 0, n = 0; i < count; ++i)
        if (strcmp(values[i].key, "kind") != 0) fprintf(to, "%s%s", n++ ? "," : "", values[i].key);
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a table");
    return text;
}

static struct mf_metrics_file *open_table(struct mf_metrics *m, const char *kind, size_t count,
                                          const struct mf_metric *values)
{
    struct mf_metrics_file *t;
    int file;

    m->table = MF_MUST(realloc(m->table, (m->tables + 1) * sizeof *m->table), "a table");
    t = &m->table[m->tables++];
    *t = (struct mf_metrics_file){.path = path_of(m->path, kind), .kind = MF_MUST(strdup(kind), "a table")};
    t->header = m->append ? header_of(t->path) : NULL;
    cut_table(t, &m->cut);
    file = mf_open(t->path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | (t->header ? 0 : O_TRUNC));
    t->to = file >= 0 ? fdopen(file, "a") : NULL;
    if (!t->to) mf_warn("cannot write '%s': %s; the run continues without it", t->path, strerror(errno));
    if (t->header) return t;
    t->header = header_for(count, values);
    if (t->to) fprintf(t->to, "%s\n", t->header);
    return t;
}

static struct mf_metrics_file *table_of(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    const char *kind = mf_metrics_kind(count, values);

    for (size_t i = 0; i < m->tables; ++i)
        if (strcmp(m->table[i].kind, kind) == 0) return &m->table[i];
    return open_table(m, kind, count, values);
}

static void put_cell(FILE *to, const char *name, size_t length, size_t count, const struct mf_metric *values)
{
    for (size_t i = 0; i < count; ++i) {
        if (strlen(values[i].key) != length || strncmp(values[i].key, name, length) != 0) continue;
        if (values[i].kind == MF_METRIC_TEXT) fputs(values[i].text, to);
        if (mf_metrics_has_number(&values[i])) mf_metrics_number(to, &values[i]);
        return;
    }
}

void mf_tables_row(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    struct mf_metrics_file *t = m->forms & MF_METRICS_CSV ? table_of(m, count, values) : NULL;
    const char *at = t ? t->header : NULL, *name;
    size_t length;

    if (!t || !t->to) return;
    while ((name = next_cell(&at, &length))) {
        put_cell(t->to, name, length, count, values);
        fputc(at ? ',' : '\n', t->to);
    }
    mf_metrics_flush(t);
}
