/* Draws one file: its microstructure with correlations, its descriptors, its values, or the convergence of a run. */
#ifndef MF_SHOW_VIEW_DRAW_H
#define MF_SHOW_VIEW_DRAW_H

#include "src/base/lists.h"
#include "src/show/figure.h"
#include "src/show/show.h"

struct mf_view_opts {
    const char *original, *target, *threshold, *axes;
    struct mf_longs labels;
    /* The part that is read of the original, or of the file where there is none. It is a rectangle (NULL: none), or
     * what its data bar leaves. */
    const struct mf_crop *crop;
    int crop_bar;
    long slices, lag, columns;
    int lag_given, periodic;
};

/**
 * Fills the figure on rank 0; *title lives as long as it. Collective; refuses (agreed) with what reading and
 * characterising refuse with.
 */
int mf_view_draw(const struct mf_show *show, const struct mf_view_opts *options, const char *file,
                 struct mf_figure *figure, const char **title);

#endif
