/* Images with named rows along an axis, and events on them. See plot_priv.h. */
#include <math.h>

#include "io/plot_priv.h"

enum { INK = 0x202020, LINES = 3 /* kinds from here on are lines */ };

static const double symbol = 4.2, legend_size = 10.5, legend_gap = 14;

static const uint32_t colours[] = {0x009e73, 0xe69f00, 0xd55e00, 0x202020};

/* The outline of a symbol. */
static void outline(cairo_t *page, int kind, double x, double y, double r)
{
    cairo_new_path(page);
    if (kind == 0) {
        cairo_move_to(page, x - r, y + 0.8 * r);
        cairo_line_to(page, x, y - r);
        cairo_line_to(page, x + r, y + 0.8 * r);
    } else if (kind == 1) {
        cairo_move_to(page, x - r, y);
        cairo_line_to(page, x, y - r);
        cairo_line_to(page, x + r, y);
        cairo_line_to(page, x, y + r);
    } else {
        const double t = 0.35 * r,
                     corner[12][2] = {{-r, -r + t}, {-r + t, -r}, {0, -t}, {r - t, -r}, {r, -r + t}, {t, 0},
                                      {r, r - t},   {r - t, r},   {0, t},  {-r + t, r}, {-r, r - t}, {-t, 0}};

        for (int i = 0; i < 12; ++i) cairo_line_to(page, x + corner[i][0], y + corner[i][1]);
    }
    cairo_close_path(page);
}

static void draw_symbol(cairo_t *page, int kind, double x, double y, double r)
{
    outline(page, kind, x, y, r);
    mf_plot_ink(page, 0xffffff);
    cairo_set_line_width(page, 2);
    cairo_stroke_preserve(page);
    mf_plot_ink(page, colours[kind]);
    cairo_fill(page);
}

static void draw_line(cairo_t *page, double x, double from, double to)
{
    const double dash[2] = {3, 2.5};

    cairo_move_to(page, x, from);
    cairo_line_to(page, x, to);
    cairo_set_source_rgba(page, 1, 1, 1, 0.6);
    cairo_set_line_width(page, 2.4);
    cairo_stroke_preserve(page);
    mf_plot_ink(page, colours[LINES]);
    cairo_set_line_width(page, 0.9);
    cairo_set_dash(page, dash, 2, 0);
    cairo_stroke(page);
    cairo_set_dash(page, NULL, 0, 0);
}

static int is_line(const struct mf_plot_mark *m) { return m->kind >= LINES || m->row < 0; }

static void draw_marks(cairo_t *page, struct mf_box box, const struct mf_panel *p, const struct mf_axis *x)
{
    const double height = box.height / (double)p->rows, r = fmin(symbol, fmax(0.42 * height, 2));

    for (size_t i = 0; i < p->mark_count; ++i)
        if (is_line(&p->marks[i])) draw_line(page, mf_axis_at(x, p->marks[i].x), box.y, box.y + box.height);
    for (size_t i = 0; i < p->mark_count; ++i) {
        const struct mf_plot_mark *m = &p->marks[i];

        if (!is_line(m)) draw_symbol(page, m->kind, mf_axis_at(x, m->x), box.y + height * ((double)m->row + 0.5), r);
    }
}

/* Which kinds of events there are, in a line above the picture. */
static void draw_legend(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double y = box.y - MF_MARKS_LEGEND / 2.;
    double x = box.x + 2;

    for (size_t k = 0; k < p->mark_kinds; ++k) {
        if (k < LINES)
            draw_symbol(page, (int)k, x + symbol, y, symbol);
        else
            draw_line(page, x + symbol, y - 6, y + 6);
        mf_plot_ink(page, INK);
        mf_plot_text(page, x + 2 * symbol + 5, y, p->mark_names[k], (struct mf_text){legend_size, 0, 0.5, 0, 0});
        x += 2 * symbol + 5 + mf_plot_text_width(page, p->mark_names[k], legend_size) + legend_gap;
    }
}

double mf_course_draw(cairo_t *page, struct mf_box box, const struct mf_panel *p, const struct mf_axis *x)
{
    (void)mf_axes_draw(page, box, x, NULL, 0);
    draw_marks(page, box, p, x);
    draw_legend(page, box, p);
    mf_plot_ink(page, INK);
    return mf_plot_rows(page, box, p);
}
