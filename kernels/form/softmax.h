/* A row of softmax with scaled scores: p = exp(scale x - l). Here l is the logarithm of the row's sum of
 * exponentials. */
#ifndef MF_KERNELS_FORM_SOFTMAX_H
#define MF_KERNELS_FORM_SOFTMAX_H

#include "kernels/form/soft.h"

/** The probability of a score, again. */
MF_HD float mf_softmax_again(float x, float scale, float l) { return mf_soft_exp(scale * x - l); }

/** Gradient of a score. @p sum: of p dp over the row. */
MF_HD float mf_softmax_slope(float p, float dp, float sum, float scale) { return p * (dp - sum) * scale; }

#endif
