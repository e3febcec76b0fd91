/* Exact energies of flips and swaps of voxels, from the bits around them and the residuals of their slices. Also
 * applies the flips. Private to the polish and annealing. */
#ifndef MF_RECON_SWAP_H
#define MF_RECON_SWAP_H

#include "src/recon/site.h"

/** One direction: properties of its slices, and their arrays. */
struct mf_swap_side {
    size_t nu, nv, slices;
    double pixels;              /* nu nv */
    double down, along;         /* contribution to V of one jump along u, along v */
    double s2_weight, v_weight; /* weight of a slice / M * w^2 */
    float *a2;                  /* [n * 32] squared lag weights (N / n(r))^2; NULL: periodic */
    float *residual;            /* [fields][slices][n * 32]: (S - T) sqrt(a2), level 0 */
    double *v, *v_target;       /* [fields][slices] jumps per pixel; [fields] */
};

/** The state of a round, equal on all ranks. */
struct mf_swap {
    struct mf_swap_side side[MF_SIDES];
    double q2[MF_PHASES_MAX]; /* phase weights squared */
    int periodic;
    struct mf_sites sites;
    uint8_t *used;              /* [count] moved, or another site moved its voxel */
    int by_rows;                /* of an image alone: sites are sorted by row */
    uint32_t *member[MF_SIDES]; /* site numbers sorted by slice, or by row */
    uint32_t *start[MF_SIDES];  /* [slices + 1] or [rows + 1] offset of a slice's or row's members */
};

/** Row of words with the zero lag, in floats of a residual. */
size_t mf_swap_centre(const struct mf_window_shape *shape);

/** Change of the loss if site i flips: exact for level 0 of S2 and Variation, plus its rest. */
double mf_swap_energy(const struct mf_swap *w, size_t i);

/** The part of it that is first order in S2 at level 0. */
double mf_swap_linear(const struct mf_swap *w, size_t i);

/** Change of the loss if both flip, beyond the sum of their energies. */
double mf_swap_interaction(const struct mf_swap *w, size_t i, size_t j);

/**
 * Does a flip of site i neither divide nor join clusters, nor change the faces that they touch? It must hold for the
 * phase that it leaves and for the one that it enters. Its neighbours of that phase must be connected around it, by
 * faces, without it (a single voxel may vanish). On a face of the volume one neighbour must be on that face. A periodic
 * border joins nothing.
 */
int mf_swap_keeps(const struct mf_swap *w, size_t i);

/** Is each of sites i and j in the other's window, in a common slice? */
int mf_swap_meet(const struct mf_swap *w, size_t i, size_t j);

/** Sorts sites into slices or rows. */
void mf_swap_index(struct mf_swap *w);

/** Flips site i. Updates residuals, V, and the bits of every site with this voxel in its windows. */
void mf_swap_apply(struct mf_swap *w, size_t i);

#endif
