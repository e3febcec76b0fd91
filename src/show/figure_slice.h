/* Slices of microstructures in figures. */
#ifndef MF_SHOW_FIGURE_SLICE_H
#define MF_SHOW_FIGURE_SLICE_H

#include "src/show/figure.h"
#include "src/show/show.h"

/**
 * Draws slice @p index normal to @p normal of a labelled volume on rank 0's figure. An image is its own slice, with the
 * axes of such a slice. Collective (for an image, only rank 0 needs to call); refuses (agreed) with MF_MEMORY.
 */
int mf_figure_slice(const struct mf_show *show, struct mf_figure *figure, const struct mf_micro *micro,
                    enum mf_normal normal, size_t index, const char *title);

#endif
