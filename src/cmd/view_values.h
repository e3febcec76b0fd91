/* Pictures of numbers that are no phases. */
#ifndef MF_CMD_VIEW_VALUES_H
#define MF_CMD_VIEW_VALUES_H

#include "io/array.h"
#include "src/cmd/cmd.h"
#include "src/cmd/figure.h"

/**
 * An image; the middle slices of a volume; of fields of several phases [z][y][x][phase] those of every phase; of a
 * descriptor that was exported [phases or pairs][levels][n][n] its windows or matrices. The volume itself is in no
 * memory. @p file: what the user calls it. Rank 0; MF_INPUT (other axes, too large), MF_MEMORY.
 */
int mf_view_values(const struct mf_session *session, const char *file, const struct mf_array *array,
                   struct mf_figure *figure);

#endif
