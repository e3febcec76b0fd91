/* See plot_curve.h. */
#include "io/plot_curve.h"

#include <math.h>

enum { LEGEND_TEXT = 256 };

static const double legend_size = 10.5, legend_line = 16, sample = 24;

/* A point that can be drawn. */
static int drawable(const struct mf_panel *p, const struct mf_curve *c, size_t i)
{
    return isfinite(c->x[i]) && isfinite(c->y[i]) && (!p->log_y || c->y[i] > 0);
}

static void range_of(const struct mf_panel *p, struct mf_axis *x, struct mf_axis *y)
{
    x->lo = y->lo = HUGE_VAL;
    x->hi = y->hi = -HUGE_VAL;
    for (size_t k = 0; k < p->curve_count; ++k)
        for (size_t i = 0; i < p->curves[k].count; ++i) {
            const struct mf_curve *c = &p->curves[k];

            if (!drawable(p, c, i)) continue;
            x->lo = fmin(x->lo, c->x[i]);
            x->hi = fmax(x->hi, c->x[i]);
            y->lo = fmin(y->lo, c->y[i]);
            y->hi = fmax(y->hi, c->y[i]);
        }
}

/* A range that is empty or a point gets some width; flat curves lie in the middle. */
static void widen(struct mf_axis *axis)
{
    double room = (axis->hi - axis->lo) * 0.04;

    if (!(axis->hi >= axis->lo)) {
        axis->lo = axis->log ? 0.1 : 0;
        axis->hi = 1;
        return;
    }
    if (axis->log) return;
    if (room <= 1e-9 * fabs(axis->hi)) room = fabs(axis->hi) > 0 ? 0.05 * fabs(axis->hi) : 0.5;
    axis->lo -= axis->lo >= 0 && axis->lo < room ? axis->lo : room; /* curves of what cannot be negative start at 0 */
    axis->hi += room;
}

static void axes_of(const struct mf_panel *p, struct mf_box box, struct mf_axis *x, struct mf_axis *y)
{
    *x = (struct mf_axis){0, 0, box.x, box.x + box.width, 0, p->whole_x};
    *y = (struct mf_axis){0, 0, box.y + box.height, box.y, p->log_y, 0};
    range_of(p, x, y);
    widen(y);
    if (p->from_zero && !p->log_y && y->lo > 0) {
        y->lo = 0;
        y->hi *= 1.04;
    }
    if (p->log_y) mf_axis_round(y, 6);
    if (p->bar_names) {
        x->lo = -0.5;
        x->hi = (double)p->bar_count - 0.5;
    } else if (!(x->hi > x->lo) || (p->curve_count && p->curves[0].marks == MF_MARK_DOTS))
        widen(x);
}

static uint32_t colour_of(const struct mf_panel *p, size_t k)
{
    int colour = p->curves[k].colour;

    if (colour < 0) return 0x101010;
    return mf_plot_line(colour > 0 ? (size_t)colour - 1 : k);
}

static void circle(cairo_t *page, double x, double y)
{
    cairo_new_sub_path(page);
    cairo_arc(page, x, y, 3, 0, 2 * M_PI);
    cairo_stroke(page);
}

/* Many dots are smaller and more transparent. */
static void draw_dots(cairo_t *page, const struct mf_panel *p, size_t k, const struct mf_axis *x,
                      const struct mf_axis *y)
{
    const struct mf_curve *c = &p->curves[k];
    const uint32_t colour = colour_of(p, k);
    const double radius = c->count > 2000 ? 1.3 : 2.2, alpha = c->count > 2000 ? 0.35 : 0.6;

    cairo_set_source_rgba(page, (colour >> 16 & 255) / 255., (colour >> 8 & 255) / 255., (colour & 255) / 255., alpha);
    for (size_t i = 0; i < c->count; ++i) {
        if (!drawable(p, c, i)) continue;
        cairo_arc(page, mf_axis_at(x, c->x[i]), mf_axis_at(y, c->y[i]), radius, 0, 2 * M_PI);
        cairo_fill(page);
    }
}

static void style(cairo_t *page, const struct mf_panel *p, size_t k)
{
    const double dash[2] = {6, 4};

    mf_plot_ink(page, colour_of(p, k));
    cairo_set_line_width(page, p->curves[k].marks ? 1.1 : 1.7);
    cairo_set_line_join(page, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(page, dash, p->curves[k].dashed ? 2 : 0, 0);
}

/* A point that no line leads to or from: it would not be seen. */
static int is_alone(const struct mf_panel *p, const struct mf_curve *c, size_t i)
{
    return (i == 0 || !drawable(p, c, i - 1)) && (i + 1 == c->count || !drawable(p, c, i + 1));
}

static void draw_curve(cairo_t *page, const struct mf_panel *p, size_t k, const struct mf_axis *x,
                       const struct mf_axis *y)
{
    const struct mf_curve *c = &p->curves[k];
    size_t every = c->marks ? c->count / 24 + 1 : 1;
    int pen = 0;

    if (c->marks == MF_MARK_DOTS) {
        draw_dots(page, p, k, x, y);
        return;
    }
    style(page, p, k);
    for (size_t i = 0; i < c->count; i += every) {
        double at = mf_axis_at(x, c->x[i]), down;

        if (!drawable(p, c, i)) {
            pen = 0;
            continue;
        }
        down = mf_axis_at(y, c->y[i]);
        if (c->marks || is_alone(p, c, i))
            circle(page, at, down);
        else if (pen)
            cairo_line_to(page, at, down);
        else
            cairo_move_to(page, at, down);
        pen = 1;
    }
    cairo_stroke(page);
    cairo_set_dash(page, NULL, 0, 0);
}

static int covers(struct mf_box box, double at, double down)
{
    return at > box.x && at < box.x + box.width && down > box.y && down < box.y + box.height;
}

/* How much of a curve a box would cover: number of positions on the line to each of its points. */
static size_t covered(const struct mf_panel *p, const struct mf_curve *c, struct mf_box box, const struct mf_axis *x,
                      const struct mf_axis *y)
{
    enum { PLACES = 32 };
    size_t n = 0;

    for (size_t i = 0; i < c->count; ++i) {
        const size_t from = i > 0 && !c->marks && drawable(p, c, i - 1) ? i - 1 : i;

        if (!drawable(p, c, i)) continue;
        for (int k = 1; k <= PLACES; ++k) {
            const double share = (double)k / PLACES, at = mf_axis_at(x, c->x[from]), down = mf_axis_at(y, c->y[from]);

            n += (size_t)covers(box, at + share * (mf_axis_at(x, c->x[i]) - at),
                                down + share * (mf_axis_at(y, c->y[i]) - down));
        }
    }
    return n;
}

/* How much of all curves a box would cover. */
static size_t hidden(const struct mf_panel *p, struct mf_box box, const struct mf_axis *x, const struct mf_axis *y)
{
    size_t n = 0;

    for (size_t k = 0; k < p->curve_count; ++k) n += covered(p, &p->curves[k], box, x, y);
    return n;
}

/* Where the legend hides least: a corner, the upper right first, or between two above each other. */
static struct mf_box legend_place(const struct mf_panel *p, struct mf_box box, struct mf_box legend,
                                  const struct mf_axis *x, const struct mf_axis *y)
{
    static const double downs[] = {0, 1, 0.25, 0.5, 0.75};
    const double inset = 7, right = box.width - legend.width - 2 * inset, low = box.height - legend.height - 2 * inset;
    size_t least = (size_t)-1;
    struct mf_box best = legend;

    for (size_t i = 0; i < sizeof downs / sizeof *downs; ++i)
        for (int side = 1; side >= 0; --side) {
            const struct mf_box here = {box.x + inset + side * right, box.y + inset + downs[i] * low, legend.width,
                                        legend.height};
            const size_t n = hidden(p, here, x, y);

            if (n >= least) continue;
            least = n;
            best = here;
        }
    return best;
}

static void legend_row(cairo_t *page, const struct mf_panel *p, size_t k, const char *name, double x, double y)
{
    style(page, p, k);
    if (p->curves[k].marks) {
        circle(page, x + sample / 2, y);
    } else {
        cairo_move_to(page, x, y);
        cairo_line_to(page, x + sample, y);
        cairo_stroke(page);
    }
    cairo_set_dash(page, NULL, 0, 0);
    mf_plot_ink(page, 0x202020);
    mf_plot_text(page, x + sample + 7, y, name, (struct mf_text){legend_size, 0, 0.5, 0, 0});
}

static void draw_legend(cairo_t *page, struct mf_box box, const struct mf_panel *p, const struct mf_axis *x,
                        const struct mf_axis *y)
{
    const double around = sample + 21, most = 0.6 * box.width - around;
    struct mf_box legend = {0, 0, 0, 6};
    char name[LEGEND_TEXT];
    double down;

    for (size_t k = 0; k < p->curve_count; ++k) {
        if (!p->curves[k].name) continue;
        mf_plot_text_cut(page, p->curves[k].name, legend_size, most, name, sizeof name);
        legend.width = fmax(legend.width, mf_plot_text_width(page, name, legend_size) + around);
        legend.height += legend_line;
    }
    if (legend.width <= 0) return;
    legend = legend_place(p, box, legend, x, y);
    cairo_rectangle(page, legend.x, legend.y, legend.width, legend.height);
    cairo_set_source_rgba(page, 1, 1, 1, 0.85);
    cairo_fill_preserve(page);
    mf_plot_ink(page, 0xc8c8c8);
    cairo_set_line_width(page, 0.7);
    cairo_stroke(page);
    down = legend.y + 3 + legend_line / 2;
    for (size_t k = 0; k < p->curve_count; ++k) {
        if (!p->curves[k].name) continue;
        mf_plot_text_cut(page, p->curves[k].name, legend_size, most, name, sizeof name);
        legend_row(page, p, k, name, legend.x + 7, down);
        down += legend_line;
    }
}

double mf_curves_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel)
{
    struct mf_axis x, y;
    double out;

    axes_of(panel, box, &x, &y);
    out = mf_axes_draw(page, box, panel->bar_names ? NULL : &x, &y, 1);
    if (panel->bar_names) mf_bars_names(page, box, panel);
    cairo_save(page);
    cairo_rectangle(page, box.x - 4, box.y - 4, box.width + 8, box.height + 8);
    cairo_clip(page);
    for (size_t k = 0; k < panel->curve_count; ++k) draw_curve(page, panel, k, &x, &y);
    cairo_restore(page);
    draw_legend(page, box, panel, &x, &y);
    return out;
}
