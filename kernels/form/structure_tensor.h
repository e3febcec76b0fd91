/* The structure tensor of a slice. A cell is the square between four pixels; the gradient there is
 *   gx = (x01 - x00 + x11 - x10) / 2,  gy = (x10 - x00 + x11 - x01) / 2     (second digit: the column)
 * The maps P = gx^2 - gy^2, Q = 2 gx gy, E = gx^2 + gy^2 are smoothed by a Gaussian and correlated. P and Q hold twice
 * the angle of an edge, E its strength. The coherence of smoothed P and Q is C = sqrt(P^2 + Q^2 + e^2) - e. */
#ifndef MF_KERNELS_FORM_STRUCTURE_TENSOR_H
#define MF_KERNELS_FORM_STRUCTURE_TENSOR_H

#include <math.h>
#include <stddef.h>

#include "kernels/form/hd.h"

/** The maps. */
enum {
    MF_STRUCTURE_TENSOR_P,
    MF_STRUCTURE_TENSOR_Q,
    MF_STRUCTURE_TENSOR_E,
    MF_STRUCTURE_TENSOR_C,
    MF_STRUCTURE_TENSOR_MAPS
};

/** The Gaussian, in cells. */
enum { MF_STRUCTURE_TENSOR_REACH = 5, MF_STRUCTURE_TENSOR_TAPS = 2 * MF_STRUCTURE_TENSOR_REACH + 1 };

/** e in C: without it C has no derivative at P = Q = 0. */
#define MF_STRUCTURE_TENSOR_ROUND 0.01f

/** exp(-k^2 / 2 sigma^2), sigma = 1.5, k = -5 .. 5, of sum 1. */
static inline void mf_structure_tensor_gaussian(float tap[MF_STRUCTURE_TENSOR_TAPS])
{
    double w[MF_STRUCTURE_TENSOR_TAPS], sum = 0;

    for (int k = 0; k < MF_STRUCTURE_TENSOR_TAPS; ++k) {
        const double d = (k - MF_STRUCTURE_TENSOR_REACH) / 1.5;

        sum += w[k] = exp(-0.5 * d * d);
    }
    for (int k = 0; k < MF_STRUCTURE_TENSOR_TAPS; ++k) tap[k] = (float)(w[k] / sum);
}

MF_HD float mf_structure_tensor_size(float p, float q)
{
    return sqrtf(p * p + q * q + MF_STRUCTURE_TENSOR_ROUND * MF_STRUCTURE_TENSOR_ROUND);
}

/** P, Q, E of a gradient (gx, gy). The two functions _back return dA/dgx and dA/dgy; p, q, e are dA/dP, dA/dQ, dA/dE.
 */
MF_HD float mf_structure_tensor_p(float gx, float gy) { return gx * gx - gy * gy; }
MF_HD float mf_structure_tensor_q(float gx, float gy) { return 2.0f * gx * gy; }
MF_HD float mf_structure_tensor_e(float gx, float gy) { return gx * gx + gy * gy; }
MF_HD float mf_structure_tensor_gx_back(float gx, float gy, float p, float q, float e)
{
    return 2.0f * (gx * (e + p) + gy * q);
}
MF_HD float mf_structure_tensor_gy_back(float gx, float gy, float p, float q, float e)
{
    return 2.0f * (gy * (e - p) + gx * q);
}

/** The sum of the taps around cell i that lie inside a row of n cells. */
MF_HD float mf_structure_tensor_inside(const float *tap, long n, long i)
{
    float sum = 0.0f;

    for (long k = -MF_STRUCTURE_TENSOR_REACH; k <= MF_STRUCTURE_TENSOR_REACH; ++k)
        if (i + k >= 0 && i + k < n) sum += tap[k + MF_STRUCTURE_TENSOR_REACH];
    return sum;
}

/** Every second lag of half a plane, du >= 0: (0, 0), (0, 2) .. (0, 2m), (2, -2m) .. (2m, 2m), m = (L-1)/2. */
static inline size_t mf_structure_tensor_lags(size_t lag)
{
    const size_t m = (lag - 1) / 2;

    return 2 * m * m + 2 * m + 1;
}

/** The i-th of these lags. */
MF_HD void mf_structure_tensor_lag(int m, int i, int *du, int *dv)
{
    const int k = i - (m + 1), wide = 2 * m + 1;

    *du = i <= m ? 0 : 2 * (k / wide + 1);
    *dv = i <= m ? 2 * i : 2 * (k % wide - m);
}

#endif
