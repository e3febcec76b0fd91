/* Shows descriptors as JSON, as text, or as a picture. */
#ifndef MF_SHOW_DESCRIBE_H
#define MF_SHOW_DESCRIBE_H

#include <stdio.h>

#include "io/target.h"
#include "src/base/json.h"

/**
 * S2 against distance on level 0: curve[i][0 .. lag - 1]. Curve 0 is radial, the mean over lags that round to d; 1 is
 * along u, 2 along v.
 */
void mf_side_curves(const struct mf_target_side *side, size_t lag, int phase, double *const curve[3]);

/**
 * {"file", "shape", "phases": [{"label", "volume_fraction", "variation", "s2": {side: window}}], "cross": [{"labels",
 * "s2"}]}: level 0, labels ascending; scalars are means over the sides. @p dims: {nz, ny, nx}.
 */
struct mf_json *mf_describe_json(const struct mf_target *target, const char *file, int ndim, const size_t dims[3]);

/** A summary of a few dozen lines. */
void mf_describe_text(FILE *to, const struct mf_target *target, const char *file, int ndim, const size_t dims[3]);

/** Maps and curves of every phase and side as a PNG. Rank 0 only; MF_OUTPUT. */
int mf_describe_plot(const char *path, const struct mf_target *target, const char *file, int ndim);

#endif
