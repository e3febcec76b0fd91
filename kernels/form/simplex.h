/* Projections for several phases: a voxel is a point of the simplex {v >= 0, sum v = 1}. Both start from all components
 * and drop those that end at zero. The set only shrinks, so phases - 1 rounds suffice (C. Michelot, "A finite algorithm
 * for finding the projection of a point onto the canonical simplex of R^n", 1986).
 *
 * Both process @p width voxels side by side, phase p of voxel w at [p * width + w]. A thread of a GPU takes one voxel,
 * a core as many as a vector holds. Loops over w become vector code where width is a constant. */
#ifndef MF_KERNELS_FORM_SIMPLEX_H
#define MF_KERNELS_FORM_SIMPLEX_H

#include "kernels/form/hd.h"

enum { MF_SIMPLEX_WIDTH = 16 }; /* largest width */

/** Adds v to sum and 1 to count if v is above tau: the components that are kept. */
MF_HD void mf_simplex_above(int width, const float *v, const float *tau, float *sum, float *count)
{
    MF_EACH (w, width) {
        sum[w] += v[w] > tau[w] ? v[w] : 0.0f;
        count[w] += v[w] > tau[w] ? 1.0f : 0.0f;
    }
}

/** Replaces v [phases][width] by the nearest points of the simplex. */
MF_HD void mf_simplex_project(int phases, int width, float *v)
{
    float top[MF_SIMPLEX_WIDTH], tau[MF_SIMPLEX_WIDTH];

    MF_EACH (w, width) top[w] = v[w];
    for (int p = 1; p < phases; ++p)
        MF_EACH (w, width) top[w] = v[p * width + w] > top[w] ? v[p * width + w] : top[w];
    MF_EACH (w, width) tau[w] = -1.0f;
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            v[p * width + w] -= top[w]; /* so that the largest is 0 and cannot be dropped */
            tau[w] += v[p * width + w];
        }
    MF_EACH (w, width) tau[w] /= (float)phases;
    for (int round = 1; round < phases; ++round) {
        float sum[MF_SIMPLEX_WIDTH] = {0}, count[MF_SIMPLEX_WIDTH] = {0};

        MF_EACH (w, width) sum[w] = -1.0f;
        MF_EACH (w, width) count[w] = 0.0f;
        for (int p = 0; p < phases; ++p) mf_simplex_above(width, v + p * width, tau, sum, count);
        MF_EACH (w, width) tau[w] = sum[w] / count[w];
    }
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const float at = v[p * width + w] - tau[w];

            v[p * width + w] = at < 0.0f ? 0.0f : at;
        }
}

/** 1 where a phase may move: x is above 0, or g is not above the mean over the kept phases. Without branches. */
MF_HD float mf_simplex_kept(float x, float g, float mean) { return ((x > 0.0f) | (g <= mean)) ? 1.0f : 0.0f; }

/**
 * The free gradient at x: minus the projection of -g onto the cone of directions that stay on the simplex.
 *   r_p = g_p - mean of g over the kept, keep_p = 1;  r_p = 0, keep_p = 0 where x_p = 0 and g_p is above that mean
 * All [phases][width].
 */
MF_HD void mf_simplex_free(int phases, int width, const float *x, const float *g, float *r, float *keep)
{
    float mean[MF_SIMPLEX_WIDTH];

    MF_EACH (w, width) mean[w] = 0.0f;
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) mean[w] += g[p * width + w];
    MF_EACH (w, width) mean[w] /= (float)phases;
    for (int round = 1; round < phases; ++round) {
        float sum[MF_SIMPLEX_WIDTH] = {0}, count[MF_SIMPLEX_WIDTH] = {0};

        MF_EACH (w, width) sum[w] = count[w] = 0.0f;
        for (int p = 0; p < phases; ++p)
            MF_EACH (w, width) {
                const float kept = mf_simplex_kept(x[p * width + w], g[p * width + w], mean[w]);

                sum[w] += kept * g[p * width + w];
                count[w] += kept;
            }
        MF_EACH (w, width) mean[w] = sum[w] / (count[w] > 0.0f ? count[w] : 1.0f);
    }
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            keep[p * width + w] = mf_simplex_kept(x[p * width + w], g[p * width + w], mean[w]);
            r[p * width + w] = keep[p * width + w] * (g[p * width + w] - mean[w]);
        }
}

#endif
