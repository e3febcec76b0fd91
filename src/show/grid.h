/* Samples of sets as one picture, in rows and columns. Rank 0 only; local. */
#ifndef MF_SHOW_GRID_H
#define MF_SHOW_GRID_H

#include "io/dataset.h"
#include "src/show/figure.h"
#include "src/show/show.h"

/** A picture of [rows][columns] cells. Gaps between them are NAN. Three channels are colours, else the first channel is
 * shown. Volumes show the plane in their middle. */
struct mf_grid {
    size_t rows, columns, edge[2]; /* of a cell [pixels] */
    size_t channels;               /* 1 or 3 */
    int phases;
    double *pixel; /* [height][width][channels] */
};

/** An empty grid for samples like those of @p set. The figure owns its pixels. */
struct mf_grid mf_grid_begin(struct mf_figure *figure, const struct mf_dataset *set, size_t rows, size_t columns);

/** The values [channels] of pixel (y, x) of a cell. */
double *mf_grid_at(const struct mf_grid *grid, size_t cell, size_t y, size_t x);

/** Draws sample @p x of a set into a cell. It is moved by @p by {z, y, x} pixels; NULL: it is not. */
void mf_grid_put(const struct mf_grid *grid, size_t cell, const struct mf_dataset *set, const uint8_t *x,
                 const size_t by[3]);

/** Adds the picture to the figure. Values @p low and @p high of images are black and white. */
void mf_grid_draw(struct mf_figure *figure, const struct mf_grid *grid, double low, double high, const char *title);

/** Finds black and white of a set. Bytes have 0 and 255, reals the range of all channels in samples @p id [n]. */
void mf_grid_range(const struct mf_dataset *set, size_t n, const uint32_t *id, double *low, double *high);

/** Fills the figure with samples of the set at @p path, evenly spread. *title lives as long as it. Collective; refuses
 * (agreed) as mf_dataset_open() and mf_samples_read(). */
int mf_grid_view(const struct mf_show *show, const char *path, struct mf_figure *figure, const char **title);

#endif
