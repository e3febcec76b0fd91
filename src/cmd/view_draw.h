/* What view draws of a file. */
#ifndef MF_CMD_VIEW_DRAW_H
#define MF_CMD_VIEW_DRAW_H

#include "src/cmd/cmd.h"
#include "src/cmd/figure.h"

struct mf_view_opts {
    struct mf_common common;
    const char *original, *target, *map, *symmetry, *threshold, *axes;
    struct mf_longs labels;
    long slices, lag, columns;
    int periodic, bare, save;
};

/**
 * Fills the figure on rank 0; *title lives as long as it. Collective; refuses (agreed) with what reading and
 * characterising refuse with.
 */
int mf_view_draw(struct mf_session *session, const struct mf_view_opts *options, const char *file,
                 struct mf_figure *figure, const char **title);

#endif
