/* See spacing.h. */
#include "src/cmd/spacing.h"

#include "src/base/err.h"

int mf_spacing_check(const struct mf_reals *given)
{
    if (given->count > 3)
        return mf_fail(MF_USAGE, "--spacing takes one value, 2 (y x) or 3 (z y x), not %zu", given->count);
    for (size_t i = 0; i < given->count; ++i)
        if (!(given->at[i] > 0)) return mf_fail(MF_USAGE, "--spacing wants values above 0, not %g", given->at[i]);
    return MF_OK;
}

int mf_spacing_fits(const struct mf_reals *given, int ndim)
{
    if (given->count <= 1 || given->count == (size_t)ndim) return MF_OK;
    return mf_fail(MF_USAGE, "--spacing has %zu values; %s takes one, or %s", given->count,
                   ndim == 2 ? "an image" : "a volume", ndim == 2 ? "2 (y x)" : "3 (z y x)");
}

void mf_spacing_spread(const struct mf_reals *given, double spacing[3])
{
    size_t n = given->count;

    for (size_t axis = 0; axis < 3; ++axis) {
        size_t from_last = 2 - axis;

        spacing[axis] = n == 1 ? given->at[0] : from_last < n ? given->at[n - 1 - from_last] : 1;
    }
}
