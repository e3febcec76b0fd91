/* Several phases: a voxel is a point of the simplex {v >= 0, sum v = 1}. Both projections start from all components and
 * drop those that end at zero: the set only shrinks, so phases - 1 rounds find it (C. Michelot, "A finite algorithm for
 * finding the projection of a point onto the canonical simplex of R^n", 1986). */
#ifndef MF_KERNELS_FORM_SIMPLEX_H
#define MF_KERNELS_FORM_SIMPLEX_H

#include "kernels/form/hd.h"

/** v [phases] becomes the nearest point of the simplex. */
MF_HD void mf_simplex_project(int phases, float *v)
{
    float top = v[0], sum = 0.0f, tau;

    for (int p = 1; p < phases; ++p) top = v[p] > top ? v[p] : top;
    for (int p = 0; p < phases; ++p) sum += v[p] -= top; /* so that the largest is 0 and cannot be dropped */
    tau = (sum - 1.0f) / (float)phases;
    for (int round = 1; round < phases; ++round) {
        float count = 0.0f;

        sum = 0.0f;
        for (int p = 0; p < phases; ++p) {
            sum += v[p] > tau ? v[p] : 0.0f;
            count += v[p] > tau ? 1.0f : 0.0f;
        }
        tau = (sum - 1.0f) / count;
    }
    for (int p = 0; p < phases; ++p) v[p] = v[p] - tau < 0.0f ? 0.0f : v[p] - tau;
}

/**
 * The free gradient at x: minus the projection of -g onto the cone of directions that stay on the simplex.
 *   r_p = g_p - mean of g over the kept, keep_p = 1;  r_p = 0, keep_p = 0 where x_p = 0 and g_p lies above that mean
 */
MF_HD void mf_simplex_free(int phases, const float *x, const float *g, float *r, float *keep)
{
    float mean = 0.0f;

    for (int p = 0; p < phases; ++p) mean += g[p];
    mean /= (float)phases;
    for (int round = 1; round < phases; ++round) {
        float sum = 0.0f, count = 0.0f;

        for (int p = 0; p < phases; ++p) {
            sum += x[p] <= 0.0f && g[p] > mean ? 0.0f : g[p];
            count += x[p] <= 0.0f && g[p] > mean ? 0.0f : 1.0f;
        }
        mean = sum / (count > 0.0f ? count : 1.0f);
    }
    for (int p = 0; p < phases; ++p) {
        keep[p] = x[p] <= 0.0f && g[p] > mean ? 0.0f : 1.0f;
        r[p] = x[p] <= 0.0f && g[p] > mean ? 0.0f : g[p] - mean;
    }
}

#endif
