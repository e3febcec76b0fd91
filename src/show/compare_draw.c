/* See compare.h: the picture. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/show/compare.h"
#include "src/show/figure_slice.h"
#include "src/show/panels.h"
#include "src/show/side.h"

enum { LABELS = 4 /* series of bars */ };

/* ---- both ---- */

/* Draws the example slice of a descriptor file. It is an empty panel if there is none, or if it does not have all its
 * phases. */
static int draw_example(const struct mf_show *s, struct mf_figure *f, const struct mf_compared *one, int normal)
{
    const struct mf_target_side *side = &one->target.side[normal];
    struct mf_micro image = one->micro;
    int rc = MF_OK;

    if (s->comm->rank != 0) return MF_OK;
    image.ndim = 2;
    image.slab.dims[1] = side->example_nu;
    image.slab.dims[2] = side->example_nv;
    image.phase = mf_example_classes(side, -1);
    if (one->taken[normal] && image.phase)
        rc = mf_figure_slice(s, f, &image, (enum mf_normal)normal, 0, mf_name_base(one->file));
    else
        (void)mf_figure_next(f);
    free(image.phase);
    return rc;
}

static int draw_one(const struct mf_show *s, struct mf_figure *f, const struct mf_compared *one, int normal)
{
    const struct mf_micro *m = &one->micro;
    const size_t index = m->slab.dims[normal] / 2;
    const char *name = mf_name_base(one->file);

    if (one->described) return draw_example(s, f, one, normal);
    if (m->ndim == 3) name = mf_figure_text(f, "%s, %c = %zu", name, "zyx"[normal], index);
    return mf_figure_slice(s, f, m, (enum mf_normal)normal, index, name);
}

/* ---- errors ---- */

static void clear(struct mf_compare_error errors[MF_COMPARE_ROWS])
{
    for (size_t i = 0; i < MF_COMPARE_ROWS; ++i)
        for (size_t p = 0; p < MF_PHASES_MAX; ++p) errors[i].of[p] = NAN;
}

/* Lying bars, one for every row and label (all of them: @p series 1). */
static void put_errors(struct mf_figure *f, const char *title, const struct mf_comparison *c,
                       const struct mf_compare_error *errors, size_t count, size_t series)
{
    struct mf_curve *bars = mf_figure_keep(f, LABELS * sizeof *bars);
    const char **names = mf_figure_keep(f, (count + 1) * sizeof *names);
    struct mf_panel *panel;

    if (count == 0) return;
    for (size_t k = 0; k < series; ++k) {
        double *y = mf_figure_keep(f, count * sizeof *y);

        for (size_t i = 0; i < count; ++i) y[i] = errors[i].of[k];
        bars[k] = (struct mf_curve){.count = count, .y = y};
        if (series > 1) bars[k].name = mf_figure_text(f, "label %ld", c->got->micro.label[k]);
    }
    for (size_t i = 0; i < count; ++i) names[i] = errors[i].name;
    panel = mf_figure_next(f);
    *panel = (struct mf_panel){.kind = MF_PANEL_BARS,
                               .title = title,
                               .xlabel = "relative error",
                               .curve_count = series,
                               .curves = bars,
                               .bar_count = count,
                               .bar_names = names,
                               .sideways = 1};
}

static size_t labels_of(const struct mf_comparison *c)
{
    return c->got->micro.phases < LABELS ? (size_t)c->got->micro.phases : LABELS;
}

static void draw_side_errors(struct mf_figure *f, const struct mf_comparison *c, int side)
{
    struct mf_compare_error errors[MF_COMPARE_ROWS];
    struct mf_compare_row rows[MF_COMPARE_ROWS];
    const char *of = c->sides > 1 ? mf_figure_text(f, ", normal to %s", mf_side_name(&c->got->target, 3, side)) : "";

    clear(errors);
    put_errors(f, mf_figure_text(f, "Errors of numbers%s", of), c, errors, mf_compare_side_errors(c, side, errors),
               labels_of(c));
    clear(errors);
    put_errors(f, mf_figure_text(f, "Errors of descriptors%s", of), c, errors,
               mf_compare_rows_errors(mf_compare_more_rows(c, side, rows), rows, f, errors), 1);
}

/* ---- curves over each other ---- */

static void draw_descriptor(struct mf_panels *panels, const struct mf_descriptor *row, int side)
{
    const size_t parts = mf_panels_parts(panels->got, row), count = parts < MF_PANELS_PARTS ? parts : MF_PANELS_PARTS;
    struct mf_panel_place place = {.row = row, .side = side};

    if (!row->shown || (row->shown->as != MF_SHOWN_LAGS && row->shown->as != MF_SHOWN_CURVES)) return;
    for (place.part = 0; place.part < count; ++place.part) (void)mf_panels_curves(panels, &place);
    panels->left += parts - count;
}

static void draw_curves(struct mf_panels *panels, const struct mf_comparison *c, int side)
{
    draw_descriptor(panels, &mf_descriptors[MF_S2], side);
    for (size_t d = 0; d < MF_DESCRIPTORS; ++d)
        if (mf_compare_more_has(c, side, d)) draw_descriptor(panels, &mf_descriptors[d], side);
    mf_figure_end_row(panels->figure);
}

/* ---- whole fields ---- */

static void draw_field(struct mf_panels *panels, const struct mf_comparison *c)
{
    struct mf_compare_error errors[MF_COMPARE_ROWS];
    struct mf_compare_row rows[MF_COMPARE_ROWS];

    if (mf_compare_has_field(c)) {
        clear(errors);
        put_errors(panels->figure, "Errors of whole fields", c, errors, mf_compare_field_errors(c, errors),
                   labels_of(c));
        clear(errors);
        put_errors(panels->figure, "Errors of measures", c, errors,
                   mf_compare_rows_errors(mf_compare_measure_rows(c, rows), rows, panels->figure, errors), 1);
    }
    for (size_t d = 0; d < MF_DESCRIPTORS; ++d) {
        const struct mf_descriptor *row = &mf_descriptors[d];

        if (mf_descriptor_is(row, MF_IN_SPACE) && panels->got->whole[mf_descriptor_whole(row)] &&
            panels->want->whole[mf_descriptor_whole(row)])
            draw_descriptor(panels, row, 0);
    }
    if (mf_compare_has_field(c)) mf_panels_measures(panels, ~mf_compare_counted(), c->got->measures, c->want->measures);
    mf_figure_end_row(panels->figure);
}

int mf_compare_draw(const struct mf_show *s, struct mf_figure *f, const struct mf_comparison *c)
{
    struct mf_panels panels = {f, &c->got->target, &c->want->target, c->got->micro.ndim, 0};

    for (int d = 0; d < c->sides; ++d) {
        MF_TRY(draw_one(s, f, c->want, mf_compare_want_side(c, d)));
        MF_TRY(draw_one(s, f, c->got, d));
        if (s->comm->rank != 0) continue;
        draw_side_errors(f, c, d);
        mf_figure_end_row(f);
        draw_curves(&panels, c, d);
    }
    if (s->comm->rank != 0) return MF_OK;
    draw_field(&panels, c);
    f->left += panels.left;
    if (panels.left)
        mf_info("%zu more panels are left out: at most %d phases or pairs are drawn", panels.left, MF_PANELS_PARTS);
    return MF_OK;
}
