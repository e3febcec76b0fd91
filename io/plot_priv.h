/* Shared by the files of plots: boxes, axes, text, colours. Lengths are in points; a point is SCALE pixels. */
#ifndef MF_IO_PLOT_PRIV_H
#define MF_IO_PLOT_PRIV_H

#include <cairo.h>

#include "io/plot.h"

struct mf_box {
    double x, y, width, height;
};

/** Maps values lo..hi to from..to on the page. */
struct mf_axis {
    double lo, hi, from, to;
    int log;
    int whole; /* ticks at whole numbers */
};

/** How a text is aligned to its point: 0 begins there, 1 ends there, 0.5 is centred. */
struct mf_text {
    double size, across, down;
    int bold, upright; /* upright: rotated, read from below */
};

enum { MF_TICKS = 64 };

struct mf_ticks {
    int count;
    double at[MF_TICKS];
    int decimals; /* of the labels; below 0: powers of ten */
    int power;    /* of ten that all labels lack: it stands once, at the end of the axis */
};

enum { MF_TICK_TEXT = 40 };

/** Red, green, blue in 0..1 as 0xRRGGBB. */
void mf_plot_ink(cairo_t *page, uint32_t colour);

/** The colour of @p map (NULL: the standard) at @p t in 0..1. */
uint32_t mf_plot_map(const char *map, double t);

/** The colour of phase @p p of @p count. */
uint32_t mf_plot_phase(const char *map, int p, int count);

/** The k-th colour for curves, k >= 0. */
uint32_t mf_plot_line(size_t k);

/** The k-th of many colours: those for curves, then lighter ones, then darker ones. */
uint32_t mf_plot_many(size_t k);

/** Black or white, whichever is read on a colour. */
uint32_t mf_plot_ink_on(uint32_t colour);

void mf_plot_text(cairo_t *page, double x, double y, const char *text, struct mf_text style);
double mf_plot_text_width(cairo_t *page, const char *text, double size);

/** @p text shortened to a width of @p room [points] by leaving out its middle. UTF-8, into @p to [n]. */
void mf_plot_text_cut(cairo_t *page, const char *text, double size, double room, char *to, size_t n);

/** Position of a value on the page. */
double mf_axis_at(const struct mf_axis *axis, double value);

/** Round numbers within the axis, about @p wanted of them. */
void mf_axis_ticks(const struct mf_axis *axis, int wanted, struct mf_ticks *ticks);

/** The label of tick @p i ("0.25", "10"); of a power of ten the exponent goes to @p power, else it is "". */
void mf_tick_text(const struct mf_ticks *ticks, int i, char text[MF_TICK_TEXT], char power[MF_TICK_TEXT]);

/** Widens lo..hi to round numbers. */
void mf_axis_round(struct mf_axis *axis, int wanted);

/** Draws the frame, its ticks and labels; @p x or @p y may be NULL. Returns how far the labels reach out at the
 * left. */
double mf_axes_draw(cairo_t *page, struct mf_box box, const struct mf_axis *x, const struct mf_axis *y, int grid);

/** Height of the names below a table, beyond that of ticks. */
enum { MF_TABLE_NAMES = 62 };

/** Writes the numbers of a table into its cells, and the names beside and below it. Sets @p out to how far the names
 * reach at the left, and below. */
void mf_plot_table(cairo_t *page, struct mf_box box, const struct mf_panel *table, double out[2]);

/** Writes names of rows beside an image, and leaves some out where there are too many. Returns how far they reach out
 * at the left. */
double mf_plot_rows(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

/** Height of the legend of marks, above the picture. */
enum { MF_MARKS_LEGEND = 20 };

/** Draws axis, names and marks of an image with named rows. Returns how far the names reach out at the left. */
double mf_course_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel, const struct mf_axis *x);

/** Ticks of a vertical axis at its right side (a colour bar). */
void mf_axis_draw_right(cairo_t *page, double at, const struct mf_axis *y);

/** Pixels of a drawn page: [rows][columns] of 0x00RRGGBB in native order, rows @p stride bytes apart. */
struct mf_page {
    size_t rows, columns, stride;
    const uint8_t *pixels;
};

/** Writes a page as a PNG of 8-bit colours to an open, empty file. Not collective. Refuses with MF_OUTPUT naming @p
 * path. */
int mf_plot_png(int descriptor, const char *path, const struct mf_page *page);

#endif
