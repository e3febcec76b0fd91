/* Panels of curves and of bars. */
#ifndef MF_IO_PLOT_CURVE_H
#define MF_IO_PLOT_CURVE_H

#include "io/plot_priv.h"

/** Draws axes, curves and legend of a panel into a box. Returns how far labels reach out at the left. */
double mf_curves_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

/** The same of a panel of bars, which are named below and have their values at their ends where these can be read. */
double mf_bars_draw(cairo_t *page, struct mf_box box, const struct mf_panel *panel);

#endif
