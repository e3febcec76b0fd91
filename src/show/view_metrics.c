/* See view_metrics.h. */
#include "src/show/view_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { MOST = 12 /* panels */ };

/* One line: evaluation, seconds, loss. */
struct row {
    double values[3];
    int binarises, ends;
    long long seed;
};

struct lines {
    struct row *row;
    size_t count, room;
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

static int add(struct lines *to, const struct mf_json *json)
{
    const char *stage = mf_json_get_text(json, "stage");
    struct row *more;

    if (to->count == to->room) {
        more = realloc(to->row, (2 * to->room + 64) * sizeof *more);
        if (!more) return mf_fail(MF_MEMORY, "no memory for %zu lines of metrics", to->count);
        to->row = more;
        to->room = 2 * to->room + 64;
    }
    if (to->count == 0) snprintf(to->output, sizeof to->output, "%s", mf_json_get_text(json, "output"));
    to->row[to->count++] =
        (struct row){{mf_json_get_real(json, "step"), mf_json_get_real(json, "time"), mf_json_get_real(json, "loss")},
                     strcmp(stage, "binarise") == 0,
                     strcmp(stage, "final") == 0,
                     mf_json_get_int(json, "seed")};
    return MF_OK;
}

/* Rows without a loss are skipped. The last line may be incomplete while a run writes; any other invalid line is
 * refused. */
static int read_lines(FILE *from, const char *path, struct lines *to)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    int rc = MF_OK;

    while (rc == MF_OK && getline(&line, &room, from) > 0) {
        struct mf_json *json = mf_json_parse(line);
        int whole = strchr(line, '\n') != NULL;

        ++number;
        if (mf_json_get(json, "step") && mf_json_get(json, "loss"))
            rc = add(to, json);
        else if (whole && !mf_json_get(json, "step"))
            rc = mf_fail(MF_INPUT, "'%s', line %zu: not a row of metrics", path, number);
        mf_json_free(json);
    }
    if (rc == MF_OK && ferror(from)) rc = mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    free(line);
    return rc;
}

static int read_file(const char *path, struct lines *to)
{
    FILE *from = fopen(path, "r");
    int rc;

    if (!from) return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    rc = read_lines(from, path, to);
    (void)fclose(from);
    if (rc == MF_OK && to->count == 0) rc = mf_fail(MF_INPUT, "'%s' holds no row of metrics with a loss yet", path);
    return rc;
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

int mf_view_metrics(const char *file, struct mf_figure *figure, const char **title)
{
    const char *path = is_folder(file) ? mf_figure_text(figure, "%s/metrics.jsonl", file) : file;
    struct lines lines = {.row = NULL};
    int rc = read_file(path, &lines);

    if (rc == MF_OK) draw(&lines, figure);
    if (rc == MF_OK)
        *title = *lines.output ? mf_figure_text(figure, "%s: the run of %s", mf_name_base(path), lines.output) : path;
    if (rc == MF_OK && *lines.output) mf_info("'%s' is of the run of '%s'", path, lines.output);
    free(lines.row);
    return rc;
}
