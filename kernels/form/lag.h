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

#endif
