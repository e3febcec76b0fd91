/* See view_values.h. */
#include "src/show/view_values.h"

#include <math.h>
#include <string.h>

#include "io/seal.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/show/panels.h"

/* Most values of a plane that is drawn. */
static const size_t values_max = (size_t)1 << 28;

enum { NORMALS = 3, PLANES = MF_PANELS_PARTS * MF_PANELS_LEVELS * NORMALS, BARS = 8 };

/* The planes that are drawn of every part and level. A volume has the middle planes normal to each axis, an image the
 * one plane normal to z.
 */
struct planes {
    const struct mf_array *array;
    const struct mf_view_axes *axes;
    size_t parts, first, levels; /* drawn: parts from 0, levels from first on */
    double *plane[PLANES];       /* [part][level][normal]; NULL: not drawn */
};

static size_t rows_of(const struct planes *p, int normal)
{
    return p->axes->n[normal == 0 ? MF_VIEW_ROW : MF_VIEW_PLANE];
}

static size_t columns_of(const struct planes *p, int normal)
{
    return p->axes->n[normal == 2 ? MF_VIEW_ROW : MF_VIEW_COLUMN];
}

static int normals(const struct planes *p) { return p->axes->n[MF_VIEW_PLANE] > 1 ? NORMALS : 1; }

static double **plane_of(struct planes *p, size_t part, size_t level)
{
    return p->plane + (part * MF_PANELS_LEVELS + level) * NORMALS;
}

/* ---- reading ---- */

static void keep(struct planes *p, const size_t at[MF_VIEW_ROLES], double value)
{
    const size_t *n = p->axes->n, z = at[MF_VIEW_PLANE], y = at[MF_VIEW_ROW], x = at[MF_VIEW_COLUMN];
    double **plane;

    if (at[MF_VIEW_PART] >= p->parts || at[MF_VIEW_LEVEL] < p->first || at[MF_VIEW_LEVEL] - p->first >= p->levels)
        return;
    plane = plane_of(p, at[MF_VIEW_PART], at[MF_VIEW_LEVEL] - p->first);
    if (z == n[MF_VIEW_PLANE] / 2) plane[0][y * n[MF_VIEW_COLUMN] + x] = value;
    if (plane[1] && y == n[MF_VIEW_ROW] / 2) plane[1][z * n[MF_VIEW_COLUMN] + x] = value;
    if (plane[2] && x == n[MF_VIEW_COLUMN] / 2) plane[2][z * n[MF_VIEW_ROW] + y] = value;
}

/* mf_array_take(): values on their way through the file; what lies in a plane stays. */
static int pick(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct planes *p = context;
    const struct mf_array *a = p->array;
    double some[512];

    for (size_t k = 0; k < n; k += 512) {
        const size_t now = mf_min(n - k, 512);

        mf_array_reals(a, (const char *)values + k * a->size, now, some);
        for (size_t i = 0; i < now; ++i) {
            size_t e = at + (k + i) * stride, place[MF_VIEW_ROLES] = {0};

            for (int axis = a->ndim - 1; axis >= 0; --axis) {
                place[p->axes->role[axis]] += e % a->shape[axis];
                e /= a->shape[axis];
            }
            keep(p, place, some[i]);
        }
    }
    return MF_OK;
}

static int take(const struct mf_show *s, const char *file, struct planes *p, double **plane, int normal)
{
    const size_t rows = rows_of(p, normal), columns = columns_of(p, normal);

    if (columns > values_max / rows)
        return mf_fail(MF_INPUT, "'%s' is too large to be drawn: %zu x %zu values in a plane", file, rows, columns);
    plane[normal] = mf_arena_take(s->arena, rows * columns * sizeof(double), "values drawn");
    return plane[normal] ? MF_OK : MF_MEMORY;
}

static int take_all(const struct mf_show *s, const char *file, struct planes *p)
{
    for (size_t part = 0; part < p->parts; ++part)
        for (size_t level = 0; level < p->levels; ++level)
            for (int normal = 0; normal < normals(p); ++normal)
                MF_TRY(take(s, file, p, plane_of(p, part, level), normal));
    return MF_OK;
}

/* ---- scale ---- */

static void widen(struct mf_view_scale *scale, const double *values, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (!isfinite(values[i])) continue;
        scale->least = fmin(scale->least, values[i]);
        scale->most = fmax(scale->most, values[i]);
    }
}

static struct mf_view_scale scale_of(const struct planes *p)
{
    struct mf_view_scale scale = {HUGE_VAL, -HUGE_VAL, 0};

    for (size_t i = 0; i < PLANES; ++i)
        if (p->plane[i]) widen(&scale, p->plane[i], rows_of(p, (int)(i % NORMALS)) * columns_of(p, (int)(i % NORMALS)));
    return scale;
}

/* ---- titles ---- */

/* Only phases and levels: numbers, rows and columns of the one plane. */
static int is_numbers(const struct mf_view_axes *axes) { return strlen(axes->word) == 2 && axes->word[1] == 'l'; }

static int is_curves(const struct mf_view_axes *axes) { return strchr(axes->word, 'e') != NULL; }

/* "phase 0", "phases 0, 1"; of one part that may be all phases together, nothing. */
static const char *part_name(struct mf_figure *f, const struct mf_view_axes *axes, size_t part)
{
    const size_t n = axes->n[is_numbers(axes) ? MF_VIEW_ROW : MF_VIEW_PART];
    const int of_levels = strchr(axes->word, 'l') || strchr(axes->word, 'd');
    size_t phases = 2, a, b;

    if (n == 1) return "";
    if (*axes->word != 'q')
        return mf_figure_text(f, axes->guessed && of_levels ? "phase or pair %zu" : "phase %zu", part);
    while (phases * (phases - 1) / 2 < n) ++phases;
    if (phases * (phases - 1) / 2 != n) return mf_figure_text(f, "pair %zu", part);
    mf_descriptor_pair(phases, part, &a, &b);
    return mf_figure_text(f, "phases %zu, %zu", a, b);
}

static const char *level_name(struct mf_figure *f, const struct mf_view_axes *axes, size_t level)
{
    const size_t n = axes->n[MF_VIEW_LEVEL];
    const long centre = n == axes->n[MF_VIEW_ROW] ? (long)(n / 2) : 0; /* all lags, or those from 0 on */

    if (strchr(axes->word, 'd')) return mf_figure_text(f, "lag %ld along z", (long)level - centre);
    return strchr(axes->word, 'l') ? mf_figure_text(f, "level %zu", level) : "";
}

static const char *joined(struct mf_figure *f, const char *a, const char *b)
{
    return *a && *b ? mf_figure_text(f, "%s, %s", a, b) : *a ? a : b;
}

static const char *title_of(struct mf_figure *f, const struct planes *p, const char *name, size_t part, size_t level)
{
    return joined(f, joined(f, name ? name : "", part_name(f, p->axes, part)),
                  level_name(f, p->axes, p->first + level));
}

/* ---- drawing ---- */

/* Lags have their zero in the middle. */
static void draw_plane(struct mf_figure *f, const struct planes *p, const char *title, int normal, const double *values)
{
    static const char *const place[NORMALS][2] = {{"y", "x"}, {"z", "x"}, {"z", "y"}};
    const size_t rows = rows_of(p, normal), columns = columns_of(p, normal);
    struct mf_frame frame = {place[normal][0], place[normal][1], "", {1, 1}};
    struct mf_panel *panel;

    if (strchr(p->axes->word, 'u')) frame = (struct mf_frame){"row", "column", NULL, {1, 1}};
    if (strchr(p->axes->word, 'd')) frame = (struct mf_frame){"lag along y", "lag along x", "", {1, 1}};
    mf_figure_values(f, title, &frame, rows, columns, values);
    if (!strchr(p->axes->word, 'd')) return;
    panel = &f->panel[f->count - 1];
    for (int i = 0; i < 2; ++i) {
        panel->extent[i] -= (double)columns / 2;
        panel->extent[2 + i] -= (double)rows / 2;
    }
}

static void draw_picture(struct mf_figure *f, const struct planes *p, const char *title, size_t part, size_t level,
                         int normal)
{
    const size_t middle = p->axes->n[MF_VIEW_PLANE + normal] / 2;
    double *const *plane = p->plane + (part * MF_PANELS_LEVELS + level) * NORMALS;

    if (normals(p) > 1)
        title = joined(f, title, mf_figure_text(f, "%slice %c = %zu", *title ? "s" : "S", "zyx"[normal], middle));
    draw_plane(f, p, *title ? title : "Values", normal, plane[normal]);
}

/* The curves of a part's levels in one panel. */
static void draw_curves(struct mf_figure *f, const struct planes *p, const char *title, size_t part)
{
    const size_t n = p->axes->n[MF_VIEW_COLUMN];
    struct mf_curve *curves = mf_figure_keep(f, p->levels * sizeof *curves);
    struct mf_panel *panel;

    for (size_t level = 0; level < p->levels; ++level) {
        double *x = mf_figure_keep(f, 2 * n * sizeof *x), *y = x + n;

        for (size_t i = 0; i < n; ++i) x[i] = (double)i;
        memcpy(y, p->plane[(part * MF_PANELS_LEVELS + level) * NORMALS], n * sizeof *y);
        curves[level] = (struct mf_curve){.name = level_name(f, p->axes, level), .count = n, .x = x, .y = y};
    }
    panel = mf_figure_next(f);
    *panel = (struct mf_panel){.kind = MF_PANEL_CURVES,
                               .title = *title ? title : "Values",
                               .xlabel = "entry",
                               .ylabel = "value",
                               .curve_count = p->levels,
                               .curves = curves};
}

/* Bars: a place for every phase or pair, beside each other its levels. Returns how many numbers there are more. */
static size_t draw_numbers(struct mf_figure *f, const struct planes *p, const char *title)
{
    const size_t rows = p->axes->n[MF_VIEW_ROW], columns = p->axes->n[MF_VIEW_COLUMN];
    const size_t count = mf_min(rows, BARS), levels = mf_min(columns, MF_PANELS_LEVELS);
    const char **names = mf_figure_keep(f, count * sizeof *names);
    struct mf_curve *series = mf_figure_keep(f, levels * sizeof *series);
    struct mf_panel *panel;

    for (size_t i = 0; i < count; ++i) names[i] = part_name(f, p->axes, i);
    for (size_t level = 0; level < levels; ++level) {
        double *y = mf_figure_keep(f, count * sizeof *y);

        for (size_t i = 0; i < count; ++i) y[i] = p->plane[0][i * columns + level];
        series[level] = (struct mf_curve){.name = level_name(f, p->axes, level), .count = count, .y = y};
    }
    panel = mf_figure_next(f);
    *panel = (struct mf_panel){.kind = MF_PANEL_BARS,
                               .title = title,
                               .ylabel = "value",
                               .curve_count = levels,
                               .curves = series,
                               .bar_count = count,
                               .bar_names = names};
    return rows * columns - count * levels;
}

static void draw_part(struct mf_figure *f, const struct planes *p, const char *name, size_t part)
{
    if (is_curves(p->axes)) {
        draw_curves(f, p, joined(f, name ? name : "", part_name(f, p->axes, part)), part);
        return;
    }
    for (size_t level = 0; level < p->levels; ++level)
        for (int normal = 0; normal < normals(p); ++normal)
            draw_picture(f, p, title_of(f, p, name, part, level), part, level, normal);
}

/* Without colour bars titles say what the colours are. */
static void share_scale(struct mf_figure *f, size_t from, struct mf_view_scale *scale)
{
    for (size_t i = from; i < f->count; ++i) {
        struct mf_panel *panel = &f->panel[i];

        if (panel->kind != MF_PANEL_IMAGE || !(scale->most > scale->least)) continue;
        ++scale->panels;
        panel->range[0] = scale->least;
        panel->range[1] = scale->most;
        if (panel->bare) panel->title = mf_figure_text(f, "%s, %.3g to %.3g", panel->title, scale->least, scale->most);
    }
}

static void tell_left(struct mf_figure *f, size_t left, const char *what)
{
    f->left += left;
    if (left)
        mf_info("%zu more %s%s left out: at most %d phases or pairs and %d levels are drawn", left, what,
                left == 1 ? " is" : "s are", strcmp(what, "number") == 0 ? BARS : MF_PANELS_PARTS, MF_PANELS_LEVELS);
}

static void draw_all(struct mf_figure *f, const struct planes *p, const char *name)
{
    const size_t *n = p->axes->n;

    if (is_numbers(p->axes)) {
        tell_left(f, draw_numbers(f, p, name ? name : "Values"), "number");
        return;
    }
    for (size_t part = 0; part < p->parts; ++part) draw_part(f, p, name, part);
    tell_left(f, (n[MF_VIEW_PART] * n[MF_VIEW_LEVEL] - p->parts * p->levels) * (size_t)normals(p),
              is_curves(p->axes) ? "curve" : "panel");
}

/* The first levels; of lags that go from below 0 on, those from 0 on. */
static void choose(struct planes *p)
{
    const size_t *n = p->axes->n;

    if (strchr(p->axes->word, 'd') && n[MF_VIEW_LEVEL] == n[MF_VIEW_ROW]) p->first = n[MF_VIEW_LEVEL] / 2;
    p->parts = mf_min(n[MF_VIEW_PART], MF_PANELS_PARTS);
    p->levels = mf_min(n[MF_VIEW_LEVEL] - p->first, MF_PANELS_LEVELS);
}

static size_t in_a_row(const struct planes *p)
{
    if (is_curves(p->axes)) return mf_min(p->parts, 2);
    if (normals(p) > 1) return (size_t)normals(p);
    return p->axes->n[MF_VIEW_LEVEL] > 1 ? p->levels : p->parts;
}

int mf_view_values(const struct mf_show *show, const struct mf_view_file *file, const char *name,
                   struct mf_figure *figure, size_t *columns, struct mf_view_scale *scale)
{
    struct planes p = {.array = &file->array, .axes = &file->axes};
    const size_t from = figure->count;
    struct mf_comm self;
    int rc;

    if (!file->axes.word)
        return mf_fail(MF_INPUT,
                       "cannot draw '%s': the meaning of its %d axes is unknown; for two to four axes give --axes, as "
                       "zyxp or pluv",
                       file->file, file->array.ndim);
    mf_comm_self(&self);
    if (p.array->format == MF_HDF5) MF_TRY(mf_seal_warn(&self, p.array->path, p.array->ours, NULL));
    choose(&p);
    rc = take_all(show, file->file, &p);
    if (rc == MF_OK) rc = mf_array_visit(p.array, 0, p.array->shape[0], pick, &p);
    if (rc == MF_OK) {
        *scale = scale_of(&p);
        draw_all(figure, &p, name);
        *columns = in_a_row(&p);
        share_scale(figure, from, scale);
    }
    for (size_t i = 0; i < PLANES; ++i) mf_arena_give(show->arena, p.plane[i]);
    return rc;
}
