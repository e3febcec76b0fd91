/* Exact energies of flips and swaps of voxels, from the bits around them and the residuals of their slices; and the
 * flips themselves. Private to the polish and annealing. */
#ifndef MF_RECON_SWAP_H
#define MF_RECON_SWAP_H

#include "src/recon/site.h"

/** One direction: what its slices are and where they stand. */
struct mf_swap_side {
    size_t nu, nv, slices;
    double pixels;              /* nu nv */
    double down, along;         /* what one jump along u, along v adds to V */
    double s2_weight, v_weight; /* share of a slice / M * w^2 */
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
    uint8_t *used;              /* [count] moved, or its voxel moved */
    uint32_t *member[MF_SIDES]; /* site numbers sorted by slice */
    uint32_t *start[MF_SIDES];  /* [slices + 1] where a slice's members begin */
};

/** Row of words where the zero lag stands, in floats of a residual. */
size_t mf_swap_centre(const struct mf_window_shape *shape);

/** Change of the loss by flipping site i: exact for level 0 of S2 and Variation, plus its rest. */
double mf_swap_energy(const struct mf_swap *w, size_t i);

/** The first-order part of S2 at level 0 in that. */
double mf_swap_linear(const struct mf_swap *w, size_t i);

/** Change of the loss by flipping both, beyond the sum of their energies. */
double mf_swap_interaction(const struct mf_swap *w, size_t i, size_t j);

/**
 * Does flipping site i leave the clusters of both phases whole and apart, and what they touch? Of the phase that it
 * leaves, and of the one that it enters: its neighbours are joined with one another around it, by faces, without it (a
 * voxel by itself may vanish), and on a face of the volume it has one. A periodic border joins nothing.
 */
int mf_swap_keeps(const struct mf_swap *w, size_t i);

/** Do sites i and j see each other there? */
int mf_swap_meet(const struct mf_swap *w, size_t i, size_t j);

/** Sorts sites into slices. */
void mf_swap_index(struct mf_swap *w);

/** Flips site i: residuals, V, and the bits of every site that has this voxel in its windows follow. */
void mf_swap_apply(struct mf_swap *w, size_t i);

#endif
