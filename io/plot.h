/* Pictures: PNG drawn by cairo. Rank 0 draws; not collective. Labelled axes, sizes readable on a page. */
#ifndef MF_IO_PLOT_H
#define MF_IO_PLOT_H

#include <stddef.h>
#include <stdint.h>

struct mf_curve {
    const char *name;
    size_t count;
    const double *x, *y;
    int dashed;
};

/** One panel of a figure. */
struct mf_panel {
    enum { MF_PANEL_IMAGE, MF_PANEL_PHASES, MF_PANEL_CURVES } kind;
    const char *title, *xlabel, *ylabel;
    size_t rows, columns;  /* images */
    const double *image;   /* MF_PANEL_IMAGE: values, with a colour bar */
    const uint8_t *phases; /* MF_PANEL_PHASES: labels, one colour each */
    int phase_count;
    double extent[4];   /* image axes: left, right, top, bottom; all 0: pixel numbers */
    size_t curve_count; /* MF_PANEL_CURVES */
    const struct mf_curve *curves;
    int log_y;
};

/** Draws panels row by row, @p columns in a row. Written to a temporary name and renamed. MF_OUTPUT. */
int mf_plot_write(const char *path, const char *title, const struct mf_panel *panels, size_t count, size_t columns);

#endif
