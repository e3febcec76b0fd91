/* See compare.h: measures of whole fields, curves and numbers side by side. */
#include <math.h>
#include <stdio.h>

#include "src/desc/measure.h"
#include "src/show/compare.h"
#include "src/show/panels.h"

/* One row: a picture of a measure. */
struct row {
    char name[64];
    double want, off;
};

enum { ROWS = 32 };

static size_t rows_of(const struct mf_comparison *c, struct row rows[ROWS])
{
    const unsigned counted = mf_compare_counted();
    const char *name;
    size_t count = 0;

    if (!mf_compare_has_field(c)) return 0;
    for (size_t i = 0; (name = mf_measure_name(i)) != NULL; ++i)
        for (size_t k = 0; !(counted >> i & 1) && k < MF_MEASURE_PICTURES && count < ROWS; ++k) {
            const struct mf_measure_picture *picture = &mf_measure_pictures(i)[k];
            struct row *row = &rows[count];

            if (!picture->path) continue;
            if (!mf_panels_measures_differ(i, k, c->got->measures, c->want->measures, &row->want, &row->off)) continue;
            snprintf(row->name, sizeof row->name, "%s%s%s", name, *picture->title ? ", " : "", picture->title);
            ++count;
        }
    return count;
}

/* NAN: there is none. */
static double error_of(const struct row *row)
{
    if (!isfinite(row->off)) return NAN;
    return row->want > 0 ? row->off / row->want : row->off > 0 ? INFINITY : 0;
}

static void put(struct mf_json *at, const char *key, double value)
{
    if (isfinite(value))
        mf_json_real(at, key, value);
    else
        mf_json_null(at, key);
}

struct mf_json *mf_compare_measures_json(const struct mf_comparison *c)
{
    struct mf_json *all = mf_json_object();
    struct row rows[ROWS];
    const size_t count = rows_of(c, rows);

    for (size_t i = 0; i < count; ++i) {
        struct mf_json *one = mf_json_object();

        put(one, "rms", rows[i].off);
        put(one, "error", error_of(&rows[i]));
        mf_json_put(all, rows[i].name, one);
    }
    return all;
}

void mf_compare_measures_text(FILE *to, const struct mf_comparison *c)
{
    struct row rows[ROWS];
    const size_t count = rows_of(c, rows);

    if (count)
        fprintf(to, "  measures, all labels                                  rms: target   difference    error\n");
    for (size_t i = 0; i < count; ++i)
        if (isfinite(rows[i].off))
            fprintf(to, "    %-42s %12.3e %12.3e %8.3f\n", rows[i].name, rows[i].want, rows[i].off, error_of(&rows[i]));
        else
            fprintf(to, "    %-42s %12s %12s %8s\n", rows[i].name, "-", "-", "-");
}

size_t mf_compare_measure_errors(const struct mf_comparison *c, struct mf_figure *keep, struct mf_compare_error *errors)
{
    struct row rows[ROWS];
    const size_t count = rows_of(c, rows);

    for (size_t i = 0; i < count; ++i) {
        errors[i].name = mf_figure_text(keep, "%s", rows[i].name);
        errors[i].of[0] = error_of(&rows[i]);
    }
    return count;
}
