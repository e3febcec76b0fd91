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
