/* See report_properties.h. Conductivities have a place for each axis, stiffness one for each modulus. */
#include "src/cmd/host/report_properties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/plot.h"
#include "src/base/err.h"

enum { PLACES = 3, LINE = 6, BAR = 7, CELL = 80, COLUMNS = 9, PATH = 1200, PAIRS = 2, ORDER = 6 };

/* A property: where its values stand in JSON, and what is said of them. */
struct kind {
    const char *title, *ylabel, *xlabel;
    const char *key[PLACES], *label[PLACES];
    const char *pair[PAIRS]; /* of bounds */
};

static const struct kind conduction = {
    "Effective conductivity and its bounds", "conductivity", "axis", {"z", "y", "x"}, {"z", "y", "x"},
    {"Wiener", "Hashin and Shtrikman"}};
static const struct kind elasticity = {"Nearest isotropic moduli and their bounds",
                                       "modulus",
                                       NULL,
                                       {"bulk", "shear", "young"},
                                       {"bulk", "shear", "Young's"},
                                       {"Reuss and Voigt", "Hashin and Shtrikman"}};

/* Values of one file, or means over several. */
struct shown {
    const struct kind *kind;
    size_t places;
    const char *key[PLACES], *label[PLACES]; /* those that are known */
    const struct mf_json *values;
    int bounded;
    double bound[PAIRS][2][PLACES]; /* low and high */
};

/* A picture with its points, x and y. */
struct drawn {
    struct mf_panel panel;
    struct mf_curve curve[6];
    double bound[PAIRS][2][PLACES * LINE], bar[2][2][PLACES * BAR], at[2][PLACES];
    double *dots;
};

/* ---- numbers ---- */

static double number(const struct mf_json *object, const char *key)
{
    const struct mf_json *value = mf_json_get(object, key);

    return value ? mf_json_to_finite(value) : NAN;
}

/* The values of one file. */
static const struct mf_json *values_of(const struct mf_json *one)
{
    const struct mf_json *stiffness = mf_json_get(one, "stiffness");

    return stiffness ? mf_json_get(stiffness, "isotropic") : mf_json_get(one, "conductivity");
}

static int is_one(const struct mf_json *said)
{
    const struct mf_json *values = values_of(said);

    for (size_t i = 0; i < PLACES; ++i)
        if (mf_json_get(values, conduction.key[i]) || mf_json_get(values, elasticity.key[i])) return 1;
    return 0;
}

static int is_many(const struct mf_json *said)
{
    return mf_json_get(said, "interval") && is_one(mf_json_item(mf_json_get(said, "files"), 0));
}

int mf_is_properties(const struct mf_json *said) { return is_one(said) || is_many(said); }

/* A file, or the first of several. */
static const struct mf_json *first_of(const struct mf_json *said)
{
    return is_many(said) ? mf_json_item(mf_json_get(said, "files"), 0) : said;
}

static void set_bounds(const struct mf_json *said, struct shown *s)
{
    static const char *const plain[2] = {"reuss", "voigt"};
    const int elastic = s->kind == &elasticity;
    const struct mf_json *b = mf_json_get(elastic ? mf_json_get(said, "stiffness") : said, "bounds");

    s->bounded = b != NULL;
    for (size_t i = 0; b && i < s->places; ++i)
        for (size_t k = 0; k < 2; ++k) {
            const struct mf_json *hashin = mf_json_item(mf_json_get(b, "hashin_shtrikman"), k);

            s->bound[0][k][i] = elastic ? number(mf_json_get(b, plain[k]), s->key[i])
                                        : mf_json_to_finite(mf_json_item(mf_json_get(b, "wiener"), k));
            s->bound[1][k][i] = elastic ? number(hashin, s->key[i]) : mf_json_to_finite(hashin);
        }
}

static struct shown shown_of(const struct mf_json *said)
{
    struct shown s = {.kind = mf_json_get(first_of(said), "stiffness") ? &elasticity : &conduction};

    s.values = is_many(said) ? mf_json_get(said, "mean") : values_of(said);
    for (size_t i = 0; i < PLACES; ++i) {
        if (!mf_json_get(s.values, s.kind->key[i])) continue;
        s.key[s.places] = s.kind->key[i];
        s.label[s.places++] = s.kind->label[i];
    }
    set_bounds(said, &s);
    return s;
}

/* ---- the picture ---- */

static void add_bounds(struct drawn *d, const struct shown *s, int pair)
{
    for (size_t i = 0; i < s->places; ++i)
        for (size_t k = 0; k < LINE; ++k) {
            const double across[LINE] = {-0.4, 0.4, NAN, -0.4, 0.4, NAN};

            d->bound[pair][0][i * LINE + k] = (double)i + across[k];
            d->bound[pair][1][i * LINE + k] = s->bound[pair][k > 2][i];
        }
    if (s->bounded)
        d->curve[d->panel.curve_count++] = (struct mf_curve){.name = s->kind->pair[pair],
                                                             .count = s->places * LINE,
                                                             .x = d->bound[pair][0],
                                                             .y = d->bound[pair][1],
                                                             .dashed = 1,
                                                             .colour = pair ? 3 : -1};
}

/* Errors around the values, @p aside of them. */
static void add_bars(struct drawn *d, const struct shown *s, const struct mf_json *errors, const char *name,
                     double aside, int which)
{
    static const double across[BAR] = {-0.05, 0.05, 0, 0, -0.05, 0.05, NAN}, up[BAR] = {-1, -1, -1, 1, 1, 1, NAN};
    int known = 0;

    for (size_t i = 0; i < s->places; ++i) {
        const double value = number(s->values, s->key[i]), error = number(errors, s->key[i]);

        known |= isfinite(error);
        for (size_t k = 0; k < BAR; ++k) {
            d->bar[which][0][i * BAR + k] = (double)i + aside + across[k];
            d->bar[which][1][i * BAR + k] = value + up[k] * error;
        }
    }
    if (known)
        d->curve[d->panel.curve_count++] = (struct mf_curve){.name = name,
                                                             .count = s->places * BAR,
                                                             .x = d->bar[which][0],
                                                             .y = d->bar[which][1],
                                                             .colour = which ? 4 : 2};
}

static void add_values(struct drawn *d, const struct shown *s, const char *name)
{
    for (size_t i = 0; i < s->places; ++i) {
        d->at[0][i] = (double)i;
        d->at[1][i] = number(s->values, s->key[i]);
    }
    d->curve[d->panel.curve_count++] = (struct mf_curve){
        .name = name, .count = s->places, .x = d->at[0], .y = d->at[1], .marks = MF_MARK_CIRCLES, .colour = 1};
}

/* Values of @p n files, which stand in an array, or (n = 0) of one object. */
static void add_dots(struct drawn *d, const struct shown *s, size_t n, const struct mf_json *of, const char *name)
{
    const size_t rows = n ? n : 1, all = rows * s->places;
    double *x = d->dots = MF_MUST(calloc(2 * all + 1, sizeof *x), "points"), *y = x + all;

    for (size_t i = 0; i < all; ++i) {
        const struct mf_json *values = n ? values_of(mf_json_item(of, i / s->places)) : of;

        x[i] = (double)(i % s->places) + 0.12;
        y[i] = number(values, s->key[i % s->places]);
    }
    d->curve[d->panel.curve_count++] =
        (struct mf_curve){.name = name, .count = all, .x = x, .y = y, .marks = MF_MARK_DOTS, .colour = 4};
}

static void add_all(struct drawn *d, const struct shown *s, const struct mf_json *said)
{
    const struct mf_json *error = mf_json_get(s->values, "error"), *files = mf_json_get(said, "files");
    const struct mf_json *other = mf_json_get(mf_json_get(mf_json_get(said, "stiffness"), "error"), "other_scheme");

    for (int pair = 0; pair < PAIRS; ++pair) add_bounds(d, s, pair);
    if (is_many(said)) {
        add_bars(d, s, mf_json_get(said, "interval"), "95 % interval of the mean", 0, 0);
        add_dots(d, s, mf_json_count(files), files, "each file");
        add_values(d, s, "mean");
        return;
    }
    add_bars(d, s, mf_json_get(error, "grid"), "error of the grid", -0.12, 0);
    add_bars(d, s, mf_json_get(error, "sample"), "error of the sample", 0.12, 1);
    if (other) add_dots(d, s, 0, other, "the other scheme");
    add_values(d, s, s->kind->ylabel);
}

static int draw(const struct mf_page *page, const char *folder, size_t number, const struct shown *s,
                const struct mf_json *said)
{
    struct drawn d = {.panel = {.kind = MF_PANEL_CURVES,
                                .ylabel = s->kind->ylabel,
                                .xlabel = s->kind->xlabel,
                                .bar_count = s->places,
                                .bar_names = s->label,
                                .zoom = 1.4}};
    char path[PATH];
    int rc;

    d.panel.curves = d.curve;
    add_all(&d, s, said);
    snprintf(path, sizeof path, "%.1100s/properties-%zu.png", folder, number);
    rc = mf_plot_write(path, s->kind->title, &d.panel, 1, 1);
    free(d.dots);
    return rc == MF_OK ? mf_page_picture(page, path, s->kind->title) : rc;
}

/* ---- tables ---- */

static const char *text_of(double value, int digits, char cell[CELL])
{
    snprintf(cell, CELL, "-");
    if (isfinite(value)) snprintf(cell, CELL, "%.*g", digits, value);
    return cell;
}

/* A row for each axis of a file. */
static void conducted_rows(const struct mf_page *page, const struct mf_json *one)
{
    static const char *const errors[] = {"solver", "grid", "sample"};
    static const char *const factors[] = {"tortuosity_factor", "tortuosity_factor_carrying", "formation_factor"};
    const struct mf_json *k = values_of(one), *error = mf_json_get(k, "error");
    char cell[COLUMNS][CELL];

    for (size_t a = 0; a < PLACES; ++a) {
        const char *axis = conduction.key[a];
        const char *cells[COLUMNS] = {mf_json_get_text(one, "file"), axis, text_of(number(k, axis), 6, cell[0])};

        if (!mf_json_get(k, axis)) continue;
        for (size_t i = 0; i < 3; ++i) {
            cells[3 + i] = text_of(number(mf_json_get(error, errors[i]), axis), 2, cell[1 + i]);
            cells[6 + i] = text_of(number(mf_json_get(one, factors[i]), axis), 5, cell[4 + i]);
        }
        mf_page_row(page, COLUMNS, cells);
    }
}

static void elastic_row(const struct mf_page *page, const struct mf_json *one)
{
    static const char *const key[] = {"bulk", "shear", "young", "poisson", "distance"};
    const char *cells[6] = {mf_json_get_text(one, "file")};
    char cell[5][CELL];

    for (size_t i = 0; i < 5; ++i) cells[1 + i] = text_of(number(values_of(one), key[i]), i < 4 ? 6 : 2, cell[i]);
    mf_page_row(page, 6, cells);
}

static void values_table(const struct mf_page *page, const struct shown *s, const struct mf_json *said)
{
    static const char *const conducted[COLUMNS] = {"file",
                                                   "axis",
                                                   "conductivity",
                                                   "+- solver",
                                                   "+- grid",
                                                   "+- sample",
                                                   "tortuosity factor",
                                                   "by what carries",
                                                   "formation factor"};
    static const char *const elastic[] = {"file", "bulk", "shear", "Young's", "Poisson", "distance from isotropy"};
    const struct mf_json *files = mf_json_get(said, "files");
    const size_t n = is_many(said) ? mf_json_count(files) : 1;
    const int moduli = s->kind == &elasticity;

    mf_page_table(page, moduli ? 6 : COLUMNS, moduli ? elastic : conducted);
    for (size_t i = 0; i < n; ++i)
        (moduli ? elastic_row : conducted_rows)(page, is_many(said) ? mf_json_item(files, i) : said);
    mf_page_table_end(page);
}

static void means_table(const struct mf_page *page, const struct shown *s, const struct mf_json *said)
{
    static const char *const column[] = {"", "mean", "+- 95 % interval", "deviation"};
    char cell[3][CELL];

    if (!is_many(said) || !s->places) return;
    mf_page_table(page, 4, column);
    for (size_t i = 0; i < s->places; ++i)
        mf_page_row(page, 4,
                    (const char *const[]){s->label[i], text_of(number(s->values, s->key[i]), 6, cell[0]),
                                          text_of(number(mf_json_get(said, "interval"), s->key[i]), 2, cell[1]),
                                          text_of(number(mf_json_get(said, "deviation"), s->key[i]), 3, cell[2])});
    mf_page_table_end(page);
}

/* Conductivities have the same bounds along all axes. */
static void bounds_table(const struct mf_page *page, const struct shown *s)
{
    static const char *const column[] = {"bounds", "of", "low", "high"};
    const int moduli = s->kind == &elasticity;
    char cell[2][CELL];

    if (!s->bounded) return;
    mf_page_table(page, 4, column);
    for (size_t pair = 0; pair < PAIRS; ++pair)
        for (size_t i = 0; i < (moduli ? s->places : s->places > 0); ++i)
            mf_page_row(page, 4,
                        (const char *const[]){s->kind->pair[pair], moduli ? s->label[i] : "all axes",
                                              text_of(s->bound[pair][0][i], 5, cell[0]),
                                              text_of(s->bound[pair][1][i], 5, cell[1])});
    mf_page_table_end(page);
}

/* The stiffness of one file. */
static void matrix_table(const struct mf_page *page, const struct mf_json *said)
{
    static const char *const column[] = {"", "xx", "yy", "zz", "yz", "xz", "xy"};
    const struct mf_json *matrix = mf_json_get(mf_json_get(said, "stiffness"), "matrix");

    if (!matrix) return;
    mf_page_table(page, ORDER + 1, column);
    for (size_t i = 0; i < ORDER; ++i) {
        const char *cells[ORDER + 1] = {column[1 + i]};
        char cell[ORDER][CELL];

        for (size_t k = 0; k < ORDER; ++k)
            cells[1 + k] = text_of(mf_json_to_finite(mf_json_item(mf_json_item(matrix, i), k)), 5, cell[k]);
        mf_page_row(page, ORDER + 1, cells);
    }
    mf_page_table_end(page);
}

/* Which problem was solved. */
static void problem(const struct mf_page *page, const struct mf_json *one)
{
    const struct mf_json *phases = mf_json_get(one, "phases");

    mf_page_text(page, "Boundary: %s.", mf_json_get_text(one, "boundary"));
    for (size_t i = 0; i < mf_json_count(phases); ++i) {
        const struct mf_json *phase = mf_json_item(phases, i);
        const long long label = mf_json_get_int(phase, "label");
        const double fraction = mf_json_get_real(phase, "fraction");

        if (mf_json_get(phase, "c11"))
            mf_page_text(page, "Label %lld: fraction %.4f, C11 %g, C12 %g, C44 %g.", label, fraction,
                         mf_json_get_real(phase, "c11"), mf_json_get_real(phase, "c12"),
                         mf_json_get_real(phase, "c44"));
        else
            mf_page_text(page, "Label %lld: fraction %.4f, conductivity %g.", label, fraction,
                         mf_json_get_real(phase, "conductivity"));
    }
}

int mf_report_properties(const struct mf_page *page, const char *folder, size_t number, const char *name,
                         const struct mf_json *said)
{
    const struct shown s = shown_of(said);

    mf_page_heading(page, name);
    if (s.places) MF_TRY(draw(page, folder, number, &s, said));
    problem(page, first_of(said));
    means_table(page, &s, said);
    bounds_table(page, &s);
    values_table(page, &s, said);
    matrix_table(page, said);
    return MF_OK;
}
