/* The labels around a voxel and the change of energy when the voxel moves to another phase. Every back end's loop over
 * the interfaces of a slab uses these formulas. */
#ifndef MF_KERNELS_FORM_NEAR_H
#define MF_KERNELS_FORM_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/form/hd.h"
#include "kernels/slices/view.h"

enum { MF_LABEL_NONE = 255 }; /* outside of a field that is not periodic */

/** Lead of phase @p phase over the best of @p rivals (a bit each). Phase p of the voxel is x[p * stride]. */
MF_HD float mf_lead_of(const float *x, size_t stride, size_t phases, size_t phase, uint32_t rivals)
{
    float other = -1e30f;

    for (size_t p = 0; p < phases; ++p)
        if (rivals >> p & 1 && x[p * stride] > other) other = x[p * stride];
    return x[phase * stride] - other;
}

/** Labels of a slab, and of the planes below and above it. These planes belong to other ranks or, periodic, to the slab
 * itself. */
struct mf_labels {
    const uint8_t *own;  /* [planes][ny][nx] */
    const uint8_t *halo; /* [2 deep][ny][nx]: those below, then those above; an image has none */
    size_t planes, deep, ny, nx;
    size_t first, nz; /* first global plane of the slab; planes of the volume, 1: an image */
    int periodic;
};

/** Plane @p z of the slab, -deep <= z < planes + deep; NULL where the field ends. */
MF_HD const uint8_t *mf_near_plane(const struct mf_labels *l, ptrdiff_t z)
{
    const ptrdiff_t global = (ptrdiff_t)l->first + z, planes = (ptrdiff_t)l->planes;

    if (l->nz == 1 && z != 0) return NULL;
    if (!l->periodic && (global < 0 || global >= (ptrdiff_t)l->nz)) return NULL;
    if (z >= 0 && z < planes) return l->own + (size_t)z * l->ny * l->nx;
    return l->halo + (size_t)(z < 0 ? z + (ptrdiff_t)l->deep : z - planes + (ptrdiff_t)l->deep) * l->ny * l->nx;
}

/** Index @p i on an axis of @p n, wrapped; n where the field ends. */
MF_HD size_t mf_near_index(ptrdiff_t i, size_t n, int periodic)
{
    if (i >= 0 && i < (ptrdiff_t)n) return (size_t)i;
    if (!periodic) return n;
    while (i < 0) i += (ptrdiff_t)n;
    while (i >= (ptrdiff_t)n) i -= (ptrdiff_t)n;
    return (size_t)i;
}

/** The label at a place; MF_LABEL_NONE outside. */
MF_HD uint8_t mf_near_label(const struct mf_labels *l, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    const uint8_t *plane = mf_near_plane(l, z);
    const size_t j = mf_near_index(y, l->ny, l->periodic), i = mf_near_index(x, l->nx, l->periodic);

    return plane && j < l->ny && i < l->nx ? plane[j * l->nx + i] : (uint8_t)MF_LABEL_NONE;
}

/** Labels before and after a voxel along z, y, x. */
struct mf_near {
    uint8_t at[3][2];
};

MF_HD struct mf_near mf_near_of(const struct mf_labels *l, size_t z, size_t y, size_t x)
{
    const ptrdiff_t k = (ptrdiff_t)z, j = (ptrdiff_t)y, i = (ptrdiff_t)x;
    struct mf_near n;

    n.at[0][0] = mf_near_label(l, k - 1, j, i);
    n.at[0][1] = mf_near_label(l, k + 1, j, i);
    n.at[1][0] = mf_near_label(l, k, j - 1, i);
    n.at[1][1] = mf_near_label(l, k, j + 1, i);
    n.at[2][0] = mf_near_label(l, k, j, i - 1);
    n.at[2][1] = mf_near_label(l, k, j, i + 1);
    return n;
}

/** True where a neighbour is of phase @p to. */
MF_HD int mf_near_touches(const struct mf_near *n, uint8_t to)
{
    return n->at[0][0] == to || n->at[0][1] == to || n->at[1][0] == to || n->at[1][1] == to || n->at[2][0] == to ||
           n->at[2][1] == to;
}

/** Change of the number of jumps of one phase's indicator along an axis when the voxel flips. */
MF_HD int mf_near_jumps(const uint8_t pair[2], uint8_t phase, int was_in)
{
    int change = 0;

    for (int k = 0; k < 2; ++k)
        if (pair[k] != MF_LABEL_NONE) change += (pair[k] == phase) == was_in ? 1 : -1;
    return change;
}

/** The parts of first-order energies, for moving voxels from one phase to another. The energy is a sum over the phase
 * left (-) and the phase entered (+), if a field stands for the phase, of
 *   +-g + sum over sides of (self + jump * jumps that the flip adds) of the voxel's slice */
struct mf_moves {
    uint8_t from, to;
    size_t fields, sides;         /* 1: field 0 is the indicator of phase 1; else field f is phase f's */
    const float *g;               /* [fields][voxels]: gradient */
    const double *jump[MF_SIDES]; /* [fields][slices]: cost of one more jump in the slice */
    const double *self[MF_SIDES]; /* [fields][slices]: cost of a flip at lag zero, beyond the gradient */
};

/** The energy of moving voxel (z, y, x) of the slab; *rest: the part without jumps. */
MF_HD float mf_move_energy(const struct mf_moves *m, const struct mf_labels *l, size_t z, size_t y, size_t x,
                           const struct mf_near *near, float *rest)
{
    const size_t slices[MF_SIDES] = {l->nz, l->ny, l->nx}, at[MF_SIDES] = {l->first + z, y, x};
    const size_t plane = l->ny * l->nx, voxel = z * plane + y * l->nx + x;
    double smooth = 0, variation = 0;

    for (int in = 0; in < 2; ++in) { /* the phase left, the phase entered */
        const uint8_t phase = in ? m->to : m->from;
        const size_t field = m->fields == 1 ? 0 : phase;
        int jumps[MF_SIDES], all = 0;

        if (m->fields == 1 && phase != 1) continue;
        for (int a = 0; a < MF_SIDES; ++a) {
            jumps[a] = mf_near_jumps(near->at[a], phase, !in);
            all += jumps[a];
        }
        smooth += (in ? 1 : -1) * (double)m->g[field * l->planes * plane + voxel];
        for (size_t d = 0; d < MF_SIDES && d < m->sides; ++d) {
            const size_t slice = field * slices[d] + at[d];

            smooth += m->self[d][slice];
            variation += m->jump[d][slice] * (all - jumps[d]);
        }
    }
    *rest = (float)smooth;
    return (float)(smooth + variation);
}

/** Number of windows of a voxel's slice, and their phases. One field: phase 1. Else: the phase left, the phase
 * entered. */
MF_HD size_t mf_move_phases(const struct mf_moves *m) { return m->fields == 1 ? 1 : 2; }
MF_HD uint8_t mf_move_phase(const struct mf_moves *m, size_t k) { return m->fields == 1 ? 1 : k ? m->to : m->from; }

/** Bit of a window: is the pixel @p du, @p dv from voxel (z, y, x) of phase @p phase? The slice is normal to @p
 * side. */
MF_HD int mf_near_bit(const struct mf_labels *l, int side, size_t z, size_t y, size_t x, ptrdiff_t du, ptrdiff_t dv,
                      uint8_t phase)
{
    const ptrdiff_t k = (ptrdiff_t)z, j = (ptrdiff_t)y, i = (ptrdiff_t)x;

    if (side == 0) return mf_near_label(l, k, j + du, i + dv) == phase;
    if (side == 1) return mf_near_label(l, k + du, j, i + dv) == phase;
    return mf_near_label(l, k + du, j + dv, i) == phase;
}

#endif
