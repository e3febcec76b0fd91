/* Losses of networks: the gradient of one number. See kernels/net/loss.c. */
#ifndef MF_KERNELS_FORM_LOSS_H
#define MF_KERNELS_FORM_LOSS_H

#include "kernels/form/log.h"
#include "kernels/form/soft.h"

/** softmax_loss, but for the label: f softmax(x) - even. @p l: logarithm of the sum of exponentials of the row. */
MF_HD float mf_softmax_loss_slope(float x, float l, float f, float even) { return f * mf_soft_exp(x - l) - even; }

/** squared_loss: a number whose b is NaN adds nothing. */
MF_HD float mf_squared_loss_slope(float a, float b, float f) { return b == b ? f * (a - b) : 0; }

/** match_loss: g; @p mean is that of |x - real| over the row. A number that is not finite differs from itself. */
MF_HD float mf_match_direction(float real, float made, float mean)
{
    const float g = (made - real) / mean;

    return g - g == 0 ? g : 0;
}

/** logistic_loss: log(1 + e^x) - t x, and its slope. A number whose target is NaN adds nothing. */
MF_HD float mf_logistic_loss_value(float x, float t)
{
    const float high = x > 0 ? x : 0;

    return t == t ? (high - t * x) + mf_log(1 + mf_soft_exp(x > 0 ? -x : x)) : 0;
}
MF_HD float mf_logistic_loss_slope(float x, float t, float f) { return t == t ? f * (mf_logistic(x) - t) : 0; }

#endif
