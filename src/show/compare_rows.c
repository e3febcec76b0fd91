/* See compare.h: rows of the table with a root mean square: further descriptors of one side, measures of the field. */
#include <math.h>
#include <stdio.h>

#include "src/base/bounds.h"
#include "src/desc/measure.h"
#include "src/desc/registry.h"
#include "src/show/compare.h"
#include "src/show/panels.h"

/* ---- further descriptors ---- */

/* Do both sides have it, whatever their lags are? */
static int shared(const struct mf_comparison *c, int side, const struct mf_descriptor *row)
{
    const struct mf_target *want = &c->want->target, *got = &c->got->target;

    return row->kind >= MF_CROSS &&
           mf_descriptor_values(row, &want->side[mf_compare_want_side(c, side)], want->lag, 0) &&
           mf_descriptor_values(row, &got->side[side], got->lag, 0);
}

/* Is anything left out on this side because the lags differ? */
static int differs(const struct mf_comparison *c, int side)
{
    int any = 0;

    for (int d = 0; d < MF_DESCRIPTORS; ++d) any = any || shared(c, side, &mf_descriptors[d]);
    return any && c->want->target.lag != c->got->target.lag;
}

/* How far are they apart, where both have it and one L? */
static int measured(const struct mf_comparison *c, int side, const struct mf_descriptor *row,
                    struct mf_compare_row *found)
{
    const struct mf_target *want = &c->want->target, *got = &c->got->target;
    const struct mf_target_side *a = &want->side[mf_compare_want_side(c, side)], *b = &got->side[side];
    const size_t parts = mf_descriptor_parts(row, (size_t)c->got->micro.phases);
    double square = 0, size = 0;
    size_t n;

    if (want->lag != got->lag || !shared(c, side, row)) return 0;
    n = mf_descriptor_entries(row, got->lag);
    for (size_t p = 0; p < parts; ++p) {
        const double *x = mf_descriptor_values(row, a, want->lag, (int)p);
        const double *y = mf_descriptor_values(row, b, got->lag, (int)p);

        for (size_t i = 0; i < n; ++i) {
            square += (y[i] - x[i]) * (y[i] - x[i]);
            size += x[i] * x[i];
        }
    }
    *found =
        (struct mf_compare_row){.want = sqrt(size / (double)(parts * n)), .off = sqrt(square / (double)(parts * n))};
    snprintf(found->name, sizeof found->name, "%s", row->name);
    return isfinite(found->off) && isfinite(found->want);
}

int mf_compare_more_has(const struct mf_comparison *c, int side, size_t row)
{
    struct mf_compare_row found;

    return measured(c, side, &mf_descriptors[row], &found);
}

size_t mf_compare_more_rows(const struct mf_comparison *c, int side, struct mf_compare_row rows[MF_COMPARE_ROWS])
{
    size_t count = 0;

    for (int d = 0; d < MF_DESCRIPTORS && count < MF_COMPARE_ROWS; ++d)
        count += (size_t)measured(c, side, &mf_descriptors[d], &rows[count]);
    return count;
}

void mf_compare_more_text(FILE *to, const struct mf_comparison *c, int side)
{
    const size_t want = c->want->target.lag, got = c->got->target.lag;
    struct mf_compare_row rows[MF_COMPARE_ROWS];
    const size_t count = mf_compare_more_rows(c, side, rows);
    int said = 0;

    for (int before = 0; before < side; ++before) said = said || differs(c, before);
    if (!said && differs(c, side))
        fprintf(to, "  further descriptors are of one L, these have %zu and %zu; try: --limit_to %zu\n", want, got,
                mf_min(want, got));
    if (count) fprintf(to, "  all labels, L = %-36zu rms: target   difference    error\n", got);
    mf_compare_rows_text(to, count, rows);
}

/* ---- measures ---- */

/* One row for every picture of a measure. */
size_t mf_compare_measure_rows(const struct mf_comparison *c, struct mf_compare_row rows[MF_COMPARE_ROWS])
{
    const unsigned counted = mf_compare_counted();
    const char *name;
    size_t count = 0;

    if (!mf_compare_has_field(c)) return 0;
    for (size_t i = 0; (name = mf_measure_name(i)) != NULL; ++i)
        for (size_t k = 0; !(counted >> i & 1) && k < MF_MEASURE_PICTURES && count < MF_COMPARE_ROWS; ++k) {
            const struct mf_measure_picture *picture = &mf_measure_pictures(i)[k];
            struct mf_compare_row *row = &rows[count];

            if (!picture->path) continue;
            if (!mf_panels_measures_differ(i, k, c->got->measures, c->want->measures, &row->want, &row->off)) continue;
            snprintf(row->name, sizeof row->name, "%s%s%s", name, *picture->title ? ", " : "", picture->title);
            ++count;
        }
    return count;
}

void mf_compare_measures_text(FILE *to, const struct mf_comparison *c)
{
    struct mf_compare_row rows[MF_COMPARE_ROWS];
    const size_t count = mf_compare_measure_rows(c, rows);

    if (count)
        fprintf(to, "  measures, all labels                                  rms: target   difference    error\n");
    mf_compare_rows_text(to, count, rows);
}

/* ---- rows ---- */

/* NAN: there is none. */
static double error_of(const struct mf_compare_row *row)
{
    if (!isfinite(row->off)) return NAN;
    return row->want > 0 ? row->off / row->want : row->off > 0 ? INFINITY : 0;
}

struct mf_json *mf_compare_rows_json(size_t count, const struct mf_compare_row *rows)
{
    struct mf_json *all = mf_json_object();

    for (size_t i = 0; i < count; ++i) {
        struct mf_json *one = mf_json_object();

        mf_json_finite(one, "rms", rows[i].off);
        mf_json_finite(one, "error", error_of(&rows[i]));
        mf_json_put(all, rows[i].name, one);
    }
    return all;
}

void mf_compare_rows_text(FILE *to, size_t count, const struct mf_compare_row *rows)
{
    for (size_t i = 0; i < count; ++i)
        if (isfinite(rows[i].off))
            fprintf(to, "    %-42s %12.3e %12.3e %8.3f\n", rows[i].name, rows[i].want, rows[i].off, error_of(&rows[i]));
        else
            fprintf(to, "    %-42s %12s %12s %8s\n", rows[i].name, "-", "-", "-");
}

size_t mf_compare_rows_errors(size_t count, const struct mf_compare_row *rows, struct mf_figure *keep,
                              struct mf_compare_error *errors)
{
    for (size_t i = 0; i < count; ++i) {
        errors[i].name = mf_figure_text(keep, "%s", rows[i].name);
        errors[i].of[0] = error_of(&rows[i]);
    }
    return count;
}
