/* Conduction at one cell of a grid (kernels/flux.h), for all back ends.
 * Rule: terms are added in the order written here, so back ends have the same bits. */
#ifndef MF_KERNELS_FORM_FLUX_H
#define MF_KERNELS_FORM_FLUX_H

#include "kernels/flux.h"
#include "kernels/form/hd.h"

/** Lanes of a sum over a row: lane l adds the cells l, l + 32, ... Then the upper half of the lanes is added to the
 * lower one, until one is left. */
enum { MF_FLUX_LANES = 32 };

/** The sum of what the six neighbours give: before and behind along x, y, z. */
MF_HD float mf_flux_six(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return (x0 + x1) + (y0 + y1) + (z0 + z1);
}

/** Does the cell at @p i conduct? Outside only counts tell: there the faces of others have no conductance. */
MF_HD int mf_flux_conducts(const struct mf_flux_grid *g, size_t i) { return !g->count || g->count[i]; }

/** The conductance of the face before the cell at @p i, whose place along the axis is @p p. */
MF_HD float mf_flux_face(const struct mf_flux_grid *g, int axis, size_t i, size_t p)
{
    const size_t before = i - mf_flux_stride(g, axis);

    if (!g->count) return g->c[axis][i];
    if (p == 0) return g->count[i] ? g->count[before] : 0;
    if (p == g->n[axis]) return g->count[before] ? g->count[i] : 0;
    return g->count[i] && g->count[before];
}

/** The energy of a face: c (jump of x)^2. */
MF_HD double mf_flux_energy(float c, double high, double low)
{
    const double jump = high - low;

    return (double)c * jump * jump;
}

/** The energy of the face behind a last cell, before the place @p i. A potential beside a plate half a cell away is
 * stored with its factor, where conductances are counts. */
MF_HD double mf_flux_energy_behind(const struct mf_flux_grid *g, int axis, size_t i, const float *x)
{
    const double scale = g->count && g->count[i] ? g->count[i] : 1;

    return mf_flux_energy(mf_flux_face(g, axis, i, g->n[axis]), (double)x[i] / scale, x[i - mf_flux_stride(g, axis)]);
}

#endif
