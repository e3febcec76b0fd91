/* Panels of curves, of bars and of graphs. */
#ifndef MF_IO_PLOT_CURVE_H
#define MF_IO_PLOT_CURVE_H

#include "io/plot_priv.h"

/** Draws axes, curves and legend of a panel into a box. Returns how far labels reach out at the left. */
double mf_curves_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

/** The same for a panel of bars. Names are below the bars, and values at their ends where there is space. */
double mf_bars_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

/** The names of x = 0, 1, ... below a box, whose x begins at -0.5. */
void mf_bars_names(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

/** Draws a graph into the largest square at the left of a box, and its legends at the right. */
void mf_graph_draw(cairo_t *page, struct mf_box box, const struct mf_plot_graph *graph);

#endif
