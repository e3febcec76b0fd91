/* Pictures of numbers that are no labels. */
#ifndef MF_SHOW_VIEW_VALUES_H
#define MF_SHOW_VIEW_VALUES_H

#include "src/show/figure.h"
#include "src/show/show.h"
#include "src/show/view_kind.h"

/** The colour scale of an array, from least to most. */
struct mf_view_scale {
    double least, most;
    size_t panels; /* pictures with this scale; 0: all values are equal, or there are none */
};

/**
 * Adds panels of an array to a figure:
 * - an image: one panel
 * - a volume: its middle slices
 * - several phases: the same for every phase
 * - descriptors: windows, matrices, curves or numbers of every phase or pair and level
 *
 * All pictures have one scale. The array is read in pieces, not held in memory. The prefix of titles is @p name, or
 * NULL. It sets *columns to the panels that belong in a row. Rank 0; MF_INPUT (other axes, too large), MF_MEMORY.
 */
int mf_view_values(const struct mf_show *show, const struct mf_view_file *file, const char *name,
                   struct mf_figure *figure, size_t *columns, struct mf_view_scale *scale);

#endif
