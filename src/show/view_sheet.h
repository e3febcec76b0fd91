/* What view draws of several files: one picture with all of them. */
#ifndef MF_SHOW_VIEW_SHEET_H
#define MF_SHOW_VIEW_SHEET_H

#include "src/show/view_draw.h"

/**
 * A panel for every image and three for every volume, of arrays of several phases or levels for each of them as
 * mf_view_values() draws them, o->columns in a row, under the files' names, each as large as its cell; filled on rank
 * 0. Collective; refuses (agreed) with what reading refuses with, and MF_USAGE of what fills a picture of its own.
 */
int mf_view_sheet(const struct mf_show *show, const struct mf_view_opts *o, size_t count, const char *const *files,
                  struct mf_figure *figure);

#endif
