/* The structure tensor of a slice. A cell is the square between four pixels; the gradient there is
 *   gx = (x01 - x00 + x11 - x10) / 2,  gy = (x10 - x00 + x11 - x01) / 2     (second digit: the column)
 * and what is smoothed and correlated is P = gx^2 - gy^2, Q = 2 gx gy, E = gx^2 + gy^2: twice the angle of an edge, and
 * how much of an edge there is. The coherence of smoothed P and Q is C = sqrt(P^2 + Q^2 + e^2) - e. */
#ifndef MF_KERNELS_FORM_TENSOR_H
#define MF_KERNELS_FORM_TENSOR_H

#include <math.h>

#include "kernels/form/hd.h"

enum { MF_TENSOR_P, MF_TENSOR_Q, MF_TENSOR_E, MF_TENSOR_C, MF_TENSOR_MAPS };
enum { MF_TENSOR_REACH = 5, MF_TENSOR_TAPS = 2 * MF_TENSOR_REACH + 1 }; /* of the Gaussian [cells] */

/** Rounds the coherence off where P and Q vanish, or it had no slope there. */
#define MF_TENSOR_ROUND 0.01f

/** exp(-k^2 / 2 sigma^2), sigma = 1.5, k = -5 .. 5, of sum 1. */
static inline void mf_tensor_gaussian(float tap[MF_TENSOR_TAPS])
{
    double w[MF_TENSOR_TAPS], sum = 0;

    for (int k = 0; k < MF_TENSOR_TAPS; ++k) {
        const double d = (k - MF_TENSOR_REACH) / 1.5;

        sum += w[k] = exp(-0.5 * d * d);
    }
    for (int k = 0; k < MF_TENSOR_TAPS; ++k) tap[k] = (float)(w[k] / sum);
}

MF_HD float mf_tensor_size(float p, float q) { return sqrtf(p * p + q * q + MF_TENSOR_ROUND * MF_TENSOR_ROUND); }

/** P, Q, E of a gradient, and the way back: what gx and gy count when P, Q, E count p, q, e. */
MF_HD float mf_tensor_p(float gx, float gy) { return gx * gx - gy * gy; }
MF_HD float mf_tensor_q(float gx, float gy) { return 2.0f * gx * gy; }
MF_HD float mf_tensor_e(float gx, float gy) { return gx * gx + gy * gy; }
MF_HD float mf_tensor_gx_back(float gx, float gy, float p, float q, float e) { return 2.0f * (gx * (e + p) + gy * q); }
MF_HD float mf_tensor_gy_back(float gx, float gy, float p, float q, float e) { return 2.0f * (gy * (e - p) + gx * q); }

/** What of the Gaussian lies inside, around cell i of n. */
MF_HD float mf_tensor_inside(const float *tap, long n, long i)
{
    float sum = 0.0f;

    for (long k = -MF_TENSOR_REACH; k <= MF_TENSOR_REACH; ++k)
        if (i + k >= 0 && i + k < n) sum += tap[k + MF_TENSOR_REACH];
    return sum;
}

/** Every second lag of half a plane, du >= 0: (0, 0), (0, 2) .. (0, 2m), (2, -2m) .. (2m, 2m), m = (L-1)/2. */
static inline size_t mf_tensor_lags(size_t lag)
{
    const size_t m = (lag - 1) / 2;

    return 2 * m * m + 2 * m + 1;
}

/** The i-th of them. */
MF_HD void mf_tensor_lag(int m, int i, int *du, int *dv)
{
    const int k = i - (m + 1), wide = 2 * m + 1;

    *du = i <= m ? 0 : 2 * (k / wide + 1);
    *dv = i <= m ? 2 * i : 2 * (k % wide - m);
}

#endif
