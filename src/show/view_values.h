/* Pictures of numbers that are no phases. */
#ifndef MF_SHOW_VIEW_VALUES_H
#define MF_SHOW_VIEW_VALUES_H

#include "src/show/figure.h"
#include "src/show/show.h"
#include "src/show/view_kind.h"

/** The colours of an array: what is drawn of it goes from least to most. */
struct mf_view_scale {
    double least, most;
    size_t panels; /* pictures that have it; 0: all values are equal, or there are none */
};

/**
 * Adds panels of an array to a figure: an image; the middle slices of a volume; of several phases those of every phase;
 * of descriptors the windows, matrices, curves or numbers of every phase or pair and level. All pictures have one
 * scale. The array itself is in no memory. @p name: NULL, or what the panels' titles begin with. Returns in *columns
 * how many of them belong in a row. Rank 0; MF_INPUT (other axes, too large), MF_MEMORY.
 */
int mf_view_values(const struct mf_show *show, const struct mf_view_file *file, const char *name,
                   struct mf_figure *figure, size_t *columns, struct mf_view_scale *scale);

#endif
