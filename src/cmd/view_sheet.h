/* What view draws of several files: one picture with all of them. */
#ifndef MF_CMD_VIEW_SHEET_H
#define MF_CMD_VIEW_SHEET_H

#include "src/cmd/view_draw.h"

/**
 * A panel for every image and three for every volume, o->columns in a row, under the files' names, each as large as its
 * cell; filled on rank 0. Collective; refuses (agreed) with what reading refuses with.
 */
int mf_view_sheet(struct mf_session *session, const struct mf_view_opts *o, size_t count, const char *const *files,
                  struct mf_figure *figure);

#endif
