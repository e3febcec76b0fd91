/* Voxels of a step of mean-field annealing (kernels/meanfield.h), shared by all back ends. As in simplex.h, @p width
 * voxels stand side by side, phase p of voxel w at [p * width + w]. */
#ifndef MF_KERNELS_FORM_MEANFIELD_H
#define MF_KERNELS_FORM_MEANFIELD_H

#include "kernels/form/box.h"
#include "kernels/form/simplex.h"
#include "kernels/meanfield.h"

/** May a voxel of one phase move? @p g: less the level. */
MF_HD int mf_may_move(float x, float g)
{
    return ((x > 0.0f) & (x < 1.0f)) | ((x <= 0.0f) & (g < 0.0f)) | ((x >= 1.0f) & (g > 0.0f));
}

/** The part r of a gradient that voxels can follow; keep: 1 for the phases that may move. All [phases][width]. */
MF_HD void mf_meanfield_free(int phases, int width, const float *x, const float *g, float *r, float *keep)
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

/** The nearest probabilities. keep: 1 for the phases that are not at a bound. All [phases][width]. */
MF_HD void mf_meanfield_project(int phases, int width, float *v, float *keep)
{
    if (phases > 1)
        mf_simplex_project(phases, width, v);
    else
        MF_EACH (w, width) v[w] = mf_clamp(v[w], 0.0f, 1.0f);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const float at = v[p * width + w];

            keep[p * width + w] = ((at > 0.0f) & ((phases > 1) | (at < 1.0f))) ? 1.0f : 0.0f;
        }
}

/**
 * When phase q of a voxel is pushed, phase p of the kept ones follows by
 *   keep_p keep_q (1 if p = q, else 0; less 1/m if there are several phases), m: number of the kept
 * mf_meanfield_less() is the last term of every voxel [width], in MF_PAIR_UNIT; then mf_meanfield_pair() is all.
 */
MF_HD void mf_meanfield_less(int phases, int width, const float *keep, float *less)
{
    MF_EACH (w, width) less[w] = 0.0f;
    if (phases == 1) return;
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) less[w] += keep[p * width + w];
    MF_EACH (w, width) less[w] = (float)MF_PAIR_UNIT / (less[w] > 0.0f ? less[w] : 1.0f);
}

MF_HD float mf_meanfield_pair(int same, float keep_p, float keep_q, float less)
{
    return keep_p * keep_q * ((same ? (float)MF_PAIR_UNIT : 0.0f) - less);
}

/** Where phase p of a fixed voxel goes: to where it is, whatever the shift. */
MF_HD float mf_stay(float x) { return x > 0.5f ? 1e6f : -1e6f; }

#endif
