/* See sets.h: the sheet. Real samples stand left, made ones right; below them curves, then the closest pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/show/grid.h"
#include "src/show/sets_impl.h"

enum { GRID = 6, CURVES = 4 /* phases, or axes, that are drawn */ };

/* ---- samples ---- */

static void draw_grid(struct mf_figure *f, const struct mf_sets *s, const struct mf_grid *g, const char *title)
{
    double low = INFINITY, high = -INFINITY; /* one scale for all colours */

    for (size_t c = 0; !s->shape.phases && c < g->channels; ++c) {
        low = fmin(low, s->low[c]);
        high = fmax(high, s->high[c]);
    }
    mf_grid_draw(f, g, low, high, title);
}

/* Samples that are read for a grid, cell after cell. */
struct filling {
    const struct mf_grid *grid;
    const struct mf_dataset *set;
    size_t cell, step;
    const size_t *by; /* [samples][3] shifts; NULL: none */
};

static void fill(void *context, const struct mf_batch *batch)
{
    struct filling *f = context;

    for (size_t i = 0; i < batch->n; ++i, f->cell += f->step) {
        mf_grid_put(f->grid, f->cell, f->set, batch->x + i * f->set->bytes, f->by);
        f->by += f->by ? 3 : 0;
    }
}

static int read_into(const struct mf_show *show, struct filling *f, size_t n, const uint32_t *id)
{
    const struct mf_reader_wish wish = mf_sets_reading(f->set);

    return mf_samples_read(f->set, show->arena, &wish, n, id, fill, f);
}

/* Some samples of a set, evenly spread. */
static int draw_samples(const struct mf_show *show, const struct mf_sets *s, int which, struct mf_figure *f)
{
    const size_t n = s->n[which] < GRID * GRID ? s->n[which] : GRID * GRID;
    const size_t most = s->n[0] > s->n[1] ? s->n[0] : s->n[1];
    const struct mf_grid g =
        mf_grid_begin(f, s->set[which], most < GRID * GRID ? (most + GRID - 1) / GRID : GRID, GRID);
    struct filling filling = {.grid = &g, .set = s->set[which], .step = 1};
    uint32_t id[GRID * GRID];

    for (size_t i = 0; i < n; ++i) id[i] = s->id[which][i * s->n[which] / n];
    MF_TRY(read_into(show, &filling, n, id));
    draw_grid(f, s, &g,
              mf_figure_text(f, "%s: %zu of %zu samples of %s", which == MF_SETS_REAL ? "real" : "made", n, s->n[which],
                             mf_name_base(s->set[which]->path)));
    return MF_OK;
}

/* In cell 3 i + 2 that of the two cells in front. */
static void put_difference(const struct mf_sets *s, const struct mf_grid *g, size_t i)
{
    for (size_t y = 0; y < g->edge[0]; ++y)
        for (size_t x = 0; x < g->edge[1]; ++x)
            for (size_t c = 0; c < g->channels; ++c)
                mf_grid_at(g, 3 * i + 2, y, x)[c] =
                    s->low[c] + fabs(mf_grid_at(g, 3 * i, y, x)[c] - mf_grid_at(g, 3 * i + 1, y, x)[c]);
}

/* The closest made samples above the real ones, which are moved, above where both differ. */
static int draw_closest(const struct mf_show *show, const struct mf_sets *s, struct mf_figure *f)
{
    const struct mf_grid g = mf_grid_begin(f, s->set[0], MF_SETS_CLOSEST, 3);
    struct filling made = {.grid = &g, .set = s->set[MF_SETS_MADE], .step = 3};
    struct filling real = {.grid = &g, .set = s->set[MF_SETS_REAL], .cell = 1, .step = 3};
    size_t place[MF_SETS_CLOSEST], by[MF_SETS_CLOSEST][3];
    uint32_t id[2][MF_SETS_CLOSEST];
    const size_t count = mf_sets_closest(s, MF_SETS_CLOSEST, place);

    for (size_t i = 0; i < count; ++i) {
        id[0][i] = s->copies.id[MF_SETS_MADE][place[i]];
        id[1][i] = s->copies.near[MF_SETS_MADE][place[i]].id;
        memcpy(by[i], s->copies.near[MF_SETS_MADE][place[i]].at, sizeof by[i]);
    }
    real.by = by[0];
    MF_TRY(read_into(show, &made, count, id[0]));
    MF_TRY(read_into(show, &real, count, id[1]));
    for (size_t i = 0; i < count; ++i) put_difference(s, &g, i);
    draw_grid(f, s, &g, "closest: made, real (moved), difference");
    return MF_OK;
}

/* ---- curves ---- */

/* A measure of one phase along an axis, or its mean over the axes (@p axis < 0): y [lag]. */
static void curve_of(const struct mf_set_measures *m, const struct mf_set_shape *shape, size_t part,
                     enum mf_set_measure measure, int axis, double *y)
{
    const size_t lag = shape->lag, width = 2 * lag - 1;
    double *value = MF_MUST(malloc(mf_set_measures_entries(m, measure) * sizeof *value), "a curve");
    int axes = 0;

    mf_set_measures_mean(m, part, measure, value);
    memset(y, 0, lag * sizeof *y);
    for (int a = 3 - shape->ndim; a < 3; ++a) {
        /* windows: z is along rows of the slices normal to y, y and x are in those normal to z */
        const double *centre = value + (a == 0 ? width * width : 0) + width * (lag - 1) + lag - 1;

        if (axis >= 0 && axis != a) continue;
        ++axes;
        for (size_t r = 0; r < lag; ++r)
            y[r] += measure == MF_SET_S2 ? centre[r * (a == 2 ? 1 : width)]
                    : r                  ? value[(size_t)(a - 3 + shape->ndim) * (lag - 1) + r - 1]
                                         : NAN;
    }
    for (size_t r = 0; r < lag; ++r) y[r] /= axes;
    free(value);
}

/* Real samples as circles, made ones as a line. */
static void add_pair(const struct mf_sets *s, struct mf_figure *f, struct mf_panel *p, struct mf_curve *curves,
                     const char *name, size_t part, enum mf_set_measure measure, int axis)
{
    const int colour = (int)p->curve_count / 2 + 1, from = measure == MF_SET_LINEAL;
    const size_t lag = s->shape.lag;
    double *x = mf_figure_keep(f, lag * sizeof *x);

    for (size_t r = 0; r < lag; ++r) x[r] = (double)(r + (size_t)from);
    for (int which = MF_SETS - 1; which >= 0; --which) {
        double *y = mf_figure_keep(f, lag * sizeof *y);

        curve_of(s->of[which], &s->shape, part, measure, axis, y);
        curves[p->curve_count++] =
            (struct mf_curve){.name = mf_figure_text(f, "%s, %s", name, which == MF_SETS_REAL ? "real" : "made"),
                              .count = lag,
                              .x = x,
                              .y = y,
                              .colour = colour,
                              .marks = which == MF_SETS_REAL ? MF_MARK_CIRCLES : 0};
    }
}

/* One phase along every axis, or several as means over the axes. */
static void draw_curves(const struct mf_sets *s, struct mf_figure *f, enum mf_set_measure measure)
{
    const size_t parts = mf_set_measures_parts(s->of[0]), first = mf_set_measures_first(s->of[0]);
    struct mf_curve *curves = mf_figure_keep(f, 2 * CURVES * sizeof *curves);
    struct mf_panel p = {.kind = MF_PANEL_CURVES, .curves = curves, .from_zero = measure != MF_SET_AUTOCORRELATION};

    p.title = mf_set_facts[measure].title;
    p.xlabel = measure == MF_SET_LINEAL ? "length [pixels]" : "distance [pixels]";
    p.ylabel = p.title;
    for (int a = 3 - s->shape.ndim; parts == 1 && a < 3; ++a)
        add_pair(s, f, &p, curves, mf_figure_text(f, "along %c", "zyx"[a]), 0, measure, a);
    for (size_t k = 0; parts > 1 && k < parts && k < CURVES; ++k)
        add_pair(s, f, &p, curves, mf_figure_text(f, "%s %zu", s->shape.phases ? "phase" : "channel", k + first), k,
                 measure, -1);
    *mf_figure_next(f) = p;
}

/* The first channel. */
static void draw_histogram(const struct mf_sets *s, struct mf_figure *f)
{
    const size_t bins = mf_set_measures_entries(s->of[0], MF_SET_HISTOGRAM);
    struct mf_curve *curves = mf_figure_keep(f, MF_SETS * sizeof *curves);
    double *x = mf_figure_keep(f, bins * sizeof *x);

    for (size_t i = 0; i < bins; ++i) x[i] = s->low[0] + (s->high[0] - s->low[0]) * (double)i / (double)(bins - 1);
    for (int which = 0; which < MF_SETS; ++which) {
        double *y = mf_figure_keep(f, bins * sizeof *y);

        mf_set_measures_mean(s->of[which], 0, MF_SET_HISTOGRAM, y);
        curves[which] =
            (struct mf_curve){.name = which == MF_SETS_REAL ? "real" : "made", .count = bins, .x = x, .y = y};
    }
    *mf_figure_next(f) = (struct mf_panel){.kind = MF_PANEL_CURVES,
                                           .title = s->shape.channels > 1 ? "histogram of channel 0" : "histogram",
                                           .xlabel = "value",
                                           .ylabel = "share of the pixels",
                                           .curve_count = MF_SETS,
                                           .curves = curves,
                                           .from_zero = 1};
}

/* The share of samples that are nearer to the train split. */
static void draw_nearness(const struct mf_sets *s, struct mf_figure *f)
{
    enum { POINTS = 101 };
    struct mf_curve *curves = mf_figure_keep(f, MF_SETS * sizeof *curves);
    struct mf_panel p = {.kind = MF_PANEL_CURVES, .title = "distance from the train split", .curves = curves};

    p.xlabel = s->shape.phases ? "share of pixels that differ from the nearest"
                               : "root mean square difference from the nearest";
    p.ylabel = "share of samples below";
    p.from_zero = 1;
    for (int which = 0; which < MF_SETS; ++which) {
        double *x = mf_figure_keep(f, 2 * POINTS * sizeof *x), *y = x + POINTS;

        if (!s->copies.n[which]) continue;
        for (size_t i = 0; i < POINTS; ++i) {
            y[i] = (double)i / (POINTS - 1);
            x[i] = mf_set_copies_quantile(s->copies.n[which], s->copies.near[which], y[i]);
        }
        curves[p.curve_count++] = (struct mf_curve){
            .name = which == MF_SETS_REAL ? "real" : "made", .count = POINTS, .x = x, .y = y, .colour = which + 1};
    }
    *mf_figure_next(f) = p;
}

int mf_sets_draw(const struct mf_show *show, const struct mf_sets *s, struct mf_figure *f)
{
    f->columns = 2;
    for (int which = 0; which < MF_SETS; ++which) MF_TRY(draw_samples(show, s, which, f));
    if (s->shape.phases && s->shape.lag > 1) {
        draw_curves(s, f, MF_SET_S2);
        draw_curves(s, f, MF_SET_LINEAL);
    } else if (!s->shape.phases) {
        draw_histogram(s, f);
        if (s->shape.lag > 1) draw_curves(s, f, MF_SET_AUTOCORRELATION);
    }
    mf_figure_end_row(f);
    if (!s->copies.n[MF_SETS_MADE]) return MF_OK;
    MF_TRY(draw_closest(show, s, f));
    draw_nearness(s, f);
    return MF_OK;
}
