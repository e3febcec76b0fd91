/* Figures as PNG, drawn by cairo, with labelled axes and sizes readable on a page. Rule: rank 0 draws; local. */
#ifndef MF_IO_PLOT_H
#define MF_IO_PLOT_H

#include <stddef.h>
#include <stdint.h>

enum { MF_MARK_CIRCLES = 1, MF_MARK_DOTS };

struct mf_curve {
    const char *name;
    size_t count;
    const double *x, *y; /* values that are not finite (or, on a log axis, not positive) are left out */
    int dashed;
    int marks;  /* 0: a line. MF_MARK_CIRCLES: circles at some points; MF_MARK_DOTS: dots at all */
    int colour; /* 0: by the curve's number; k: the k-th colour of the palette; below 0: black */
};

/** An event on an image with named rows: a symbol by its kind (triangle, diamond, cross) on a row. On row -1, or of a
 * further kind, it is a line through all rows. */
struct mf_plot_mark {
    double x;
    long row;
    int kind;
};

/** A graph of nodes and links, placed by the caller in the unit square, y downwards. */
struct mf_plot_node {
    double at[2], radius; /* in edges of the square */
    int colour;           /* its number in the legend; below 0: grey */
    int alone;            /* has no link: its rim is dashed */
    const char *name;     /* stands inside */
};

struct mf_plot_link {
    size_t ends[2];
    double weight; /* in 0..1: its width */
    int kind;      /* its number in the legend */
};

struct mf_plot_graph {
    size_t nodes, links, colours, kinds;
    const struct mf_plot_node *node;
    const struct mf_plot_link *link;
    const char *colour_title, *const *colour_name; /* legend of nodes */
    const char *kind_title, *const *kind_name;     /* legend of links */
    const char *size_title, *size_name;            /* what the areas of nodes mean, and which area is shown */
    double size;                                   /* the radius shown */
};

enum mf_panel_kind { MF_PANEL_IMAGE, MF_PANEL_PHASES, MF_PANEL_CURVES, MF_PANEL_BARS, MF_PANEL_GRAPH, MF_PANEL_EMPTY };

/** One panel of a figure. Texts are UTF-8; NULL: none. */
struct mf_panel {
    enum mf_panel_kind kind;
    const char *title, *xlabel, *ylabel;
    size_t rows, columns;  /* images */
    const double *image;   /* MF_PANEL_IMAGE: values, with a colour bar */
    int channels;          /* of it: 3: [rows][columns][3] of red, green, blue, from black to white; no colour bar */
    double range[2];       /* of the colour bar; both 0: that of the values */
    const uint8_t *phases; /* MF_PANEL_PHASES: labels, one colour each */
    int phase_count;
    const char *const *phase_names; /* [phase_count] for the legend, or NULL: none is drawn */
    const char
        *colours; /* cividis, viridis, magma, gray or blue; NULL: cividis, and for phases one distinct colour each */
    double extent[4];    /* image axes: left, right, top, bottom; all 0: pixel numbers */
    double share[2];     /* width and height of the picture that sets the scale, in units of extent; 0: its own scale */
    int bare;            /* no ticks, labels, colour bar */
    const char *caption; /* below a bare picture */
    uint32_t rim;        /* 0xRRGGBB: the colour of a line around it; 0: none */
    const double *written;    /* MF_PANEL_IMAGE as a table: whole numbers in its cells, NAN: a dash; colours begin at 0;
                                 no bar */
    const char *const *names; /* of a table's rows, and of its columns. An image: of its rows; it fills its box, and
                                 cells that are not finite are grey */
    const char *const *column_names; /* of a table whose columns differ from its rows; it is as large as its room */
    size_t mark_count, mark_kinds;   /* on an image with named rows */
    const struct mf_plot_mark *marks;
    const char *const *mark_names; /* [mark_kinds] for the legend */
    size_t curve_count; /* MF_PANEL_CURVES, MF_PANEL_BARS: series; bars of several series stand side by side */
    const struct mf_curve *curves;
    size_t bar_count;                  /* MF_PANEL_BARS: positions; a shorter series has no bars at the last ones */
    const char *const *bar_names;      /* of the positions; of curves: instead of numbers at x = 0, 1, ..; or NULL */
    int sideways;                      /* horizontal bars with names beside them: for many bars, or long names */
    int log_y, from_zero;              /* the axis of y begins at 0 */
    int whole_x;                       /* ticks of x at whole numbers, as for ranks */
    const struct mf_plot_graph *graph; /* MF_PANEL_GRAPH */
    double zoom; /* cells of the page are larger by the largest factor, texts are not; below 1: not larger */
};

/** The cell of panel @p i where no panel is larger, with its title and axes. Left, top, width, height are in pixels of
 * the file. */
void mf_plot_cell(size_t count, size_t columns, int has_title, size_t i, double cell[4]);

/** Draws panels row by row, @p columns in a row. Written to a temporary name and renamed. MF_OUTPUT. */
int mf_plot_write(const char *path, const char *title, const struct mf_panel *panels, size_t count, size_t columns);

#endif
