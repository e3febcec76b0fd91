/* Pairs of pixels at a lag. */
#ifndef MF_KERNELS_FORM_LAG_H
#define MF_KERNELS_FORM_LAG_H

#include <stddef.h>

#include "kernels/form/hd.h"

/** One over the number of pairs at lag (+-du, +-dv) in a slice of nu x nv pixels. */
MF_HD double mf_lag_norm(int periodic, size_t nu, size_t nv, size_t du, size_t dv)
{
    if (periodic) return 1.0 / ((double)nu * (double)nv);
    return 1.0 / ((double)(nu - du) * (double)(nv - dv));
}

/** About what a target's windows [side][side] are: the mean of their first row, of lags that are far. Correlations of
 * periodic slices are taken less it before they are rounded, where they are compared: what is left of them near their
 * target is small beside it. Others are as they are (0). */
MF_HD double mf_lag_middle(int periodic, size_t side, const float *target)
{
    double sum = 0;

    if (!periodic) return 0;
    for (size_t i = 0; i < side; ++i) sum += (double)target[i];
    return sum / (double)side;
}

#endif
