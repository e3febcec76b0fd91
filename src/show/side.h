/* Names of the sides of a target. */
#ifndef MF_SHOW_SIDE_H
#define MF_SHOW_SIDE_H

#include "io/target.h"

/** "z", "y", "x", or "mean" for the only side of a volume. */
const char *mf_side_name(const struct mf_target *target, int ndim, int side);

/** Names of a side's rows and columns: axes, or "u", "v" for the only side of a volume. */
const char *const *mf_side_axes(const struct mf_target *target, int ndim, int side);

#endif
