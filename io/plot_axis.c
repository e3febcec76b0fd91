/* Axes: ticks at round numbers, their labels, the frame. See plot_priv.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/plot_priv.h"

static const double tick_size = 10.5, tick_length = 4, gap = 5;
enum { FRAME = 0x404040, GRID = 0xe4e4e4, INK = 0x202020 };

double mf_axis_at(const struct mf_axis *axis, double value)
{
    double lo = axis->lo, hi = axis->hi;

    if (axis->log) {
        lo = log10(lo);
        hi = log10(hi);
        value = log10(value);
    }
    return axis->from + (axis->to - axis->from) * (value - lo) / (hi - lo);
}

/* 1, 2 or 5 times a power of ten, at least @p least. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least))), ratio = least / power;

    return power * (ratio <= 1 + 1e-9 ? 1 : ratio <= 2 + 1e-9 ? 2 : ratio <= 5 + 1e-9 ? 5 : 10);
}

static double step_of(const struct mf_axis *axis, int wanted) { return round_step(fabs(axis->hi - axis->lo) / wanted); }

static double largest_of(const struct mf_ticks *ticks)
{
    double largest = 0;

    for (int k = 0; k < ticks->count; ++k) largest = fmax(largest, fabs(ticks->at[k]));
    return largest;
}

/* Ticks are @p step apart, a power of ten. Large and small numbers get a factor for all, 1e-9 or 1e7. */
static void set_decimals(int step, struct mf_ticks *ticks)
{
    const double largest = largest_of(ticks);

    if (largest > 0 && (step < -4 || largest >= 1e6)) ticks->power = (int)floor(log10(largest) + 1e-9);
    ticks->decimals = ticks->power > step ? ticks->power - step : 0;
    if (ticks->decimals > 9) ticks->decimals = 9;
}

static void linear_ticks(const struct mf_axis *axis, int wanted, struct mf_ticks *ticks)
{
    double step = fmax(step_of(axis, wanted), axis->whole ? 1 : 0), lo = fmin(axis->lo, axis->hi),
           hi = fmax(axis->lo, axis->hi);
    double first = ceil(lo / step - 1e-6);

    for (double k = first; k * step <= hi + 1e-6 * step && ticks->count < MF_TICKS; ++k)
        ticks->at[ticks->count++] = k * step;
    set_decimals((int)floor(log10(step) + 1e-9), ticks);
}

static void log_ticks(const struct mf_axis *axis, int wanted, struct mf_ticks *ticks)
{
    int lo = (int)ceil(log10(axis->lo) - 1e-9), hi = (int)floor(log10(axis->hi) + 1e-9);
    int every = (hi - lo) / wanted + 1;

    ticks->decimals = -1;
    for (int k = lo; k <= hi && ticks->count < MF_TICKS; ++k)
        if (k % every == 0) ticks->at[ticks->count++] = pow(10, k);
}

void mf_axis_ticks(const struct mf_axis *axis, int wanted, struct mf_ticks *ticks)
{
    *ticks = (struct mf_ticks){0};
    if (axis->log)
        log_ticks(axis, wanted, ticks);
    else
        linear_ticks(axis, wanted, ticks);
}

void mf_axis_round(struct mf_axis *axis, int wanted)
{
    double step;

    if (axis->log) {
        axis->lo = pow(10, floor(log10(axis->lo) + 1e-9));
        axis->hi = pow(10, ceil(log10(axis->hi) - 1e-9));
        if (axis->hi <= axis->lo) axis->hi = 10 * axis->lo;
        return;
    }
    step = step_of(axis, wanted);
    axis->lo = floor(axis->lo / step + 1e-6) * step;
    axis->hi = ceil(axis->hi / step - 1e-6) * step;
}

/* A real minus sign for the hyphen of printf. */
static void set_minus(char *text, size_t room)
{
    char rest[MF_TICK_TEXT];

    if (text[0] != '-') return;
    snprintf(rest, sizeof rest, "%s", text + 1);
    snprintf(text, room, "\342\210\222%.30s", rest);
}

void mf_tick_text(const struct mf_ticks *ticks, int i, char text[MF_TICK_TEXT], char power[MF_TICK_TEXT])
{
    const double value = ticks->at[i];

    power[0] = '\0';
    if (ticks->decimals < 0) {
        snprintf(text, MF_TICK_TEXT, "10");
        snprintf(power, MF_TICK_TEXT, "%d", (int)lround(log10(value)));
    } else if (fabs(value) <= largest_of(ticks) * 1e-12) {
        snprintf(text, MF_TICK_TEXT, "0");
    } else {
        snprintf(text, MF_TICK_TEXT, "%.*f", ticks->decimals, value / pow(10, ticks->power));
    }
    set_minus(text, MF_TICK_TEXT);
    set_minus(power, MF_TICK_TEXT);
}

/* A text with its exponent, at a point as the style says (exponents widen it). Returns its width. */
static double raised(cairo_t *page, double x, double y, const char *text, const char *power, struct mf_text style)
{
    double width, small = 0.72 * style.size, raise = 0.42 * style.size, more;

    width = mf_plot_text_width(page, text, style.size);
    more = *power ? mf_plot_text_width(page, power, small) + 1 : 0;
    x -= style.across * (width + more);
    style.across = 0;
    mf_plot_text(page, x, y, text, style);
    style.size = small;
    if (*power) mf_plot_text(page, x + width + 1, y - raise, power, style);
    return width + more;
}

static double label(cairo_t *page, double x, double y, const struct mf_ticks *ticks, int i, struct mf_text style)
{
    char text[MF_TICK_TEXT], power[MF_TICK_TEXT];

    mf_tick_text(ticks, i, text, power);
    return raised(page, x, y, text, power, style);
}

/* Draws the factor of all labels. */
static void factor(cairo_t *page, double x, double y, const struct mf_ticks *ticks, struct mf_text style)
{
    char power[MF_TICK_TEXT];

    if (!ticks->power) return;
    snprintf(power, sizeof power, "%d", ticks->power);
    set_minus(power, sizeof power);
    (void)raised(page, x, y, "\303\22710", power, style);
}

static void line(cairo_t *page, double x0, double y0, double x1, double y1)
{
    cairo_move_to(page, x0, y0);
    cairo_line_to(page, x1, y1);
    cairo_stroke(page);
}

/* Between decades: 2, 3, .. 9 as short ticks without labels. */
static void minor_ticks(cairo_t *page, double x, const struct mf_axis *axis)
{
    int lo = (int)floor(log10(axis->lo)), hi = (int)ceil(log10(axis->hi));

    if (hi - lo > 8) return;
    for (int k = lo; k < hi; ++k)
        for (int m = 2; m < 10; ++m) {
            double value = m * pow(10, k), y = mf_axis_at(axis, value);

            if (value > axis->lo && value < axis->hi) line(page, x - 2.2, y, x, y);
        }
}

static int wanted_along(double length, double each)
{
    int n = (int)(length / each);

    return n < 3 ? 3 : n > 8 ? 8 : n;
}

static double widest_of(cairo_t *page, const struct mf_ticks *ticks)
{
    char text[MF_TICK_TEXT], power[MF_TICK_TEXT];
    double widest = 0;

    for (int i = 0; i < ticks->count; ++i) {
        mf_tick_text(ticks, i, text, power);
        widest = fmax(widest, mf_plot_text_width(page, text, tick_size));
    }
    return widest;
}

/* As many ticks along x as have labels beside each other. */
static void ticks_along(cairo_t *page, const struct mf_axis *axis, double length, struct mf_ticks *ticks)
{
    for (int wanted = wanted_along(length, 52); wanted > 0; --wanted) {
        mf_axis_ticks(axis, wanted, ticks);
        if ((widest_of(page, ticks) + 6) * ticks->count < length) return;
    }
}

static void draw_x(cairo_t *page, struct mf_box box, const struct mf_axis *axis, int grid)
{
    double bottom = box.y + box.height;
    struct mf_ticks ticks;

    ticks_along(page, axis, box.width, &ticks);
    for (int i = 0; i < ticks.count; ++i) {
        double x = mf_axis_at(axis, ticks.at[i]);

        mf_plot_ink(page, GRID);
        cairo_set_line_width(page, 0.6);
        if (grid) line(page, x, box.y, x, bottom);
        mf_plot_ink(page, FRAME);
        cairo_set_line_width(page, 0.8);
        line(page, x, bottom, x, bottom + tick_length);
        mf_plot_ink(page, INK);
        label(page, x, bottom + tick_length + gap - 1, &ticks, i, (struct mf_text){tick_size, 0.5, 0, 0, 0});
    }
    factor(page, box.x + box.width, bottom + 26, &ticks, (struct mf_text){tick_size, 1, 0, 0, 0});
}

/* Returns how far ticks and labels reach out of the box. */
static double draw_y(cairo_t *page, struct mf_box box, const struct mf_axis *axis, int grid)
{
    const double room = 36;
    struct mf_ticks ticks;
    double widest = 0, size;

    mf_axis_ticks(axis, wanted_along(box.height, 42), &ticks);
    size = tick_size * fmin(1, room / fmax(widest_of(page, &ticks), 1)); /* beside the name of the axis */
    for (int i = 0; i < ticks.count; ++i) {
        double y = mf_axis_at(axis, ticks.at[i]);

        mf_plot_ink(page, GRID);
        cairo_set_line_width(page, 0.6);
        if (grid) line(page, box.x, y, box.x + box.width, y);
        mf_plot_ink(page, FRAME);
        cairo_set_line_width(page, 0.8);
        line(page, box.x - tick_length, y, box.x, y);
        mf_plot_ink(page, INK);
        widest = fmax(widest,
                      label(page, box.x - tick_length - gap + 1, y, &ticks, i, (struct mf_text){size, 1, 0.5, 0, 0}));
    }
    factor(page, box.x - gap, box.y - 13, &ticks, (struct mf_text){tick_size, 1, 0.5, 0, 0});
    mf_plot_ink(page, FRAME);
    cairo_set_line_width(page, 0.6);
    if (axis->log) minor_ticks(page, box.x, axis);
    return widest + tick_length + gap;
}

double mf_axes_draw(cairo_t *page, struct mf_box box, const struct mf_axis *x, const struct mf_axis *y, int grid)
{
    double out = y ? draw_y(page, box, y, grid) : 0;

    if (x) draw_x(page, box, x, grid);
    mf_plot_ink(page, FRAME);
    cairo_set_line_width(page, 0.9);
    cairo_rectangle(page, box.x, box.y, box.width, box.height);
    cairo_stroke(page);
    return out;
}

void mf_axis_draw_right(cairo_t *page, double at, const struct mf_axis *y)
{
    struct mf_ticks ticks;

    mf_axis_ticks(y, wanted_along(fabs(y->to - y->from), 42), &ticks);
    for (int i = 0; i < ticks.count; ++i) {
        double down = mf_axis_at(y, ticks.at[i]);

        mf_plot_ink(page, FRAME);
        cairo_set_line_width(page, 0.8);
        line(page, at, down, at + tick_length - 1, down);
        mf_plot_ink(page, INK);
        label(page, at + tick_length + gap - 3, down, &ticks, i, (struct mf_text){tick_size, 0, 0.5, 0, 0});
    }
    factor(page, at, fmin(y->from, y->to) - 13, &ticks, (struct mf_text){tick_size, 0.5, 0.5, 0, 0});
}
