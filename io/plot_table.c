/* Tables: a picture of few values whose cells have numbers, and whose rows and columns have names. See plot_priv.h. */
#include <math.h>
#include <stdio.h>

#include "io/plot_priv.h"

enum { INK = 0x202020, FRAME = 0x404040, NAME = 128, FEW = 10 /* columns, up to which zeros are written */ };

static const double number_size = 11.5, name_size = 10.5, least_size = 4, beside = 84, below = MF_TABLE_NAMES + 14;

static const char *number(double value, char text[32])
{
    snprintf(text, 32, isnan(value) ? "-" : "%.0f", value);
    return text;
}

/* The size at which the longest number fits into a cell. */
static double size_in(cairo_t *page, const struct mf_panel *p, double width, double height)
{
    double widest = 1;
    char text[32];

    for (size_t i = 0; i < p->rows * p->columns; ++i)
        widest = fmax(widest, mf_plot_text_width(page, number(p->written[i], text), number_size));
    return fmin(fmin(number_size, 0.8 * height), number_size * 0.86 * width / widest);
}

static void draw_numbers(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double width = box.width / (double)p->columns, height = box.height / (double)p->rows;
    const double size = size_in(page, p, width, height);
    char text[32];

    for (size_t i = 0; i < p->rows; ++i)
        for (size_t j = 0; j < p->columns; ++j) {
            const double value = p->written[i * p->columns + j], share = p->image[i * p->columns + j] / p->range[1];

            if (value == 0 && p->columns > FEW) continue;
            mf_plot_ink(page, mf_plot_ink_on(mf_plot_map(p->colours, share)));
            mf_plot_text(page, box.x + width * ((double)j + 0.5), box.y + height * ((double)i + 0.5),
                         number(value, text), (struct mf_text){size, 0.5, 0.5, 0, 0});
        }
}

/* Light lines between cells, and the frame. */
static void draw_lines(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    mf_plot_ink(page, 0xd8d8d8);
    cairo_set_line_width(page, 0.6);
    for (size_t i = 1; i < p->rows; ++i) {
        cairo_move_to(page, box.x, box.y + box.height * (double)i / (double)p->rows);
        cairo_rel_line_to(page, box.width, 0);
    }
    for (size_t i = 1; i < p->columns; ++i) {
        cairo_move_to(page, box.x + box.width * (double)i / (double)p->columns, box.y);
        cairo_rel_line_to(page, 0, box.height);
    }
    cairo_stroke(page);
    mf_plot_ink(page, FRAME);
    cairo_set_line_width(page, 0.9);
    cairo_rectangle(page, box.x, box.y, box.width, box.height);
    cairo_stroke(page);
}

double mf_plot_rows(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double height = box.height / (double)p->rows, size = fmin(name_size, fmax(0.85 * height, least_size));
    const size_t every = (size_t)ceil(size / (0.851 * height));
    char text[NAME];
    double widest = 0;

    for (size_t i = 0; i < p->rows; i += every) {
        mf_plot_text_cut(page, p->names[i], size, beside, text, sizeof text);
        widest = fmax(widest, mf_plot_text_width(page, text, size));
        mf_plot_text(page, box.x - 5, box.y + height * ((double)i + 0.5), text, (struct mf_text){size, 1, 0.5, 0, 0});
    }
    return widest + 5;
}

/* Names of columns below: upright where one is wider than its column. Returns how far they reach out. */
static double draw_columns(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    const double width = box.width / (double)p->columns;
    const char *const *names = p->column_names ? p->column_names : p->names;
    double widest = 0, size = name_size, longest = 0;
    char text[NAME];
    int upright;

    for (size_t i = 0; i < p->columns; ++i) widest = fmax(widest, mf_plot_text_width(page, names[i], name_size));
    upright = widest > 0.95 * width;
    if (upright) size = fmin(size, 0.85 * width);
    for (size_t i = 0; i < p->columns; ++i) {
        const double x = box.x + width * ((double)i + 0.5), y = box.y + box.height + 5;

        mf_plot_text_cut(page, names[i], size, upright ? below : width, text, sizeof text);
        longest = fmax(longest, mf_plot_text_width(page, text, size));
        mf_plot_text(page, x, y, text,
                     upright ? (struct mf_text){size, 1, 0.5, 0, 1} : (struct mf_text){size, 0.5, 0, 0, 0});
    }
    return 5 + (upright ? longest : size);
}

void mf_plot_table(cairo_t *page, struct mf_box box, const struct mf_panel *table, double out[2])
{
    draw_lines(page, box, table);
    draw_numbers(page, box, table);
    mf_plot_ink(page, INK);
    out[0] = mf_plot_rows(page, box, table);
    out[1] = draw_columns(page, box, table);
}
