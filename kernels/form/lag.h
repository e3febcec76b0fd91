/* Counts of pairs of pixels at a lag, and the central value of S2. */
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

/** The asymptotic value of a target's window [side][side]: the mean of its first row, the farthest lags. Before
 * comparison it is subtracted from correlations of periodic slices, so that rounding to float loses less. 0 where
 * slices are not periodic. */
MF_HD double mf_lag_middle(int periodic, size_t side, const float *target)
{
    double sum = 0;

    if (!periodic) return 0;
    for (size_t i = 0; i < side; ++i) sum += (double)target[i];
    return sum / (double)side;
}

#endif
