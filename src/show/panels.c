/* See panels.h. */
#include "src/show/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/desc/copies.h"
#include "src/desc/distance.h"
#include "src/show/side.h"

enum { CURVES = 16, NUMBERS = 8 /* phases of a panel of bars */, HALF = 4 /* so many curves, then dashed ones */ };

size_t mf_panels_parts(const struct mf_target *t, const struct mf_descriptor *row)
{
    return mf_descriptor_parts(row, (size_t)t->phases);
}

static size_t levels_of(const struct mf_target *t, const struct mf_panel_place *p)
{
    return mf_descriptor_is(p->row, MF_IN_SPACE) ? 1 : t->side[p->side].levels;
}

static int sides_of(const struct mf_target *t, const struct mf_descriptor *row)
{
    return mf_descriptor_is(row, MF_IN_SPACE) ? 1 : t->sides;
}

/* NULL: there are none. */
static const double *values_of(const struct mf_target *t, const struct mf_panel_place *p)
{
    const size_t n = mf_descriptor_entries(p->row, t->lag);
    const double *values;

    if (p->level >= levels_of(t, p)) return NULL;
    if (mf_descriptor_is(p->row, MF_IN_SPACE)) {
        values = t->whole[mf_descriptor_whole(p->row)];
        return values ? values + p->part * n : NULL;
    }
    values = mf_descriptor_values(p->row, &t->side[p->side], t->lag, (int)p->part);
    return values ? values + p->level * n : NULL;
}

/* Are there values of any part? */
static int has(const struct mf_target *t, const struct mf_descriptor *row)
{
    const struct mf_panel_place first = {.row = row};

    return mf_panels_parts(t, row) > 0 && values_of(t, &first) != NULL;
}

static int find_label(const struct mf_target *t, long label)
{
    for (int p = 0; p < t->phases; ++p)
        if (t->label[p] == label) return p;
    return -1;
}

/* The part of @p want that has the labels of a part of @p got, or -1. */
static long find_part(const struct mf_target *want, const struct mf_target *got, const struct mf_panel_place *p)
{
    const size_t fields = (size_t)got->phases;
    size_t a = p->part, b = p->part, low, high;

    if (mf_descriptor_is(p->row, MF_OF_ALL)) return 0;
    if (!mf_descriptor_is(p->row, MF_OF_PAIRS)) return find_label(want, got->label[a]);
    mf_descriptor_pair(fields, p->part, &a, &b);
    for (size_t part = 0; part < mf_panels_parts(want, p->row); ++part) {
        mf_descriptor_pair((size_t)want->phases, part, &low, &high);
        if (want->label[low] == got->label[a] && want->label[high] == got->label[b]) return (long)part;
    }
    return -1;
}

/* Wanted values of a place; NULL: there are none. */
static const double *wanted(const struct mf_panels *panels, const struct mf_panel_place *p)
{
    struct mf_panel_place there = *p;
    long part;

    if (!panels->want || !has(panels->want, p->row)) return NULL;
    part = find_part(panels->want, panels->got, p);
    if (part < 0) return NULL;
    there.part = (size_t)part;
    if (panels->want->sides == 1) there.side = 0;
    return values_of(panels->want, &there);
}

/* ---- texts ---- */

/* "%u", "%v" by the axes of the side. */
static const char *with_axes(struct mf_panels *panels, int side, const char *pattern)
{
    const char *const *axis = mf_side_axes(panels->got, panels->ndim, side);
    char text[64];
    size_t n = 0;

    for (const char *at = pattern; *at && n + 8 < sizeof text; ++at) {
        const char *name = at[0] == '%' && at[1] == 'u' ? axis[0] : at[0] == '%' && at[1] == 'v' ? axis[1] : NULL;

        if (!name) {
            text[n++] = *at;
            continue;
        }
        for (; *name && n + 8 < sizeof text; ++name) text[n++] = *name;
        ++at;
    }
    text[n] = 0;
    return mf_figure_text(panels->figure, "%s", text);
}

/* "label 1", "labels 0, 2", or nothing where it is of all. */
static const char *part_name(struct mf_panels *panels, const struct mf_panel_place *p)
{
    const struct mf_target *t = panels->got;
    size_t a, b;

    if (mf_descriptor_is(p->row, MF_OF_ALL)) return "";
    if (!mf_descriptor_is(p->row, MF_OF_PAIRS)) return mf_figure_text(panels->figure, "label %ld", t->label[p->part]);
    mf_descriptor_pair((size_t)t->phases, p->part, &a, &b);
    return mf_figure_text(panels->figure, "labels %ld, %ld", t->label[a], t->label[b]);
}

static const char *of_part(struct mf_panels *panels, const struct mf_panel_place *p)
{
    const char *name = part_name(panels, p);

    return *name ? mf_figure_text(panels->figure, " of %s", name) : "";
}

static const char *of_side(struct mf_panels *panels, const struct mf_panel_place *p)
{
    if (sides_of(panels->got, p->row) != 3) return "";
    return mf_figure_text(panels->figure, ", normal to %s", mf_side_name(panels->got, panels->ndim, p->side));
}

/* "LinealPath of label 1, level 2" */
static const char *title_of(struct mf_panels *panels, const struct mf_panel_place *p, const char *what)
{
    const char *level = levels_of(panels->got, p) > 1 ? mf_figure_text(panels->figure, ", level %zu", p->level) : "";

    return mf_figure_text(panels->figure, "%s%s%s%s%s%s", p->row->name, of_part(panels, p), *what ? ", " : "", what,
                          level, of_side(panels, p));
}

/* Edge of a pixel of its level. */
static double pixel(const struct mf_panel_place *p) { return (double)((size_t)1 << p->level); }

/* ---- squares ---- */

static struct mf_panel *square(struct mf_panels *panels, const struct mf_panel_place *p, size_t k)
{
    const struct mf_shown *shown = p->row->shown;
    const size_t n = shown->extent(panels->got->lag, k);
    const double *values = values_of(panels->got, p);
    double *image = mf_figure_keep(panels->figure, n * n * sizeof *image);
    const char *title = title_of(panels, p, shown->name ? shown->name[k] : "");
    struct mf_panel *panel;

    for (size_t i = 0; i < n * n; ++i) image[i] = values[shown->entry(panels->got->lag, k, i)];
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                               .title = title,
                               .rows = n,
                               .columns = n,
                               .image = image,
                               .colours = panels->figure->map,
                               .bare = panels->figure->bare};
    return panel;
}

static void draw_window(struct mf_panels *panels, const struct mf_panel_place *p, size_t k)
{
    const struct mf_shown *shown = p->row->shown;
    const char *const *axis = shown->axes ? shown->axes[k] : mf_side_axes(panels->got, panels->ndim, p->side);
    const char *x = mf_figure_text(panels->figure, "lag along %s [pixels]", axis[1]);
    const char *y = mf_figure_text(panels->figure, "lag along %s [pixels]", axis[0]);
    struct mf_panel *panel = square(panels, p, k);
    const double reach = (double)panel->rows / 2 * shown->step * pixel(p);

    panel->xlabel = x;
    panel->ylabel = y;
    memcpy(panel->extent, (const double[4]){-reach, reach, -reach, reach}, sizeof panel->extent);
}

static void draw_matrix(struct mf_panels *panels, const struct mf_panel_place *p, size_t k)
{
    struct mf_panel *panel = square(panels, p, k);

    panel->xlabel = panel->ylabel = p->row->shown->across;
}

static void draw_squares(struct mf_panels *panels, const struct mf_panel_place *p)
{
    for (size_t k = 0; k < p->row->shown->count; ++k)
        if (p->row->shown->as == MF_SHOWN_LAGS)
            draw_window(panels, p, k);
        else
            draw_matrix(panels, p, k);
}

/* ---- curves ---- */

/* Points of a curve, or of a cut through a window. They are entry first + i * step of square k, from a lag on. */
struct cut {
    size_t k, count;
    int across; /* of windows: along columns, else along rows */
    long from;  /* the first lag, in steps */
    const char *name;
};

static size_t entry_of(const struct mf_shown *shown, size_t lag, const struct cut *c, size_t i)
{
    size_t n, centre, at;

    if (shown->as == MF_SHOWN_CURVES) return shown->entry(lag, c->k, i);
    n = shown->extent(lag, c->k);
    centre = n / 2;
    at = (size_t)((long)centre + c->from + (long)i);
    return shown->entry(lag, c->k, c->across ? centre * n + at : at * n + centre);
}

/* A curve of the figure; colour from 1 on. */
static struct mf_curve curve_of(struct mf_panels *panels, const struct mf_panel_place *p, const struct cut *c,
                                const double *values, size_t lag)
{
    const struct mf_shown *shown = p->row->shown;
    double *x = mf_figure_keep(panels->figure, 2 * c->count * sizeof *x), *y = x + c->count;

    for (size_t i = 0; i < c->count; ++i) {
        const double place = shown->as != MF_SHOWN_CURVES ? shown->step * (double)(c->from + (long)i)
                             : shown->doubles             ? ldexp(shown->first, (int)i)
                                                          : shown->first + shown->step * (double)i;

        x[i] = place * pixel(p);
        y[i] = values[entry_of(shown, lag, c, i)];
    }
    return (struct mf_curve){.name = c->name, .count = c->count, .x = x, .y = y};
}

/* Does an earlier cut go the same way? Planes of a volume have axes in common. */
static int is_known(const struct mf_shown *shown, size_t lag, const struct cut *cuts, size_t count)
{
    const size_t middle = cuts[count].count - 1;

    for (size_t k = 0; k < count; ++k)
        if (cuts[k].count == middle + 1 &&
            entry_of(shown, lag, &cuts[k], middle) == entry_of(shown, lag, &cuts[count], middle))
            return 1;
    return 0;
}

/* Cuts through the centre of every window, in both ways; of what is not symmetric both halves. */
static size_t cuts_of(struct mf_panels *panels, const struct mf_panel_place *p, size_t lag, struct cut cuts[CURVES])
{
    const struct mf_shown *shown = p->row->shown;
    size_t count = 0;

    for (size_t k = 0; k < shown->count; ++k)
        for (int across = 0; across < 2 && count < CURVES; ++across) {
            const char *const *axis = shown->axes ? shown->axes[k] : mf_side_axes(panels->got, panels->ndim, p->side);
            const char *whose = shown->name && !shown->axes ? shown->name[k] : "";
            const size_t half = shown->extent(lag, k) / 2;
            struct cut *c = &cuts[count];

            *c = (struct cut){.k = k, .count = half + 1, .across = across};
            if (mf_descriptor_is(p->row, MF_OF_PAIRS)) {
                c->from = -(long)half;
                c->count = 2 * half + 1;
            }
            c->name = mf_figure_text(panels->figure, "%s%salong %s", whose, *whose ? ", " : "", axis[across]);
            count += (size_t)!is_known(shown, lag, cuts, count);
        }
    return count;
}

static size_t lines_of(struct mf_panels *panels, const struct mf_panel_place *p, size_t lag, struct cut cuts[CURVES])
{
    const struct mf_shown *shown = p->row->shown;
    const size_t count = shown->count < CURVES ? shown->count : CURVES;

    if (shown->as == MF_SHOWN_LAGS) return cuts_of(panels, p, lag, cuts);
    for (size_t k = 0; k < count; ++k)
        cuts[k] = (struct cut){.k = k,
                               .count = shown->extent(lag, k),
                               .name = shown->name ? with_axes(panels, p->side, shown->name[k]) : NULL};
    return count;
}

/* Root mean square of the difference. NAN if there is no target, or if lags differ and it is no window. */
static double rms_of(const struct mf_panels *panels, const struct mf_panel_place *p)
{
    const double *got = values_of(panels->got, p), *want = wanted(panels, p);
    const size_t n = mf_descriptor_entries(p->row, panels->got->lag);
    double sum = 0;

    if (!want) return NAN;
    if (p->row->shown == &mf_shown_window) return mf_window_rms(got, panels->got->lag, want, panels->want->lag);
    if (panels->want->lag != panels->got->lag) return NAN;
    for (size_t i = 0; i < n; ++i) sum += (got[i] - want[i]) * (got[i] - want[i]);
    return sqrt(sum / (double)n);
}

static const char *with_rms(struct mf_panels *panels, const struct mf_panel_place *p, const char *title)
{
    const double rms = rms_of(panels, p);

    return isfinite(rms) ? mf_figure_text(panels->figure, "%s: rms %.1e", title, rms) : title;
}

int mf_panels_curves(struct mf_panels *panels, const struct mf_panel_place *p)
{
    const double *got = values_of(panels->got, p), *want = wanted(panels, p);
    const int window = p->row->shown->as == MF_SHOWN_LAGS;
    const int in_twos = window && p->row->shown->count > 1 && !p->row->shown->axes; /* both ways through a window */
    struct cut mine[CURVES], theirs[CURVES];
    struct mf_curve *curves;
    size_t count, theirs_count, n = 0;
    struct mf_panel *panel;
    const char *title;

    if (!got) return 0;
    count = lines_of(panels, p, panels->got->lag, mine);
    theirs_count = want ? lines_of(panels, p, panels->want->lag, theirs) : 0;
    curves = mf_figure_keep(panels->figure, 2 * CURVES * sizeof *curves);
    for (size_t k = 0; k < count; ++k) {
        curves[n] = curve_of(panels, p, &mine[k], got, panels->got->lag);
        curves[n].colour = (int)(in_twos ? k / 2 : k % HALF) + 1;
        curves[n++].dashed = in_twos || count <= 2 ? k % 2 == 1 : k >= HALF; /* the one below it is seen */
        if (k >= theirs_count) continue;
        curves[n] = curve_of(panels, p, &theirs[k], want, panels->want->lag);
        curves[n].colour = curves[n - 1].colour;
        curves[n].marks = 1;
        curves[n].name = k + 1 == theirs_count ? "target" : NULL;
        ++n;
    }
    title = with_rms(panels, p, title_of(panels, p, window ? "cuts" : ""));
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_CURVES,
                               .title = title,
                               .xlabel = window ? "lag [pixels]" : p->row->shown->across,
                               .ylabel = p->row->shown->value,
                               .curve_count = n,
                               .curves = curves};
    return 1;
}

/* ---- numbers ---- */

static struct mf_curve series_of(struct mf_panels *panels, struct mf_panel_place place, size_t count, int is_wanted)
{
    double *y = mf_figure_keep(panels->figure, count * sizeof *y);

    for (place.part = 0; place.part < count; ++place.part) {
        const double *values = is_wanted ? wanted(panels, &place) : values_of(panels->got, &place);

        y[place.part] = values ? values[place.row->shown->entry(panels->got->lag, place.number, 0)] : NAN;
    }
    return (struct mf_curve){.count = count, .y = y};
}

/* The bars of a number of every part. Returns whether anything was drawn. */
static int draw_bars(struct mf_panels *panels, const struct mf_panel_place *p)
{
    struct mf_panel_place place = *p;
    const size_t parts = mf_panels_parts(panels->got, p->row), count = parts < NUMBERS ? parts : NUMBERS;
    size_t levels = levels_of(panels->got, p), n = 0;
    const char **names = mf_figure_keep(panels->figure, count * sizeof *names);
    struct mf_curve *series = mf_figure_keep(panels->figure, (MF_PANELS_LEVELS + 1) * sizeof *series);
    const char *what = p->row->shown->name ? with_axes(panels, p->side, p->row->shown->name[p->number]) : "";
    const char *title =
        mf_figure_text(panels->figure, "%s%s%s%s", p->row->name, *what ? ", " : "", what, of_side(panels, p));
    struct mf_panel *panel;

    place.part = 0;
    if (!values_of(panels->got, &place)) return 0;
    if (levels > MF_PANELS_LEVELS) levels = MF_PANELS_LEVELS;
    for (place.part = 0; place.part < count; ++place.part) names[place.part] = part_name(panels, &place);
    place.part = 0;
    for (place.level = 0; place.level < levels; ++place.level) {
        series[n] = series_of(panels, place, count, 0);
        if (levels > 1) series[n].name = mf_figure_text(panels->figure, "level %zu", place.level);
        ++n;
    }
    place.level = 0;
    if (wanted(panels, &place)) {
        if (levels == 1) series[0].name = "this";
        series[n] = series_of(panels, place, count, 1);
        series[n++].name = levels > 1 ? "level 0, target" : "target";
    }
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_BARS,
                               .title = title,
                               .ylabel = p->row->shown->value,
                               .curve_count = n,
                               .curves = series,
                               .bar_count = count,
                               .bar_names = names};
    return 1;
}

/* ---- the example ---- */

static void draw_example(struct mf_panels *panels, const struct mf_descriptor *row, int side)
{
    const struct mf_target_side *s = &panels->got->side[side];
    const struct mf_panel_place place = {.row = row, .side = side};
    const char *const *axis = mf_side_axes(panels->got, panels->ndim, side);
    const struct mf_frame frame = {axis[0], axis[1], "", {1, 1}};
    uint8_t *phase = mf_example_classes(s, -1);
    const size_t n = s->example_nu * s->example_nv;
    int classes = panels->got->phases;

    for (size_t i = 0; phase && i < n; ++i) /* pixels of none of these are one more */
        if (phase[i] >= panels->got->phases) {
            phase[i] = (uint8_t)panels->got->phases;
            classes = panels->got->phases + 1;
        }
    if (phase)
        mf_figure_phases(panels->figure,
                         mf_figure_text(panels->figure, "%s, example%s", row->name, of_side(panels, &place)), &frame,
                         s->example_nu, s->example_nv, phase, classes, NULL);
    free(phase);
}

/* ---- all of a descriptor ---- */

/* A new row of the figure where so many panels do not fit into the rest of this one. */
static void make_room(struct mf_figure *f, size_t panels)
{
    const size_t used = f->count % f->columns;

    if (used && used + panels > f->columns) mf_figure_end_row(f);
}

/* How many a part has on one level of one side, and all of its cuts. */
static size_t panels_of(const struct mf_shown *shown)
{
    return shown->as == MF_SHOWN_LAGS || shown->as == MF_SHOWN_MATRIX ? shown->count : 1;
}

static size_t cuts(const struct mf_shown *shown, int sides) { return shown->as == MF_SHOWN_LAGS ? (size_t)sides : 0; }

static void draw_place(struct mf_panels *panels, const struct mf_panel_place *p)
{
    if (p->row->shown->as == MF_SHOWN_CURVES)
        (void)mf_panels_curves(panels, p);
    else
        draw_squares(panels, p);
}

/* Its levels, or of three sides the finest of each; then cuts. */
static void draw_part(struct mf_panels *panels, struct mf_panel_place p)
{
    const int sides = sides_of(panels->got, p.row);
    const size_t levels = sides == 3 ? 1 : mf_min(levels_of(panels->got, &p), MF_PANELS_LEVELS);
    const struct mf_shown *shown = p.row->shown;

    make_room(panels->figure, levels * (size_t)sides * panels_of(shown) + cuts(shown, sides));
    for (p.side = 0; p.side < sides; ++p.side)
        for (p.level = 0; p.level < levels; ++p.level) draw_place(panels, &p);
    p.level = 0;
    make_room(panels->figure, cuts(shown, sides));
    for (p.side = 0; (size_t)p.side < cuts(shown, sides); ++p.side) (void)mf_panels_curves(panels, &p);
}

/* Number of its values that are not drawn. */
static size_t left_of(const struct mf_target *t, const struct mf_descriptor *row, size_t drawn)
{
    const int sides = sides_of(t, row);
    size_t all = 0;

    for (int side = 0; side < sides; ++side) {
        const struct mf_panel_place p = {.row = row, .side = side};

        all += levels_of(t, &p) * panels_of(row->shown);
    }
    return (all + cuts(row->shown, sides)) * mf_panels_parts(t, row) - drawn;
}

static void draw_numbers(struct mf_panels *panels, const struct mf_descriptor *row)
{
    struct mf_panel_place p = {.row = row};

    for (p.side = 0; p.side < sides_of(panels->got, row); ++p.side)
        for (p.number = 0; p.number < row->shown->count; ++p.number) (void)draw_bars(panels, &p);
}

static void draw_parts(struct mf_panels *panels, const struct mf_descriptor *row)
{
    const size_t parts = mf_panels_parts(panels->got, row), from = panels->figure->count;
    struct mf_panel_place p = {.row = row};

    for (p.part = 0; p.part < mf_min(parts, MF_PANELS_PARTS); ++p.part) draw_part(panels, p);
    panels->left += left_of(panels->got, row, mf_figure_drawn(panels->figure, from));
    mf_figure_end_row(panels->figure);
}

void mf_panels_descriptors(struct mf_panels *panels)
{
    const struct mf_target *t = panels->got;

    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) /* few panels each: in rows together */
        if (mf_descriptors[i].shown && mf_descriptors[i].shown->as == MF_SHOWN_NUMBER && has(t, &mf_descriptors[i]))
            draw_numbers(panels, &mf_descriptors[i]);
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i)
        for (int side = 0; mf_descriptor_is(&mf_descriptors[i], MF_BY_EXAMPLE) && side < t->sides; ++side)
            if (t->side[side].example) draw_example(panels, &mf_descriptors[i], side);
    mf_figure_end_row(panels->figure);
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i)
        if (mf_descriptors[i].shown && mf_descriptors[i].shown->as != MF_SHOWN_NUMBER && has(t, &mf_descriptors[i]))
            draw_parts(panels, &mf_descriptors[i]);
}
