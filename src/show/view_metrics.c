/* See view_metrics.h. */
#include "src/show/view_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/show/training.h"

enum { MOST = 12 /* panels */ };

/* One line: evaluation, seconds, loss; of a training its columns. */
struct row {
    double values[3], training[MF_TRAINING_COLUMNS];
    int binarises, ends;
    long long seed;
};

struct lines {
    struct row *row;
    size_t count, room;
    int trains;       /* has what only a training has */
    int steps;        /* has rows of single steps */
    char output[256]; /* whose run it was, where the first line says it */
};

static int is_folder(const char *file)
{
    struct stat is;

    return stat(file, &is) == 0 && S_ISDIR(is.st_mode);
}

int mf_view_is_metrics(const char *file)
{
    size_t n = strlen(file);

    return (n > 6 && strcmp(file + n - 6, ".jsonl") == 0) || is_folder(file);
}

/* Columns of a training; NAN where a line has none, as that of the end. Does it have any that a reconstruction has not?
 */
static int read_training(const struct mf_json *json, double columns[MF_TRAINING_COLUMNS])
{
    const int ends = strcmp(mf_json_get_text(json, "kind"), "end") == 0;
    int any = 0;

    for (int k = 0; k < MF_TRAINING_COLUMNS; ++k) {
        const struct mf_json *value = ends ? NULL : mf_json_get(json, mf_training_key[k]);
        const enum mf_json_kind kind = mf_json_kind(value);

        columns[k] = kind == MF_JSON_INT || kind == MF_JSON_REAL ? mf_json_to_real(value) : NAN;
        any |= value && k != MF_TRAINING_STEP && k != MF_TRAINING_LOSS && k != MF_TRAINING_SECONDS;
    }
    return any;
}

/* The loss of an epoch is the mean over its steps. Where steps are drawn, that mean is left out. */
static void leave_mean(struct lines *to, const struct mf_json *json, double columns[MF_TRAINING_COLUMNS])
{
    const char *kind = mf_json_get_text(json, "kind");

    to->steps |= strcmp(kind, "step") == 0;
    if (to->steps && strcmp(kind, "epoch") == 0) columns[MF_TRAINING_LOSS] = NAN;
}

static int add(struct lines *to, const struct mf_json *json, const double columns[MF_TRAINING_COLUMNS])
{
    const char *stage = mf_json_get_text(json, "stage");
    struct row *row, *more;

    if (to->count == to->room) {
        more = realloc(to->row, (2 * to->room + 64) * sizeof *more);
        if (!more) return mf_fail(MF_MEMORY, "no memory for %zu lines of metrics", to->count);
        to->row = more;
        to->room = 2 * to->room + 64;
    }
    if (to->count == 0) snprintf(to->output, sizeof to->output, "%s", mf_json_get_text(json, "output"));
    row = &to->row[to->count++];
    *row = (struct row){
        .values = {mf_json_get_real(json, "step"), mf_json_get_real(json, "time"), mf_json_get_real(json, "loss")},
        .binarises = strcmp(stage, "binarise") == 0,
        .ends = strcmp(stage, "final") == 0,
        .seed = mf_json_get_int(json, "seed")};
    memcpy(row->training, columns, sizeof row->training);
    return MF_OK;
}

/* Skips rows that have neither a loss nor another number of a training. The last line may be incomplete while a run
 * writes; any other invalid line is refused. */
static int read_lines(FILE *from, const char *path, struct lines *to)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    int rc = MF_OK;

    while (rc == MF_OK && getline(&line, &room, from) > 0) {
        struct mf_json *json = mf_json_parse(line);
        int whole = strchr(line, '\n') != NULL, trains;
        double columns[MF_TRAINING_COLUMNS];

        ++number;
        trains = read_training(json, columns);
        to->trains |= trains;
        leave_mean(to, json, columns);
        if (mf_json_get(json, "step") && (trains || mf_json_get(json, "loss")))
            rc = add(to, json, columns);
        else if (whole && !mf_json_get(json, "step"))
            rc = mf_fail(MF_INPUT, "'%s', line %zu: not a row of metrics", path, number);
        mf_json_free(json);
    }
    if (rc == MF_OK && ferror(from)) rc = mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    free(line);
    return rc;
}

static int none_yet(const char *path)
{
    return mf_fail(MF_INPUT, "'%s' holds no row of metrics with a loss yet", path);
}

static int read_file(const char *path, struct lines *to)
{
    FILE *from = fopen(path, "r");
    int rc;

    if (!from) return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    rc = read_lines(from, path, to);
    (void)fclose(from);
    return rc == MF_OK && to->count == 0 ? none_yet(path) : rc;
}

/* Rows of one seed, in their order; how many. */
static size_t rows_of(const struct lines *lines, long long seed, double *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->count; ++i)
        if (lines->row[i].seed == seed) memcpy(rows + 3 * n++, lines->row[i].values, 3 * sizeof *rows);
    return n;
}

/* Evaluations at the last row of a seed before its binarisation; 0: none. */
static double binarise_of(const struct lines *lines, long long seed)
{
    double before = 0;

    for (size_t i = 0; i < lines->count; ++i) {
        if (lines->row[i].seed != seed) continue;
        if (lines->row[i].binarises) return before;
        before = lines->row[i].values[0];
    }
    return 0;
}

/* Is the last row of a seed that of the binary field? */
static int has_ended(const struct lines *lines, long long seed)
{
    for (size_t i = lines->count; i > 0; --i)
        if (lines->row[i - 1].seed == seed) return lines->row[i - 1].ends;
    return 0;
}

static int is_new(const struct lines *lines, size_t i)
{
    for (size_t k = 0; k < i; ++k)
        if (lines->row[k].seed == lines->row[i].seed) return 0;
    return 1;
}

static int draw_training(const struct lines *lines, const char *path, struct mf_figure *figure)
{
    double(*rows)[MF_TRAINING_COLUMNS];

    MF_TRY(MF_ROOM(rows, lines->count, "the %zu rows of '%.300s'", lines->count, path));
    for (size_t i = 0; i < lines->count; ++i) memcpy(rows[i], lines->row[i].training, sizeof *rows);
    mf_figure_training(figure, lines->count, (const double(*)[MF_TRAINING_COLUMNS])rows);
    free(rows);
    return figure->count ? MF_OK : none_yet(path);
}

static void draw(const struct lines *lines, struct mf_figure *figure)
{
    double *rows = mf_figure_keep(figure, 3 * lines->count * sizeof *rows);
    size_t seeds = 0;

    for (size_t i = 0; i < lines->count; ++i) {
        if (!is_new(lines, i) || ++seeds > MOST) continue;
        mf_figure_convergence(figure, rows, rows_of(lines, lines->row[i].seed, rows),
                              binarise_of(lines, lines->row[i].seed), has_ended(lines, lines->row[i].seed));
        figure->panel[figure->count - 1].title = mf_figure_text(figure, "Convergence, seed %lld", lines->row[i].seed);
    }
    if (seeds > MOST) mf_info("%zu seeds, the first %d are drawn", seeds, MOST);
    figure->columns = seeds < 3 ? seeds : 3;
}

static const char *name_of(struct mf_figure *figure, const char *path, const char *output)
{
    char *name = mf_training_name(path, output);
    const char *kept = mf_figure_text(figure, "%s", name);

    free(name);
    return kept;
}

/* *output: whose run it was; "": nobody says. */
static int draw_file(const char *file, struct mf_figure *figure, const char **title, const char **output)
{
    const char *path = is_folder(file) ? mf_figure_text(figure, "%s/metrics.jsonl", file) : file;
    struct lines lines = {.row = NULL};
    int rc = read_file(path, &lines);

    if (rc == MF_OK && lines.trains)
        rc = draw_training(&lines, path, figure);
    else if (rc == MF_OK)
        draw(&lines, figure);
    if (rc == MF_OK && lines.trains && *lines.output)
        *title = name_of(figure, path, lines.output);
    else if (rc == MF_OK)
        *title = *lines.output ? mf_figure_text(figure, "%s: the run of %s", mf_name_base(path), lines.output) : path;
    *output = mf_figure_text(figure, "%s", lines.output);
    free(lines.row);
    return rc;
}

int mf_view_metrics(const char *file, struct mf_figure *figure, const char **title)
{
    const char *output;

    MF_TRY(draw_file(file, figure, title, &output));
    if (*output) mf_info("'%s' is of the run of '%s'", file, output);
    return MF_OK;
}

int mf_show_metrics(const char *file, const char *picture)
{
    struct mf_figure figure = {.columns = 1};
    const char *title, *output;
    const int rc = draw_file(file, &figure, &title, &output);

    if (rc == MF_OK) return mf_figure_write(picture, title, &figure);
    mf_figure_free(&figure);
    return rc;
}
