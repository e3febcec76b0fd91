/* Voxels of a step of mean-field annealing (kernels/meanfield.h), shared by all back ends. As in simplex.h, @p width
 * voxels stand side by side, phase p of voxel w at [p * width + w]. */
#ifndef MF_KERNELS_FORM_MEANFIELD_H
#define MF_KERNELS_FORM_MEANFIELD_H

#include "kernels/form/box.h"
#include "kernels/form/simplex.h"
#include "kernels/meanfield.h"

/** May a voxel of one phase move? @p g: the gradient without the level. */
MF_HD int mf_may_move(float x, float g)
{
    return ((x > 0.0f) & (x < 1.0f)) | ((x <= 0.0f) & (g < 0.0f)) | ((x >= 1.0f) & (g > 0.0f));
}

/** The part r of a gradient that voxels can follow; keep: 1 for the phases that may move. All [phases][width]. */
MF_HD void mf_meanfield_free_gradient(int phases, int width, const float *x, const float *g, float *r, float *keep)
{
    if (phases > 1) {
        mf_simplex_free(phases, width, x, g, r, keep);
        return;
    }
    MF_EACH (w, width) {
        keep[w] = mf_may_move(x[w], g[w]) ? 1.0f : 0.0f;
        r[w] = keep[w] * g[w];
    }
}

/** keep: 1 for the phases that are not at a bound. All [phases][width]. */
MF_HD void mf_meanfield_inside(int phases, int width, const float *x, float *keep)
{
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const float at = x[p * width + w];

            keep[p * width + w] = ((at > 0.0f) & ((phases > 1) | (at < 1.0f))) ? 1.0f : 0.0f;
        }
}

/** The nearest probabilities, and mf_meanfield_inside() of them. */
MF_HD void mf_meanfield_project(int phases, int width, float *v, float *keep)
{
    if (phases > 1)
        mf_simplex_project(phases, width, v);
    else
        MF_EACH (w, width) v[w] = mf_clamp(v[w], 0.0f, 1.0f);
    mf_meanfield_inside(phases, width, v, keep);
}

/**
 * A pair of phases p, q of a voxel: how much p follows when q is pushed. It is 0 unless both are kept. Else it is 1 if
 * p = q; with several phases 1 / m less, where m is the number of kept phases. Unit: 1 / MF_PAIR_UNIT.
 * share [width]: the 1 / m of every voxel, 0 with one phase.
 */
MF_HD void mf_meanfield_share(int phases, int width, const float *keep, float *share)
{
    MF_EACH (w, width) share[w] = 0.0f;
    if (phases == 1) return;
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) share[w] += keep[p * width + w];
    MF_EACH (w, width) share[w] = (float)MF_PAIR_UNIT / (share[w] > 0.0f ? share[w] : 1.0f);
}

MF_HD float mf_meanfield_pair(int same, float keep_p, float keep_q, float share)
{
    return keep_p * keep_q * ((same ? (float)MF_PAIR_UNIT : 0.0f) - share);
}

/** Where phase p of a fixed voxel goes: to where it is, whatever the shift. */
MF_HD float mf_stay(float x) { return x > 0.5f ? 1e6f : -1e6f; }

#endif
