/* See figure.h. */
#include "src/show/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/distance.h"
#include "src/show/describe.h"
#include "src/show/side.h"

enum { CURVES = 12, FIRST_ROOM = 16, PHASES_DRAWN = 6 };

static void *need(void *memory)
{
    if (!memory) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a picture");
    return memory;
}

void *mf_figure_keep(struct mf_figure *f, size_t bytes)
{
    if (f->owned_count == f->owned_room) {
        f->owned_room = f->owned_room ? 2 * f->owned_room : FIRST_ROOM;
        f->owned = need(realloc(f->owned, f->owned_room * sizeof *f->owned));
    }
    return f->owned[f->owned_count++] = need(calloc(1, bytes ? bytes : 1));
}

const char *mf_figure_text(struct mf_figure *f, const char *format, ...)
{
    char text[256], *copy;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = mf_figure_keep(f, strlen(text) + 1);
    memcpy(copy, text, strlen(text));
    return copy;
}

struct mf_panel *mf_figure_next(struct mf_figure *f)
{
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : FIRST_ROOM;
        f->panel = need(realloc(f->panel, f->room * sizeof *f->panel));
    }
    f->panel[f->count] = (struct mf_panel){.kind = MF_PANEL_EMPTY};
    return &f->panel[f->count++];
}

void mf_figure_end_row(struct mf_figure *f)
{
    while (f->count % f->columns) (void)mf_figure_next(f);
}

size_t mf_figure_drawn(const struct mf_figure *f, size_t first)
{
    size_t n = 0;

    for (size_t i = first; i < f->count; ++i) n += f->panel[i].kind != MF_PANEL_EMPTY;
    return n;
}

void mf_figure_json(const struct mf_figure *f, int has_title, struct mf_json *to)
{
    struct mf_json *drawn = mf_json_array();

    MF_JSON(to, "panels", mf_figure_drawn(f, 0), "left_out", f->left);
    for (size_t i = 0; i < f->count; ++i) {
        struct mf_json *one;
        double cell[4];

        if (f->panel[i].kind == MF_PANEL_EMPTY) continue;
        one = mf_json_object();
        mf_plot_cell(f->count, f->columns, has_title, i, cell);
        mf_json_text(one, "title", f->panel[i].title ? f->panel[i].title : "");
        mf_json_reals(one, "box", cell, 4);
        mf_json_put(drawn, NULL, one);
    }
    mf_json_put(to, "drawn", drawn);
}

int mf_figure_write(const char *path, const char *title, struct mf_figure *f)
{
    const int rc = mf_plot_write(path, title, f->panel, f->count, f->columns ? f->columns : 1);

    mf_figure_free(f);
    return rc;
}

void mf_figure_free(struct mf_figure *f)
{
    for (size_t i = 0; i < f->owned_count; ++i) free(f->owned[i]);
    free(f->owned);
    free(f->panel);
    *f = (struct mf_figure){0};
}

/* ---- pictures ---- */

static const char *axis_label(struct mf_figure *f, const char *name, const char *unit)
{
    return unit ? mf_figure_text(f, "%s [%s]", name, *unit ? unit : "pixels") : name;
}

static struct mf_panel *picture(struct mf_figure *f, const char *title, const struct mf_frame *frame, size_t rows,
                                size_t columns)
{
    const char *xlabel = axis_label(f, frame->column, frame->unit), *ylabel = axis_label(f, frame->row, frame->unit);
    const char *name = mf_figure_text(f, "%s: %zu \303\227 %zu%s", title, rows, columns, frame->unit ? " pixels" : "");
    const int has_unit = frame->unit && *frame->unit;
    struct mf_panel *p = mf_figure_next(f);

    *p = (struct mf_panel){.title = name, .xlabel = xlabel, .ylabel = ylabel, .rows = rows, .columns = columns};
    p->colours = f->map;
    p->bare = f->bare;
    p->extent[1] = (double)columns * (has_unit ? frame->step[1] : 1);
    p->extent[3] = (double)rows * (has_unit ? frame->step[0] : 1);
    return p;
}

void mf_figure_phases(struct mf_figure *f, const char *title, const struct mf_frame *frame, size_t rows, size_t columns,
                      const uint8_t *phase, int phases, const char *const *names)
{
    uint8_t *copy = mf_figure_keep(f, rows * columns);
    struct mf_panel *p = picture(f, title, frame, rows, columns);

    memcpy(copy, phase, rows * columns);
    p->kind = MF_PANEL_PHASES;
    p->phases = copy;
    p->phase_count = phases;
    p->phase_names = names;
}

void mf_figure_values(struct mf_figure *f, const char *title, const struct mf_frame *frame, size_t rows, size_t columns,
                      const double *values)
{
    double *copy = mf_figure_keep(f, rows * columns * sizeof *copy);
    struct mf_panel *p = picture(f, title, frame, rows, columns);

    memcpy(copy, values, rows * columns * sizeof *copy);
    p->kind = MF_PANEL_IMAGE;
    p->image = copy;
}

/* ---- descriptors ---- */

int mf_main_phase(const struct mf_target *target) { return target->phases == 2 ? 1 : 0; }

/* Edge of a pixel along a side's rows or columns; 1 and the unit "pixels" where the file knows none. */
static double axis_step(const struct mf_target *t, int side, int axis, const char **unit)
{
    static const int axes[3][2] = {{1, 2}, {0, 2}, {0, 1}};

    *unit = *t->unit ? t->unit : "pixels";
    return *t->unit ? t->spacing[axes[side][axis]] : 1;
}

static const double *window_of(const struct mf_target_side *side, size_t lag, int phase, size_t level)
{
    size_t width = 2 * lag - 1;

    return side->s2 + ((size_t)phase * side->levels + level) * width * width;
}

void mf_figure_map(struct mf_figure *f, const char *whose, const struct mf_target *got, int ndim, int side, int phase,
                   size_t level)
{
    const struct mf_target_side *s = &got->side[side];
    const char *unit[2], *title, *xlabel, *ylabel;
    double step[2] = {axis_step(got, side, 0, &unit[0]), axis_step(got, side, 1, &unit[1])};
    double reach = ((double)got->lag - 0.5) * (double)((size_t)1 << level);
    size_t width = 2 * got->lag - 1, bytes = width * width * sizeof(double);
    double *image = memcpy(mf_figure_keep(f, bytes), window_of(s, got->lag, phase, level), bytes);
    struct mf_panel *p;

    title = got->sides == 3 ? mf_figure_text(f, "S\342\202\202 of label %ld, slices normal to %s", got->label[phase],
                                             mf_side_name(got, ndim, side))
                            : mf_figure_text(f, "S\342\202\202 of label %ld%s", got->label[phase],
                                             s->levels > 1 ? mf_figure_text(f, ", level %zu", level) : "");
    xlabel = mf_figure_text(f, "lag along %s [%s]", mf_side_axes(got, ndim, side)[1], unit[1]);
    ylabel = mf_figure_text(f, "lag along %s [%s]", mf_side_axes(got, ndim, side)[0], unit[0]);
    p = mf_figure_next(f);
    *p = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                           .title = whose ? mf_figure_text(f, "%s: %s", whose, title) : title,
                           .xlabel = xlabel,
                           .ylabel = ylabel,
                           .rows = width,
                           .columns = width,
                           .image = image,
                           .colours = f->map,
                           .extent = {-reach * step[1], reach * step[1], -reach * step[0], reach * step[0]},
                           .bare = f->bare};
}

/* The phase of @p want that has this label, or -1. */
static int find_label(const struct mf_target *want, long label)
{
    for (int p = 0; want && p < want->phases; ++p)
        if (want->label[p] == label) return p;
    return -1;
}

/* One phase's curves: {radial, along u, along v}, and the lags they stand at. */
struct lines {
    double *at, *curve[3];
};

static struct lines lines_of(struct mf_figure *f, const struct mf_target_side *side, size_t lag, int phase)
{
    double *values = mf_figure_keep(f, 4 * lag * sizeof *values);
    struct lines l = {values, {values + lag, values + 2 * lag, values + 3 * lag}};

    for (size_t i = 0; i < lag; ++i) l.at[i] = (double)i;
    mf_side_curves(side, lag, phase, l.curve);
    return l;
}

struct bundle {
    struct mf_figure *figure;
    const struct mf_target *got, *want;
    int ndim, side;
    struct mf_curve *curves;
    size_t count;
};

/* A curve of ours and, where there is one, the wanted one in the same colour. */
static void add_pair(struct bundle *b, const char *name, const struct lines *got, const struct lines *want, int which)
{
    int colour = (int)(want ? b->count / 2 : b->count) + 1, second = which == 2;
    size_t lag = want && b->want->lag < b->got->lag ? b->want->lag : b->got->lag;

    b->curves[b->count++] = (struct mf_curve){.name = name,
                                              .count = b->got->lag,
                                              .x = got->at,
                                              .y = got->curve[which],
                                              .colour = colour,
                                              .dashed = second}; /* the one below it is seen */
    if (!want) return;
    b->curves[b->count++] = (struct mf_curve){.name = mf_figure_text(b->figure, "%s, target", name),
                                              .count = lag,
                                              .x = want->at,
                                              .y = want->curve[which],
                                              .colour = colour,
                                              .marks = 1};
}

static void add_phase(struct bundle *b, int phase, int one)
{
    const struct mf_target *t = b->got;
    int other = find_label(b->want, t->label[phase]);
    struct lines got = lines_of(b->figure, &t->side[b->side], t->lag, phase), want = {0};

    if (other >= 0) want = lines_of(b->figure, mf_target_for(b->want, (enum mf_normal)b->side), b->want->lag, other);
    if (!one) {
        add_pair(b, mf_figure_text(b->figure, "label %ld", t->label[phase]), &got, other >= 0 ? &want : NULL, 0);
        return;
    }
    for (int axis = 0; axis < 2; ++axis)
        add_pair(b, mf_figure_text(b->figure, "along %s", mf_side_axes(t, b->ndim, b->side)[axis]), &got,
                 other >= 0 ? &want : NULL, 1 + axis);
}

/* "S2, normal to z: rms 2.1e-03" */
static const char *curves_title(const struct bundle *b, int phase, int one)
{
    const struct mf_target *t = b->got;
    const char *side =
        t->sides == 3 ? mf_figure_text(b->figure, ", normal to %s", mf_side_name(t, b->ndim, b->side)) : "";
    const char *what = one ? "" : ", radial mean";
    int other = one ? find_label(b->want, t->label[phase]) : -1;
    double off;

    if (other < 0) return mf_figure_text(b->figure, "S\342\202\202%s%s", what, side);
    off =
        mf_window_rms(window_of(&t->side[b->side], t->lag, phase, 0), t->lag,
                      window_of(mf_target_for(b->want, (enum mf_normal)b->side), b->want->lag, other, 0), b->want->lag);
    return mf_figure_text(b->figure, "S\342\202\202%s: rms %.1e", side, off);
}

void mf_figure_curves(struct mf_figure *f, const struct mf_target *got, const struct mf_target *want, int ndim,
                      int side)
{
    struct bundle b = {f, got, want, ndim, side, mf_figure_keep(f, CURVES * sizeof *b.curves), 0};
    int one = got->phases <= 2, first = one ? mf_main_phase(got) : 0;
    int last = one ? first : (got->phases < PHASES_DRAWN ? got->phases : PHASES_DRAWN) - 1;
    const char *title = curves_title(&b, first, one);
    const char *ylabel = one ? mf_figure_text(f, "S\342\202\202 of label %ld", got->label[first]) : "S\342\202\202";
    struct mf_panel *p;

    for (int phase = first; phase <= last; ++phase) add_phase(&b, phase, one);
    p = mf_figure_next(f);
    *p = (struct mf_panel){.kind = MF_PANEL_CURVES,
                           .title = title,
                           .xlabel = mf_figure_text(f, "lag [pixels], 0 to %zu", got->lag - 1),
                           .ylabel = ylabel,
                           .curve_count = b.count,
                           .curves = b.curves};
}

/* Rows [first, end) of the loss as a curve. */
static void add_stretch(struct mf_panel *p, struct mf_curve *curves, const char *name, const double *x, const double *y,
                        size_t first, size_t end)
{
    if (first >= end) return;
    curves[p->curve_count] = (struct mf_curve){
        .name = name, .count = end - first, .x = x + first, .y = y + first, .colour = (int)p->curve_count + 1};
    ++p->curve_count;
}

void mf_figure_convergence(struct mf_figure *f, const double *rows, size_t count, double binarise, int ended)
{
    double *x = mf_figure_keep(f, 2 * count * sizeof *x), *y = x + count;
    struct mf_curve *curves = mf_figure_keep(f, 3 * sizeof *curves);
    struct mf_panel *p = mf_figure_next(f);
    const size_t end = ended && count > 0 ? count - 1 : count;
    size_t split = 0;

    for (size_t i = 0; i < count; ++i) {
        x[i] = rows[3 * i];
        y[i] = rows[3 * i + 2];
    }
    while (split < end && !(binarise > 0 && x[split] > binarise)) ++split;
    *p = (struct mf_panel){
        .kind = MF_PANEL_CURVES, .title = "Convergence", .xlabel = "evaluations", .ylabel = "loss", .curves = curves};
    p->log_y = 1;
    add_stretch(p, curves, count > split ? "optimiser" : NULL, x, y, 0, split);
    add_stretch(p, curves, "binarisation", x, y, split ? split - 1 : 0, split < end ? end : 0);
    add_stretch(p, curves, "binary", x, y, end, count);
    if (end < count) curves[p->curve_count - 1].marks = 1;
}

/* ---- one scale ---- */

static int same_unit(const struct mf_panel *a, const struct mf_panel *b)
{
    const char *one = strchr(a->xlabel, '['), *two = strchr(b->xlabel, '[');

    return one && two && strcmp(one, two) == 0;
}

void mf_figure_one_scale(struct mf_figure *f)
{
    enum { MOST = 3 };
    double width = 0, height = 0;
    const struct mf_panel *first = NULL;

    for (size_t i = 0; i < f->count; ++i) {
        const struct mf_panel *p = &f->panel[i];

        if (p->kind != MF_PANEL_PHASES) continue;
        if (!first) first = p;
        if (!same_unit(first, p)) return;
        width = fmax(width, p->extent[1]);
        height = fmax(height, p->extent[3]);
    }
    for (size_t i = 0; i < f->count; ++i) {
        struct mf_panel *p = &f->panel[i];

        if (p->kind != MF_PANEL_PHASES) continue;
        p->share[0] = fmin(width, MOST * p->extent[1]);
        p->share[1] = fmin(height, MOST * p->extent[3]);
    }
}
