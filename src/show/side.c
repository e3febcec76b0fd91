/* See side.h. */
#include "src/show/side.h"

#include "src/base/err.h"

const char *mf_side_name(const struct mf_target *target, int ndim, int side)
{
    static const char *const names[] = {"z", "y", "x"};

    MF_ASSERT(side >= 0 && side < 3);
    return ndim == 3 && target->sides == 1 ? "mean" : names[side];
}

const char *const *mf_side_axes(const struct mf_target *target, int ndim, int side)
{
    static const char *const axes[3][2] = {{"y", "x"}, {"z", "x"}, {"z", "y"}}, *const means[2] = {"u", "v"};

    return target->sides == 1 && ndim == 3 ? means : axes[side];
}
