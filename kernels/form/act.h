/* Activations of networks, chosen by enum mf_act (kernels/op.h), and their derivatives. */
#ifndef MF_KERNELS_FORM_ACT_H
#define MF_KERNELS_FORM_ACT_H

#include "kernels/form/unit.h"
#include "kernels/op.h"

MF_HD float mf_act_value(int act, float x)
{
    switch (act) {
    case MF_ACT_RELU: return mf_unit(MF_UNIT_RELU, x);
    case MF_ACT_SILU: return mf_unit(MF_UNIT_SILU, x);
    case MF_ACT_GELU: return mf_gelu(x);
    case MF_ACT_GELU_TANH: return mf_gelu_tanh(x);
    default: return x;
    }
}

/** The derivative. @p seen: x, of relu mf_act_value(x). */
MF_HD float mf_act_slope(int act, float seen)
{
    switch (act) {
    case MF_ACT_RELU: return mf_unit_slope(MF_UNIT_RELU, seen);
    case MF_ACT_SILU: return mf_unit_slope(MF_UNIT_SILU, seen);
    case MF_ACT_GELU: return mf_gelu_slope(seen);
    case MF_ACT_GELU_TANH: return mf_gelu_tanh_slope(seen);
    default: return 1;
    }
}

#endif
