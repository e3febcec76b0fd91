/* Slices of microstructures in figures. */
#ifndef MF_CMD_FIGURE_SLICE_H
#define MF_CMD_FIGURE_SLICE_H

#include "src/cmd/cmd.h"
#include "src/cmd/figure.h"

/**
 * Slice @p index normal to @p normal of a labelled volume on rank 0's figure; an image is its own, with the axes of
 * such a slice. Collective (of an image: rank 0 alone may call it); refuses (agreed) with MF_MEMORY.
 */
int mf_figure_slice(const struct mf_session *session, struct mf_figure *figure, const struct mf_micro *micro,
                    enum mf_normal normal, size_t index, const char *title);

#endif
