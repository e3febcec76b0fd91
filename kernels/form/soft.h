/* Differentiable thresholds. The soft threshold of pairs and lines is the logistic function, scaled and shifted: f(0) =
 * 0 and f(1) = 1. It is f(z) = a sigma(s (z - t)) + b, sigma(y) = 1 / (1 + exp(-y)). */
#ifndef MF_KERNELS_FORM_SOFT_H
#define MF_KERNELS_FORM_SOFT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/form/hd.h"

struct mf_soft {
    float t, s, a, b;
};

MF_HD struct mf_soft mf_soft_of(double t, double s)
{
    const double low = 1.0 / (1.0 + exp(s * t)), high = 1.0 / (1.0 + exp(-s * (1.0 - t))), a = 1.0 / (high - low);
    struct mf_soft f;

    f.t = (float)t;
    f.s = (float)s;
    f.a = (float)a;
    f.b = (float)(-a * low);
    return f;
}

/** The threshold for "all n pixels of a line": between n - 1 and n pixels, and steeper for longer lines. */
MF_HD struct mf_soft mf_soft_line(double n) { return mf_soft_of(1.0 - 0.5 / n, 4.0 * n); }

/** exp(y) to a relative error of 2e-7, with y limited to [-80, 80]. It has no call and no branch, so loops become
 * vector code. */
MF_HD float mf_soft_exp(float y)
{
    const float big = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number, which its lowest bits are */
    const float x = y < -80.0f ? -80.0f : y > 80.0f ? 80.0f : y, k = x * 1.44269504f + big, n = k - big;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two parts */
    float p = 1.9875691500e-4f, power;
    uint32_t bits;

    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    memcpy(&bits, &k, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

MF_HD float mf_logistic(float y) { return 1.0f / (1.0f + mf_soft_exp(-y)); }

/** sigma of f at z; the value and the slope follow from it. */
MF_HD float mf_soft_sigma(struct mf_soft f, float z) { return mf_logistic(f.s * (z - f.t)); }
MF_HD float mf_soft_value(struct mf_soft f, float sigma) { return f.a * sigma + f.b; }
MF_HD float mf_soft_slope(struct mf_soft f, float sigma) { return f.a * f.s * sigma * (1.0f - sigma); }

#endif
