/* See report_properties.h. */
#include "src/cmd/host/report_properties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/plot.h"
#include "src/base/err.h"

enum { AXES = 3, LINE = 5, BAR = 7, CELL = 80, COLUMNS = 8, PATH = 1200 };

/* Conductivities of one file, or means over several. */
struct shown {
    size_t axes;
    const char *axis[AXES]; /* those that are known */
    const struct mf_json *k, *bounds;
};

/* A curve with its points. */
struct drawn {
    struct mf_panel panel;
    struct mf_curve curve[6];
    double wiener[2][LINE], hashin[2][LINE]; /* x, y */
    double bar[2][2][AXES * BAR], at[2][AXES];
    double *dots;
};

/* ---- numbers ---- */

static double number(const struct mf_json *object, const char *key)
{
    const struct mf_json *value = mf_json_get(object, key);

    return value ? mf_json_to_finite(value) : NAN;
}

static struct shown shown_of(const struct mf_json *k, const struct mf_json *bounds)
{
    static const char *const all[AXES] = {"z", "y", "x"};
    struct shown s = {.k = k, .bounds = bounds};

    for (int a = 0; a < AXES; ++a)
        if (mf_json_get(k, all[a])) s.axis[s.axes++] = all[a];
    return s;
}

static int is_one(const struct mf_json *said) { return shown_of(mf_json_get(said, "conductivity"), NULL).axes > 0; }
static int is_many(const struct mf_json *said)
{
    return mf_json_count(mf_json_get(said, "files")) > 0 && mf_json_get(said, "interval");
}
int mf_is_properties(const struct mf_json *said) { return is_one(said) || is_many(said); }

static double bound(const struct mf_json *bounds, const char *name, size_t which)
{
    return mf_json_to_finite(mf_json_item(mf_json_get(bounds, name), which));
}

/* ---- the picture ---- */

/* The low and the high bound, across all axes. */
static void add_bounds(struct drawn *d, const struct shown *s, const char *key, const char *name, double at[2][LINE])
{
    const double right = (double)s->axes - 0.5;
    const double x[LINE] = {-0.5, right, NAN, -0.5, right};

    if (!s->bounds) return;
    for (size_t i = 0; i < LINE; ++i) {
        at[0][i] = x[i];
        at[1][i] = bound(s->bounds, key, i > 2);
    }
    d->curve[d->panel.curve_count++] = (struct mf_curve){
        .name = name, .count = LINE, .x = at[0], .y = at[1], .dashed = 1, .colour = at == d->wiener ? -1 : 3};
}

/* Errors around the values, @p aside of them. */
static void add_bars(struct drawn *d, const struct shown *s, const struct mf_json *errors, const char *name,
                     double aside, int which)
{
    static const double across[BAR] = {-0.05, 0.05, 0, 0, -0.05, 0.05, NAN}, up[BAR] = {-1, -1, -1, 1, 1, 1, NAN};
    int known = 0;

    for (size_t a = 0; a < s->axes; ++a) {
        const double k = number(s->k, s->axis[a]), error = number(errors, s->axis[a]);

        known |= isfinite(error);
        for (size_t i = 0; i < BAR; ++i) {
            d->bar[which][0][a * BAR + i] = (double)a + aside + across[i];
            d->bar[which][1][a * BAR + i] = k + up[i] * error;
        }
    }
    if (known)
        d->curve[d->panel.curve_count++] = (struct mf_curve){.name = name,
                                                             .count = s->axes * BAR,
                                                             .x = d->bar[which][0],
                                                             .y = d->bar[which][1],
                                                             .colour = which ? 4 : 2};
}

static void add_values(struct drawn *d, const struct shown *s, const char *name)
{
    for (size_t a = 0; a < s->axes; ++a) {
        d->at[0][a] = (double)a;
        d->at[1][a] = number(s->k, s->axis[a]);
    }
    d->curve[d->panel.curve_count++] = (struct mf_curve){
        .name = name, .count = s->axes, .x = d->at[0], .y = d->at[1], .marks = MF_MARK_CIRCLES, .colour = 1};
}

/* The values of all files. */
static void add_dots(struct drawn *d, const struct shown *s, const struct mf_json *files)
{
    const size_t n = mf_json_count(files), all = n * s->axes;
    double *x = d->dots = MF_MUST(calloc(2 * all + 1, sizeof *x), "points"), *y = x + all;

    for (size_t i = 0; i < n; ++i)
        for (size_t a = 0; a < s->axes; ++a) {
            x[i * s->axes + a] = (double)a + 0.12;
            y[i * s->axes + a] = number(mf_json_get(mf_json_item(files, i), "conductivity"), s->axis[a]);
        }
    d->curve[d->panel.curve_count++] =
        (struct mf_curve){.name = "each file", .count = all, .x = x, .y = y, .marks = MF_MARK_DOTS, .colour = 4};
}

static int picture(const struct mf_page *page, const char *folder, size_t number, const struct shown *s,
                   struct drawn *d)
{
    static const char title[] = "Effective conductivity and its bounds";
    char path[PATH];

    d->panel.kind = MF_PANEL_CURVES;
    d->panel.ylabel = "conductivity";
    d->panel.xlabel = "axis";
    d->panel.curves = d->curve;
    d->panel.bar_count = s->axes;
    d->panel.bar_names = s->axis;
    d->panel.zoom = 1.4;
    snprintf(path, sizeof path, "%.1100s/properties-%zu.png", folder, number);
    MF_TRY(mf_plot_write(path, title, &d->panel, 1, 1));
    return mf_page_picture(page, path, title);
}

static int draw(const struct mf_page *page, const char *folder, size_t number, const struct shown *s,
                const struct mf_json *said)
{
    const struct mf_json *error = mf_json_get(s->k, "error");
    struct drawn d = {.dots = NULL};
    int rc;

    add_bounds(&d, s, "wiener", "Wiener", d.wiener);
    add_bounds(&d, s, "hashin_shtrikman", "Hashin and Shtrikman", d.hashin);
    if (is_many(said)) {
        add_bars(&d, s, mf_json_get(said, "interval"), "95 % interval of the mean", 0, 0);
        add_dots(&d, s, mf_json_get(said, "files"));
        add_values(&d, s, "mean");
    } else {
        add_bars(&d, s, mf_json_get(error, "grid"), "error of the grid", -0.12, 0);
        add_bars(&d, s, mf_json_get(error, "sample"), "error of the sample", 0.12, 1);
        add_values(&d, s, "conductivity");
    }
    rc = picture(page, folder, number, s, &d);
    free(d.dots);
    return rc;
}

/* ---- tables ---- */

static const char *text_of(double value, int digits, char cell[CELL])
{
    snprintf(cell, CELL, "-");
    if (isfinite(value)) snprintf(cell, CELL, "%.*g", digits, value);
    return cell;
}

/* A file's axes; @p name: of the file. */
static void file_rows(const struct mf_page *page, const char *name, const struct mf_json *said)
{
    static const char *const errors[] = {"solver", "grid", "sample"};
    static const char *const factors[] = {"tortuosity_factor", "tortuosity_factor_carrying", "formation_factor"};
    const struct mf_json *k = mf_json_get(said, "conductivity"), *error = mf_json_get(k, "error");
    const struct shown s = shown_of(k, NULL);
    char cell[COLUMNS][CELL];

    for (size_t a = 0; a < s.axes; ++a) {
        const char *cells[COLUMNS + 1] = {name, s.axis[a], text_of(number(k, s.axis[a]), 6, cell[0])};

        for (size_t i = 0; i < 3; ++i) {
            cells[3 + i] = text_of(number(mf_json_get(error, errors[i]), s.axis[a]), 2, cell[1 + i]);
            cells[6 + i] = text_of(number(mf_json_get(said, factors[i]), s.axis[a]), 5, cell[4 + i]);
        }
        mf_page_row(page, COLUMNS + 1, cells);
    }
}

static void values_table(const struct mf_page *page, const char *name, const struct mf_json *said)
{
    static const char *const column[COLUMNS + 1] = {"file",
                                                    "axis",
                                                    "conductivity",
                                                    "+- solver",
                                                    "+- grid",
                                                    "+- sample",
                                                    "tortuosity factor",
                                                    "by what carries",
                                                    "formation factor"};
    const struct mf_json *files = mf_json_get(said, "files");

    mf_page_table(page, COLUMNS + 1, column);
    for (size_t i = 0; i < mf_json_count(files); ++i)
        file_rows(page, mf_json_get_text(mf_json_item(files, i), "file"), mf_json_item(files, i));
    if (!files) file_rows(page, name, said);
    mf_page_table_end(page);
}

static void means_table(const struct mf_page *page, const struct shown *s, const struct mf_json *said)
{
    static const char *const column[] = {"axis", "mean", "+- 95 % interval", "deviation"};
    char cell[3][CELL];

    if (!is_many(said) || !s->axes) return;
    mf_page_table(page, 4, column);
    for (size_t a = 0; a < s->axes; ++a)
        mf_page_row(page, 4,
                    (const char *const[]){s->axis[a], text_of(number(s->k, s->axis[a]), 6, cell[0]),
                                          text_of(number(mf_json_get(said, "interval"), s->axis[a]), 2, cell[1]),
                                          text_of(number(mf_json_get(said, "deviation"), s->axis[a]), 3, cell[2])});
    mf_page_table_end(page);
}

static void bounds_table(const struct mf_page *page, const struct mf_json *bounds)
{
    static const char *const column[] = {"bounds", "low", "high"}, *const key[] = {"wiener", "hashin_shtrikman"};
    static const char *const name[] = {"Wiener", "Hashin and Shtrikman (isotropic)"};
    char cell[2][CELL];

    if (!bounds) return;
    mf_page_table(page, 3, column);
    for (size_t i = 0; i < 2; ++i)
        mf_page_row(page, 3,
                    (const char *const[]){name[i], text_of(bound(bounds, key[i], 0), 5, cell[0]),
                                          text_of(bound(bounds, key[i], 1), 5, cell[1])});
    mf_page_table_end(page);
}

/* Which problem was solved: of several files that of the first one. */
static void problem(const struct mf_page *page, const struct mf_json *said)
{
    const struct mf_json *one = is_many(said) ? mf_json_item(mf_json_get(said, "files"), 0) : said;
    const struct mf_json *phases = mf_json_get(one, "phases");

    mf_page_text(page, "Boundary: %s.", mf_json_get_text(one, "boundary"));
    for (size_t i = 0; i < mf_json_count(phases); ++i) {
        const struct mf_json *phase = mf_json_item(phases, i);

        mf_page_text(page, "Label %lld: fraction %.4f, conductivity %g.", mf_json_get_int(phase, "label"),
                     mf_json_get_real(phase, "fraction"), mf_json_get_real(phase, "conductivity"));
    }
}

int mf_report_properties(const struct mf_page *page, const char *folder, size_t number, const char *name,
                         const struct mf_json *said)
{
    const struct shown s =
        shown_of(mf_json_get(said, is_many(said) ? "mean" : "conductivity"), mf_json_get(said, "bounds"));

    mf_page_heading(page, name);
    if (s.axes) MF_TRY(draw(page, folder, number, &s, said));
    problem(page, said);
    means_table(page, &s, said);
    bounds_table(page, s.bounds);
    values_table(page, is_many(said) ? "" : mf_json_get_text(said, "file"), said);
    return MF_OK;
}
