/* The size of a jump d between two neighbouring pixels: |d|, or Huber's smoothed form with a continuous derivative,
 *   size(d) = (d^2 / 2e where |d| < e, else |d| - e/2) / (1 - e/2),  0 < e <= 1, which is 0 at 0 and 1 at 1. */
#ifndef MF_KERNELS_FORM_JUMP_H
#define MF_KERNELS_FORM_JUMP_H

#include <math.h>

#include "kernels/form/hd.h"

struct mf_jump {
    float e, inverse; /* e, 1 / e; both 0 when nothing is smoothed */
    double norm;      /* 1 / (1 - e/2): the caller multiplies sums and slopes by it */
};

MF_HD struct mf_jump mf_jump_of(double smooth)
{
    struct mf_jump j;

    j.e = (float)smooth;
    j.inverse = smooth > 0 ? (float)(1.0 / smooth) : 0.0f;
    j.norm = 1.0 / (1.0 - 0.5 * smooth);
    return j;
}

/** |d| and its slope, 0 at 0. */
MF_HD float mf_jump_hard(float d) { return fabsf(d); }
MF_HD float mf_jump_hard_slope(float d) { return (float)(d > 0.0f) - (float)(d < 0.0f); }

/** The smoothed size and slope, without norm: no branch, no root. */
MF_HD float mf_jump_soft(struct mf_jump j, float d)
{
    const float a = fabsf(d), m = a < j.e ? a : j.e;

    return m * (a - 0.5f * m) * j.inverse;
}
MF_HD float mf_jump_soft_slope(struct mf_jump j, float d)
{
    const float t = d * j.inverse, low = t > -1.0f ? t : -1.0f;

    return low < 1.0f ? low : 1.0f;
}

#endif
