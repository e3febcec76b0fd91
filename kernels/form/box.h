/* Fields of one phase: the value of a voxel is a number in the box [0,1]. */
#ifndef MF_KERNELS_FORM_BOX_H
#define MF_KERNELS_FORM_BOX_H

#include "kernels/form/hd.h"

/** min(max(x, lo), hi); NaN stays NaN. */
MF_HD float mf_clamp(float x, float lo, float hi)
{
    float low = x < lo ? lo : x;

    return low > hi ? hi : low;
}

/** True where x is at a bound of [0,1] and -g points out of the box. */
MF_HD int mf_box_held(float x, float g) { return (x <= 0.0f && g > 0.0f) || (x >= 1.0f && g < 0.0f); }

/** The free part of the gradient: g, or 0 where x is held. */
MF_HD float mf_box_free(float x, float g) { return mf_box_held(x, g) ? 0.0f : g; }

/** The grey penalty x (1 - x) of a voxel, and its derivative. */
MF_HD float mf_grey(float x) { return x * (1.0f - x); }
MF_HD float mf_grey_slope(float x) { return 1.0f - 2.0f * x; }

#endif
