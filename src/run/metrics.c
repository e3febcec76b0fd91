/* See metrics.h. */
#include "src/run/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/run/metrics_priv.h"

#define ROW "{\"output\":"

/* The first line of a regular file; heap. NULL: it has none. */
static char *first_line(const char *path)
{
    char *line = NULL;
    struct stat is;
    size_t room = 0;
    FILE *from = stat(path, &is) == 0 && S_ISREG(is.st_mode) ? fopen(path, "re") : NULL;
    const int there = from && getline(&line, &room, from) > 0;

    if (from) (void)fclose(from);
    if (there) return line;
    free(line);
    return NULL;
}

/* The first row's output; heap, "": it names none. */
static char *output_of(const char *path)
{
    char *line = first_line(path);
    struct mf_json *row = line ? mf_json_parse(line) : NULL;
    const char *output = mf_json_get_text(row, "output");
    char *copy = MF_MUST(strdup(output ? output : ""), "a file name");

    mf_json_free(row);
    free(line);
    return copy;
}

int mf_metrics_are_of(const char *path, const char *output)
{
    char *theirs = output_of(path);
    const int are = strcmp(theirs, output) == 0;

    free(theirs);
    return are;
}

/* Is a regular file one that another run writes, or has written? */
static int is_others(int file, const char *path, const char *output)
{
    char *theirs;
    int is;

    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 1;
    theirs = output_of(path);
    is = *theirs && strcmp(theirs, output) != 0;
    free(theirs);
    return is;
}

int mf_metrics_may(const char *path)
{
    char *line = first_line(path);
    const int ours = !line || strncmp(line, ROW, strlen(line) < strlen(ROW) ? strlen(line) : strlen(ROW)) == 0;

    free(line);
    if (ours) return MF_OK;
    return mf_fail(MF_OUTPUT,
                   "'%s' is not of this program, and the run's metrics would replace it; try: another folder", path);
}

int mf_metrics_table_may(const char *path)
{
    char *line = first_line(path), *at = line, *cell;
    int ours = !line;

    while (!ours && (cell = strsep(&at, ",\n"))) ours = strcmp(cell, "step") == 0;
    free(line);
    if (ours) return MF_OK;
    return mf_fail(MF_OUTPUT,
                   "'%s' is not of this program, and a table of this run would replace it; try: another "
                   "folder, or --no-csv",
                   path);
}

/* A pipe that nobody reads is refused. */
static int open_file(const char *path) { return mf_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK); }

/* NAME.metrics.jsonl beside the path; heap. */
static char *own_name(const char *path, const char *output)
{
    const char *dot = strrchr(output, '.');
    int folder = (int)(mf_name_base(path) - path), stem = dot && dot != output ? (int)(dot - output) : -1;

    return mf_format("%.*s%.*s.metrics.jsonl", folder, path, stem, output);
}

/* "output": NAME, escaped; heap. */
static char *member(const char *output)
{
    struct mf_json *json = mf_json_object();
    char *text, *inside;

    mf_json_text(json, "output", output);
    text = mf_json_string(json);
    inside = MF_MUST(strndup(text + 1, (size_t)(strrchr(text, '}') - text) - 1), "a file name");
    mf_json_free(json);
    free(text);
    return inside;
}

void mf_metrics_open(struct mf_metrics *m, const char *path, const char *output, int append, int said)
{
    int file = open_file(path), why = errno;
    struct stat is;

    *m = (struct mf_metrics){.path = MF_MUST(strdup(path), "a file name"), .output = member(output), .append = append};
    if (file >= 0 && fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is_others(file, path, output)) {
        close(file);
        free(m->path);
        m->path = own_name(path, output);
        m->own = 1;
        if (!said) mf_info("'%s' has the metrics of another output; those of this run go to '%s'", path, m->path);
        file = open_file(m->path);
        why = errno;
        if (file >= 0) (void)flock(file, LOCK_EX | LOCK_NB);
    }
    if (file >= 0 && !append) (void)!ftruncate(file, 0); /* a pipe has no length */
    m->file = file >= 0 ? fdopen(file, "a") : NULL;
    if (m->file) return;
    mf_warn("cannot write '%s': %s; the run continues without it", m->path, strerror(file < 0 ? why : errno));
    m->lost = 1;
}

/* The rows of one part of the run up to its checkpoint. */
struct cut {
    const char *key;
    uint64_t part;
    size_t rows, seen; /* rows that stay; rows of the part so far */
    long step;
};

/* Does a line come after the checkpoint? */
static int is_late(const char *line, void *context)
{
    struct cut *cut = context;
    struct mf_json *row = mf_json_parse(line);
    const struct mf_json *step = mf_json_get(row, "step");
    int late = 0;

    if (step && !cut->key)
        late = mf_json_to_int(step) > cut->step;
    else if (step && (uint64_t)mf_json_to_int(mf_json_get(row, cut->key)) == cut->part)
        late = ++cut->seen > cut->rows || mf_json_to_int(step) > cut->step;
    mf_json_free(row);
    return late;
}

/* Copies what stays behind the first late line; *first: where that one begins, -1: there is none. */
static char *sift(FILE *from, int (*late)(const char *line, void *context), void *context, long *first, size_t *size)
{
    char *line = NULL, *kept = NULL;
    size_t room = 0;
    FILE *to = open_memstream(&kept, size);

    *first = -1;
    for (long at = 0; to && getline(&line, &room, from) > 0; at = ftell(from)) {
        const int drop = strchr(line, '\n') == NULL || late(line, context);

        if (drop && *first < 0) *first = at;
        if (!drop && *first >= 0) fputs(line, to);
    }
    free(line);
    if (to && fclose(to) == 0 && !ferror(from)) return kept; /* else rows that could not be read would be gone */
    free(kept);
    return NULL;
}

void mf_metrics_sift(const char *path, int (*late)(const char *line, void *context), void *context)
{
    FILE *file = fopen(path, "r+");
    size_t size = 0;
    long first = -1;
    char *kept = file ? sift(file, late, context, &first, &size) : NULL;

    if (kept && first >= 0 && ftruncate(fileno(file), first) == 0 && fseek(file, first, SEEK_SET) == 0 &&
        fwrite(kept, 1, size, file) != size)
        mf_warn("'%s' has lost rows of other parts of the run: %s", path, strerror(errno));
    free(kept);
    if (file) (void)fclose(file);
}

void mf_metrics_cut(struct mf_metrics *m, const char *key, uint64_t part, size_t rows, long step)
{
    struct cut cut = {.key = key, .part = part, .rows = rows, .step = step};
    struct stat is;

    if (m->file && fstat(fileno(m->file), &is) == 0 && S_ISREG(is.st_mode)) mf_metrics_sift(m->path, is_late, &cut);
    m->cut = (struct mf_metrics_cut){1, key, part, step};
    mf_tables_cut(m);
    mf_events_cut(m, step);
}

/* Closes a file. Was it lost? */
static int end(FILE **file, const char *path, int whole)
{
    int why = errno;

    if (fclose(*file) != 0 && whole) {
        whole = 0;
        why = errno;
    }
    if (!whole) mf_warn("'%s' is not complete: %s; the run continues without it", path, strerror(why));
    *file = NULL;
    return !whole;
}

void mf_metrics_flush(struct mf_metrics_file *file)
{
    if (fflush(file->to) != 0 || ferror(file->to)) (void)end(&file->to, file->path, 0);
}

void mf_metrics_number(FILE *to, const struct mf_metric *value)
{
    if (value->kind == MF_METRIC_INT)
        fprintf(to, "%llu", (unsigned long long)value->whole);
    else
        fprintf(to, value->kind == MF_METRIC_SECONDS ? "%.6f" : "%.17g", value->real);
}

int mf_metrics_has_number(const struct mf_metric *value)
{
    return value->kind == MF_METRIC_INT || (value->kind != MF_METRIC_TEXT && isfinite(value->real));
}

const char *mf_metrics_kind(size_t count, const struct mf_metric *values)
{
    for (size_t i = 0; i < count; ++i)
        if (values[i].kind == MF_METRIC_TEXT && strcmp(values[i].key, "kind") == 0) return values[i].text;
    return "";
}

static void put(FILE *to, const struct mf_metric *m)
{
    fprintf(to, ", \"%s\": ", m->key);
    if (m->kind == MF_METRIC_TEXT)
        fprintf(to, "\"%s\"", m->text);
    else if (mf_metrics_has_number(m))
        mf_metrics_number(to, m);
    else
        fputs("null", to);
}

static void put_line(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    fprintf(m->file, "{%s", m->output); /* begins with ROW */
    for (size_t i = 0; i < count; ++i) put(m->file, &values[i]);
    fputs("}\n", m->file);
    if (fflush(m->file) != 0 || ferror(m->file)) m->lost = end(&m->file, m->path, 0);
}

void mf_metrics_line(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    if (m->file) put_line(m, count, values);
}

struct mf_json *mf_metrics_last(const char *path, const char *output, const char *kind)
{
    char *file = mf_metrics_are_of(path, output) ? MF_MUST(strdup(path), "a name") : own_name(path, output);
    char *line = first_line(file); /* NULL: there is no such file */
    FILE *from = line ? fopen(file, "re") : NULL;
    struct mf_json *last = NULL;
    size_t room = 0;

    free(line);
    line = NULL;
    while (from && getline(&line, &room, from) > 0) {
        struct mf_json *row = strstr(line, kind) ? mf_json_parse(line) : NULL;

        if (strcmp(mf_json_get_text(row, "kind"), kind) != 0) {
            mf_json_free(row);
            continue;
        }
        mf_json_free(last);
        last = row;
    }
    if (from) (void)fclose(from);
    free(line);
    free(file);
    return last;
}

void mf_metrics_row(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    mf_metrics_line(m, count, values);
    mf_tables_row(m, count, values);
    mf_events_row(m, count, values);
}

void mf_metrics_also(struct mf_metrics *m, unsigned forms)
{
    m->forms = m->path ? forms : 0;
    if (m->forms & MF_METRICS_EVENTS) mf_events_open(m);
}

static void close_file(struct mf_metrics_file *file)
{
    if (file->to) (void)end(&file->to, file->path, 1);
    free(file->path);
    free(file->kind);
    free(file->header);
}

void mf_metrics_close(struct mf_metrics *m)
{
    if (m->file) m->lost = end(&m->file, m->path, 1);
    for (size_t i = 0; i < m->tables; ++i) close_file(&m->table[i]);
    close_file(&m->events);
    free(m->table);
    free(m->path);
    free(m->output);
}
