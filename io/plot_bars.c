/* Bars: few numbers, named. See plot_curve.h. */
#include <math.h>
#include <stdio.h>

#include "io/plot_curve.h"

static const double text_size = 10.5, legend_row = 16, sample = 11;
enum { INK = 0x202020, LABELLED = 16 /* bars that have their values written at them, at most */ };

static double value_of(const struct mf_panel *p, size_t series, size_t bar)
{
    return bar < p->curves[series].count ? p->curves[series].y[bar] : NAN;
}

static size_t named(const struct mf_panel *p)
{
    size_t n = 0;

    for (size_t k = 0; k < p->curve_count; ++k) n += p->curves[k].name != NULL;
    return n;
}

/* From 0, with room for what is written at the ends, and for the legend above all. */
static struct mf_axis height_of(const struct mf_panel *p, struct mf_box box)
{
    struct mf_axis y = {0, 0, box.y + box.height, box.y, 0, 0};
    const double legend = legend_row * (double)named(p) / box.height;

    for (size_t k = 0; k < p->curve_count; ++k)
        for (size_t i = 0; i < p->bar_count; ++i) {
            const double value = value_of(p, k, i);

            if (!isfinite(value)) continue;
            y.lo = fmin(y.lo, value);
            y.hi = fmax(y.hi, value);
        }
    if (!(y.hi > y.lo)) y.hi = 1;
    if (y.lo < 0) y.lo -= 0.08 * (y.hi - y.lo);
    y.hi += (y.hi - y.lo) * (0.14 + legend / (1 - fmin(legend, 0.5)));
    return y;
}

/* Where bars of one place stand: the middle two thirds and more of it. */
static struct mf_box bar_box(const struct mf_panel *p, struct mf_box box, const struct mf_axis *y, size_t k, size_t i)
{
    const double place = box.width / (double)p->bar_count, wide = 0.72 * place / (double)p->curve_count;
    const double zero = mf_axis_at(y, 0), end = mf_axis_at(y, value_of(p, k, i));

    return (struct mf_box){box.x + place * ((double)i + 0.14) + wide * (double)k, fmin(zero, end), wide,
                           fabs(end - zero)};
}

static uint32_t colour_of(const struct mf_panel *p, size_t k)
{
    const int colour = p->curves[k].colour;

    return mf_plot_line(colour > 0 ? (size_t)colour - 1 : k);
}

/* Three digits, whole numbers in full. */
static const char *written(double value, char text[32])
{
    snprintf(text, 32, fabs(value) >= 1000 && fabs(value) < 1e6 ? "%.0f" : "%.3g", value);
    return text;
}

/* Size of the values at all bars: no wider than a bar; 0: there are too many. */
static double value_size(cairo_t *page, const struct mf_panel *p, double width)
{
    double widest = 1;
    char text[32];

    if (p->bar_count * p->curve_count > LABELLED) return 0;
    for (size_t k = 0; k < p->curve_count; ++k)
        for (size_t i = 0; i < p->bar_count; ++i)
            if (isfinite(value_of(p, k, i)))
                widest = fmax(widest, mf_plot_text_width(page, written(value_of(p, k, i), text), text_size));
    return fmin(text_size, 1.1 * text_size * width / widest);
}

static void draw_bar(cairo_t *page, const struct mf_panel *p, struct mf_box at, size_t k, double value)
{
    const double size = value_size(page, p, at.width);
    char text[32];

    mf_plot_ink(page, colour_of(p, k));
    cairo_rectangle(page, at.x, at.y, fmax(at.width - 1, 0.5), fmax(at.height, 1));
    cairo_fill(page);
    if (size <= 0) return;
    mf_plot_ink(page, INK);
    mf_plot_text(page, at.x + at.width / 2, value < 0 ? at.y + at.height + 2 : at.y - 2, written(value, text),
                 (struct mf_text){size, 0.5, value < 0 ? 0 : 1, 0, 0});
}

/* As large as they fit beside each other. */
void mf_bars_names(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double place = box.width / (double)p->bar_count;
    double widest = 1;

    for (size_t i = 0; i < p->bar_count; ++i)
        widest = fmax(widest, mf_plot_text_width(page, p->bar_names[i], text_size));
    mf_plot_ink(page, INK);
    for (size_t i = 0; i < p->bar_count; ++i)
        mf_plot_text(page, box.x + place * ((double)i + 0.5), box.y + box.height + 7, p->bar_names[i],
                     (struct mf_text){text_size * fmin(1, 0.96 * place / widest), 0.5, 0, 0, 0});
}

static void draw_legend(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    double down = box.y + legend_row / 2 + 2;

    for (size_t k = 0; k < p->curve_count; ++k) {
        if (!p->curves[k].name) continue;
        mf_plot_ink(page, colour_of(p, k));
        cairo_rectangle(page, box.x + 8, down - sample / 2, sample, sample);
        cairo_fill(page);
        mf_plot_ink(page, INK);
        mf_plot_text(page, box.x + 8 + sample + 6, down, p->curves[k].name, (struct mf_text){text_size, 0, 0.5, 0, 0});
        down += legend_row;
    }
}

/* ---- lying bars ---- */

/* The room beside the names; these begin in the margin at the left. */
static struct mf_box beside_names(cairo_t *page, struct mf_box box, const struct mf_panel *p, double size)
{
    const double margin = 54;
    double widest = 0, shift;

    for (size_t i = 0; i < p->bar_count; ++i) widest = fmax(widest, mf_plot_text_width(page, p->bar_names[i], size));
    shift = fmin(fmax(widest + 8 - margin, 0), 0.7 * box.width);
    return (struct mf_box){box.x + shift, box.y, box.width - shift, box.height};
}

static struct mf_axis width_of(const struct mf_panel *p, struct mf_box box)
{
    struct mf_axis y = height_of(p, box);

    return (struct mf_axis){y.lo, y.hi * (y.hi > 0 ? 1.08 : 1), box.x, box.x + box.width, 0, 0};
}

static void draw_lying(cairo_t *page, const struct mf_panel *p, struct mf_box box, const struct mf_axis *x, size_t k,
                       size_t i)
{
    const double top = box.y + legend_row * (double)named(p), place = (box.y + box.height - top) / (double)p->bar_count;
    const double thick = 0.76 * place / (double)p->curve_count, value = value_of(p, k, i), zero = mf_axis_at(x, 0);
    const double end = mf_axis_at(x, value), down = top + place * ((double)i + 0.12) + thick * (double)k;
    char text[32];

    if (k == 0) {
        mf_plot_ink(page, INK);
        mf_plot_text(page, box.x - 7, top + place * ((double)i + 0.5), p->bar_names[i],
                     (struct mf_text){fmin(text_size, 0.9 * place), 1, 0.5, 0, 0});
    }
    if (!isfinite(value)) return;
    mf_plot_ink(page, colour_of(p, k));
    cairo_rectangle(page, fmin(zero, end), down, fmax(fabs(end - zero), 1), fmax(thick - 0.7, 0.5));
    cairo_fill(page);
    mf_plot_ink(page, INK);
    mf_plot_text(page, fmax(zero, end) + 3, down + thick / 2, written(value, text),
                 (struct mf_text){fmin(text_size, fmax(thick, 5)), 0, 0.5, 0, 0});
}

static double draw_sideways(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double size = fmin(text_size, 0.9 * box.height / (double)(p->bar_count + named(p)));
    const struct mf_box room = beside_names(page, box, p, size);
    const struct mf_axis x = width_of(p, room);

    (void)mf_axes_draw(page, room, &x, NULL, 1);
    for (size_t i = 0; i < p->bar_count; ++i)
        for (size_t k = 0; k < p->curve_count; ++k) draw_lying(page, p, room, &x, k, i);
    draw_legend(page, room, p);
    return 0;
}

double mf_bars_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel)
{
    struct mf_axis y;
    double out, zero;

    if (panel->sideways) return draw_sideways(page, box, panel);
    y = height_of(panel, box);
    out = mf_axes_draw(page, box, NULL, &y, 1);
    zero = mf_axis_at(&y, 0);
    for (size_t i = 0; i < panel->bar_count; ++i)
        for (size_t k = 0; k < panel->curve_count; ++k)
            if (isfinite(value_of(panel, k, i)))
                draw_bar(page, panel, bar_box(panel, box, &y, k, i), k, value_of(panel, k, i));
    mf_plot_ink(page, 0x404040);
    cairo_set_line_width(page, 0.9);
    cairo_move_to(page, box.x, zero);
    cairo_line_to(page, box.x + box.width, zero);
    cairo_stroke(page);
    mf_bars_names(page, box, panel);
    draw_legend(page, box, panel);
    return out;
}
