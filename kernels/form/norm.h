/* Norms of networks: what is done with one number. See kernels/net/norm.c. */
#ifndef MF_KERNELS_FORM_NORM_H
#define MF_KERNELS_FORM_NORM_H

#include "kernels/form/hd.h"
#include "kernels/op.h"

/** Added to a variance where the node does not say more, as PyTorch does. */
#define MF_NORM_EPSILON 1e-5

static inline float mf_norm_epsilon(const struct mf_attr *attr)
{
    return (float)(attr->epsilon > 0 ? attr->epsilon : MF_NORM_EPSILON);
}

/* layer_norm: h = (x - mean) scale, scale = 1 / deviation of the row. rms_norm: mean = b = first = 0 */
MF_HD float mf_norm_value(float x, float mean, float scale, float g, float b) { return (x - mean) * scale * g + b; }

/** The gradient of x. Here @p up is g dy; @p first and @p second are the means over the row of up and of up h. */
MF_HD float mf_norm_slope(float x, float mean, float scale, float up, float first, float second)
{
    return scale * (up - first - (x - mean) * scale * second);
}

/* group_norm: scale = g / deviation of the group */
MF_HD float mf_group_value(float x, float mean, float scale, float b) { return (x - mean) * scale + b; }

/** The gradient of x. @p slope, @p level: how the mean and the deviation of the group change. */
MF_HD float mf_group_slope(float x, float mean, float scale, float dy, float slope, float level)
{
    return scale * dy + (slope * (x - mean) + level);
}

/** modulate: @p s, @p t: of the sample and channel */
MF_HD float mf_modulate_value(float x, float s, float t) { return x * (1 + s) + t; }

#endif
