/* The voxel of a step of mean-field annealing (kernels/meanfield.h), shared by all back ends. */
#ifndef MF_KERNELS_FORM_MEANFIELD_H
#define MF_KERNELS_FORM_MEANFIELD_H

#include <math.h>

#include "kernels/form/hd.h"

MF_HD int mf_inside(float x) { return (x > 0.0f) & (x < 1.0f); }

/** May a voxel move? */
MF_HD int mf_may_move(float x, float g, float level)
{
    return mf_inside(x) | ((x <= 0.0f) & (g < level)) | ((x >= 1.0f) & (g > level));
}

MF_HD float mf_clip(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

/** Where a fixed voxel goes: to where it is, whatever the shift. */
MF_HD float mf_stay(float x) { return x > 0.5f ? HUGE_VALF : -HUGE_VALF; }

#endif
