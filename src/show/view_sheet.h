/* Draws several files on one sheet. */
#ifndef MF_SHOW_VIEW_SHEET_H
#define MF_SHOW_VIEW_SHEET_H

#include "src/show/view_draw.h"

/**
 * One panel for every image, three for every volume. Arrays of several phases or levels have these for each, as
 * mf_view_values() draws them. A row has o->columns panels, under the files' names, each as large as its cell. The
 * figure is rank 0's. Collective; refuses (agreed) as reading does, and with MF_USAGE files that need a picture of
 * their own.
 */
int mf_view_sheet(const struct mf_show *show, const struct mf_view_opts *o, size_t count, const char *const *files,
                  struct mf_figure *figure);

#endif
