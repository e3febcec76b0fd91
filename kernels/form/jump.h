/* The size of a jump between two pixels: |d|, or smoothed so that the slope is continuous,
 *   size(d) = (sqrt(d^2 + e^2) - e) / (sqrt(1 + e^2) - e), which is 0 at 0 and 1 at 1. */
#ifndef MF_KERNELS_FORM_JUMP_H
#define MF_KERNELS_FORM_JUMP_H

#include <math.h>

#include "kernels/form/hd.h"

struct mf_jump {
    float square; /* e^2 */
    float e;      /* sqrt(square) as computed, so that size(0) is exactly 0 */
    double norm;  /* 1 / (sqrt(1 + e^2) - e): the caller multiplies sums and slopes by it */
};

MF_HD struct mf_jump mf_jump_of(double smooth)
{
    struct mf_jump j;

    j.square = (float)(smooth * smooth);
    j.e = sqrtf(j.square);
    j.norm = 1.0 / (sqrt(1.0 + smooth * smooth) - smooth);
    return j;
}

/** |d| and its slope, 0 at 0. */
MF_HD float mf_jump_hard(float d) { return fabsf(d); }
MF_HD float mf_jump_hard_slope(float d) { return (float)(d > 0.0f) - (float)(d < 0.0f); }

/** The smoothed size and slope, without norm. */
MF_HD float mf_jump_soft(struct mf_jump j, float d) { return sqrtf(d * d + j.square) - j.e; }
MF_HD float mf_jump_soft_slope(struct mf_jump j, float d) { return d / sqrtf(d * d + j.square); }

#endif
