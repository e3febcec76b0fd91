/* --spacing: the edge of a voxel. No value, one for all axes, two (y x) or three (z y x), above 0. */
#ifndef MF_CMD_SPACING_H
#define MF_CMD_SPACING_H

#include "src/base/opt.h"

/** Refuses values that none can be: MF_USAGE. Local. */
int mf_spacing_check(const struct mf_reals *given);

/** Refuses values that an array of @p ndim axes does not take: an image has no z, a volume needs it. MF_USAGE. Local.
 */
int mf_spacing_fits(const struct mf_reals *given, int ndim);

/** Spreads them over z, y, x; an axis without a value gets 1. */
void mf_spacing_spread(const struct mf_reals *given, double spacing[3]);

#endif
