/* See report_follow.h. */
#include "src/cmd/host/report_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/lock.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/cmd/output.h"
#include "src/run/checkpoint.h"

enum { KINDS = 64, KEPT = 8 /* rows of a kind that a table shows */, CELL = 64, WIDTH = 9 };

static const double QUIET = 20; /* seconds without a row */

/* The newest rows of a kind, the last one last. */
struct kind {
    const char *name; /* borrowed from its rows */
    struct mf_json *row[KEPT];
    size_t rows;
};

struct follow {
    const char *file;
    char *output; /* of the run, NULL: no row yet */
    int json, terminal;
    long at;          /* bytes that were read */
    struct stat is;   /* the file when it was last read */
    int locked, ends; /* it was seen at work; its last row is that of its end */
    struct kind kind[KINDS];
    size_t kinds;
};

/* ---- what is printed ---- */

static int is_shown(const char *key) { return strcmp(key, "output") != 0 && strcmp(key, "kind") != 0; }

static void put_value(const struct mf_json *value, char cell[CELL])
{
    const enum mf_json_kind kind = mf_json_kind(value);
    const char *text = kind == MF_JSON_TEXT ? mf_json_to_text(value) : "-";

    if (kind == MF_JSON_INT)
        snprintf(cell, CELL, "%lld", mf_json_to_int(value));
    else if (kind == MF_JSON_REAL)
        snprintf(cell, CELL, "%.5g", mf_json_to_real(value));
    else
        snprintf(cell, CELL, "%.*s", (int)mf_utf8_cut(text, CELL - 4), text);
}

struct line {
    FILE *to;
    const char *before; /* of the next value; NULL: cells of a table */
    int keys;           /* cells have the keys instead of values */
};

static void put(void *context, const char *key, const struct mf_json *value)
{
    struct line *line = context;
    const int width = (int)strlen(key) > WIDTH ? (int)strlen(key) : WIDTH;
    char cell[CELL];

    if (!is_shown(key)) return;
    put_value(value, cell);
    if (line->before) {
        fprintf(line->to, "%s%s %s", line->before, key, cell);
        line->before = ", ";
    } else
        fprintf(line->to, "  %*s", width, line->keys ? key : cell);
}

static void print_line(const struct mf_json *row)
{
    const char *kind = mf_json_get_text(row, "kind");
    struct line line = {stdout, *kind ? ": " : "", 0};

    printf("%s", kind);
    mf_json_each(row, put, &line);
    putchar('\n');
}

/* As much of it as the terminal has columns. */
static void print_cut(const char *head, const struct mf_json *row, int keys, int columns)
{
    char *text = NULL;
    size_t size;
    struct line line = {MF_MUST(open_memstream(&text, &size), "a line"), NULL, keys};

    fprintf(line.to, "%-8s", head);
    mf_json_each(row, put, &line);
    MF_ASSERT(fclose(line.to) == 0);
    printf("%.*s\n", (int)mf_utf8_cut(text, (size_t)columns), text);
    free(text);
}

static void print_table(const struct follow *f)
{
    static const char clear[] = "\033[H\033[J";
    struct winsize is = {0};
    const int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &is) == 0 && is.ws_col > 0 ? is.ws_col : 80;

    printf("%s%s: %s\n", clear, f->file, f->output ? f->output : "no row yet");
    for (size_t k = 0; k < f->kinds; ++k) {
        const struct kind *kind = &f->kind[k];

        print_cut("", kind->row[kind->rows - 1], 1, columns);
        for (size_t i = 0; i < kind->rows; ++i) print_cut(kind->name, kind->row[i], 0, columns);
    }
}

/* ---- rows ---- */

/* Rows of single steps are many: the last one says enough. */
static void keep(struct follow *f, struct mf_json *row)
{
    const char *name = mf_json_get_text(row, "kind");
    const size_t most = strcmp(name, "epoch") == 0 || strcmp(name, "change") == 0 ? KEPT : 1;
    struct kind *kind = f->kind;

    while (kind < f->kind + f->kinds && strcmp(kind->name, name) != 0) ++kind;
    if (kind == f->kind + f->kinds && f->kinds == KINDS) --kind;
    if (kind == f->kind + f->kinds) ++f->kinds;
    if (kind->rows >= most) {
        mf_json_free(kind->row[0]);
        memmove(kind->row, kind->row + 1, --kind->rows * sizeof *kind->row);
    }
    kind->row[kind->rows++] = row;
    kind->name = name;
}

static void forget(struct follow *f)
{
    for (size_t k = 0; k < f->kinds; ++k)
        for (size_t i = 0; i < f->kind[k].rows; ++i) mf_json_free(f->kind[k].row[i]);
    memset(f->kind, 0, sizeof f->kind);
    f->kinds = 0;
    f->at = 0;
}

static int take(struct follow *f, const char *text)
{
    struct mf_json *row = mf_json_parse(text);

    if (!row) return mf_fail(MF_INPUT, "'%s' is no file of metrics: it has the line '%.40s'", f->file, text);
    if (!f->output) f->output = MF_MUST(strdup(mf_json_get_text(row, "output")), "a name");
    f->ends = strcmp(mf_json_get_text(row, "kind"), "end") == 0 || strcmp(mf_json_get_text(row, "stage"), "final") == 0;
    if (f->json)
        fputs(text, stdout);
    else if (!f->terminal)
        print_line(row);
    if (f->terminal)
        keep(f, row);
    else
        mf_json_free(row);
    return MF_OK;
}

/* Takes the whole lines behind those that were read. *seconds: since the file was last written. */
static int read_more(struct follow *f, size_t *lines, double *seconds)
{
    FILE *from = fopen(f->file, "re");
    struct stat is;
    char *line = NULL;
    size_t room = 0;
    int rc = MF_OK;

    *lines = 0;
    if (!from || fstat(fileno(from), &is) != 0) {
        rc = mf_fail(MF_INPUT, "cannot read '%s': %s%s", f->file, strerror(errno),
                     errno == ENOENT ? "; a run makes its folder and metrics.jsonl as it starts: start it first" : "");
        if (from) (void)fclose(from);
        return rc;
    }
    *seconds = difftime(time(NULL), is.st_mtim.tv_sec);
    if (is.st_size < f->at || is.st_ino != f->is.st_ino || is.st_dev != f->is.st_dev)
        forget(f); /* a continued run has removed rows that it writes again, or another file has the name now */
    f->is = is;
    if (fseek(from, f->at, SEEK_SET) != 0) rc = mf_fail(MF_INPUT, "cannot read '%s': %s", f->file, strerror(errno));
    while (rc == MF_OK && getline(&line, &room, from) > 0 && strchr(line, '\n')) {
        rc = take(f, line);
        f->at = ftell(from);
        ++*lines;
    }
    free(line);
    (void)fclose(from);
    return rc;
}

/* The output lies beside the metrics. The caller frees. */
static char *output_path(const struct follow *f)
{
    return mf_format("%.*s%s", (int)(mf_name_base(f->file) - f->file), f->file, f->output ? f->output : "");
}

/* Is the run at work? */
static int is_locked(const struct follow *f)
{
    char *path = output_path(f);
    const int locked = f->output && mf_lock_free(path) != MF_OK;

    mf_err_clear();
    free(path);
    return locked;
}

/* One look. Rank 0. */
static int look(struct follow *f, int *over)
{
    const int locked = is_locked(f);
    double quiet = 0;
    size_t lines;

    f->locked |= locked;
    MF_TRY(read_more(f, &lines, &quiet)); /* after the look at the lock: else last rows could come in between */
    *over = !locked && lines == 0 && (f->locked || f->ends || quiet >= QUIET);
    if (f->terminal && (lines || *over)) print_table(f);
    if (fflush(stdout) != 0) return mf_fail(MF_OUTPUT, "cannot write: %s", strerror(errno));
    return MF_OK;
}

/* A run that is stopped leaves a checkpoint. One that is killed may have left one before. */
static int has_checkpoint(const struct follow *f)
{
    char *path = output_path(f), *stem = mf_checkpoint_stem(path);
    int has = 0;

    for (int which = 0; which < 2; ++which) {
        char *name = mf_checkpoint_name(stem, which);

        has |= access(name, F_OK) == 0;
        free(name);
    }
    free(stem);
    free(path);
    return has;
}

/* How it came to its end. Rank 0. */
static void say_end(const struct follow *f)
{
    if (!f->output)
        mf_warn("'%s': no row came in %.0f s, and no run is seen", f->file, QUIET);
    else if (f->ends)
        mf_info("'%s': the run has ended", f->output);
    else if (has_checkpoint(f))
        mf_warn(
            "'%s': the run was stopped or killed before its end, and left a checkpoint; --restart auto continues it",
            f->output);
    else
        mf_warn("'%s': the run is gone before its end, and left no checkpoint", f->output);
}

int mf_report_follow(const struct mf_session *s, const char *file)
{
    const struct timespec second = {1, 0};
    struct follow *f = MF_MUST(calloc(1, sizeof *f), "a run to follow");
    int over = 0, rc = MF_OK;

    *f = (struct follow){.file = file, .json = mf_common_of(s)->json};
    f->terminal = !f->json && mf_output_terminal();
    while (!over) {
        rc = mf_agree(s->comm, s->comm->rank == 0 ? look(f, &over) : MF_OK);
        over |= rc != MF_OK;
        mf_comm_bcast(s->comm, 0, &over, sizeof over);
        if (!over) (void)nanosleep(&second, NULL);
    }
    if (rc == MF_OK && s->comm->rank == 0) say_end(f);
    forget(f);
    free(f->output);
    free(f);
    return rc;
}
