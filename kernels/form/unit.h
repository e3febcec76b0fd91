/* Activation functions of a neuron and their derivatives. The derivatives of the first three follow from the output. */
#ifndef MF_KERNELS_FORM_UNIT_H
#define MF_KERNELS_FORM_UNIT_H

#include <math.h>

#include "kernels/form/soft.h"

enum mf_unit { MF_UNIT_RELU, MF_UNIT_ELU, MF_UNIT_LEAKY_RELU, MF_UNIT_SILU, MF_UNIT_GELU, MF_UNITS };

MF_HD float mf_unit(enum mf_unit unit, float z)
{
    switch (unit) {
    case MF_UNIT_RELU: return z > 0 ? z : 0;
    case MF_UNIT_ELU: return z > 0 ? z : expm1f(z);
    case MF_UNIT_LEAKY_RELU: return z > 0 ? z : 0.05f * z;
    case MF_UNIT_SILU: return z * mf_logistic(z);
    default: return 0.5f * z * (1 + erff(0.70710678f * z));
    }
}

/** Phi(z), the distribution function of the standard normal. Source: Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 7.1.26 (error 1.5e-7). The number @p bell is exp(-z^2 / 2). It has no call, so loops become vector code;
 * mf_unit() calls erff. */
MF_HD float mf_normal(float z, float bell)
{
    const float t = 1 / (1 + 0.23164189f * fabsf(z));
    const float p =
        t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float tail = 0.5f * p * bell;

    return z < 0 ? tail : 1 - tail;
}

MF_HD float mf_bell(float z) { return mf_soft_exp(-0.5f * z * z); }

/** GELU, z Phi(z), and its derivative, by mf_normal(). */
MF_HD float mf_gelu(float z) { return z * mf_normal(z, mf_bell(z)); }
MF_HD float mf_gelu_slope(float z)
{
    const float bell = mf_bell(z);

    return mf_normal(z, bell) + 0.39894228f * z * bell;
}

/** GELU with Phi(z) approximated by sigma(2 sqrt(2 / pi) (z + 0.044715 z^3)), and its derivative (Hendrycks, Gimpel,
 * "Gaussian error linear units", 2016). */
MF_HD float mf_gelu_tanh(float z) { return z * mf_logistic(1.5957691f * z * (1 + 0.044715f * z * z)); }
MF_HD float mf_gelu_tanh_slope(float z)
{
    const float s = mf_logistic(1.5957691f * z * (1 + 0.044715f * z * z));

    return s + z * s * (1 - s) * 1.5957691f * (1 + 0.134145f * z * z);
}

/** Is the derivative computed from z, and not from mf_unit(z)? */
MF_HD int mf_unit_by_sum(enum mf_unit unit) { return unit == MF_UNIT_SILU || unit == MF_UNIT_GELU; }

/** The derivative. @p y: z if mf_unit_by_sum(), else mf_unit(z). */
MF_HD float mf_unit_slope(enum mf_unit unit, float y)
{
    float s;

    switch (unit) {
    case MF_UNIT_RELU: return y > 0 ? 1.0f : 0;
    case MF_UNIT_ELU: return y > 0 ? 1.0f : y + 1;
    case MF_UNIT_LEAKY_RELU: return y > 0 ? 1.0f : 0.05f;
    case MF_UNIT_SILU: s = mf_logistic(y); return s * (1 + y * (1 - s));
    default: return 0.5f * (1 + erff(0.70710678f * y)) + 0.39894228f * y * expf(-0.5f * y * y);
    }
}

#endif
