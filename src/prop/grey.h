/* Conduction through voxels of any positive conductivity, which change from solve to solve. It also gives the
 * derivative of the effective conductivity by each of them. The problem is its own adjoint. So the derivative is a sum
 * over the faces of a voxel. A term is the jump of the potential, squared, times the derivative of the conductance.
 * Rule: results have the same bits on any number of ranks and threads. */
#ifndef MF_PROP_GREY_H
#define MF_PROP_GREY_H

#include "src/prop/conduct.h"

struct mf_conduct_grey;

/**
 * Takes all memory for conduction, along one axis after another, of voxels on @p slab with edges @p spacing. It does
 * nothing else, so a plan may call it too. opts->k is not used. The boundary is plates with closed sides, or periodic.
 * Arrays come from queue->arena and @p arena (host memory). Collective; refuses (agreed) with MF_MEMORY. Call
 * mf_conduct_grey_close() in any case.
 */
int mf_conduct_grey_open(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                         const struct mf_slab *slab, const double spacing[3], const struct mf_conduct_opts *opts,
                         struct mf_conduct_grey **grey);
void mf_conduct_grey_close(struct mf_conduct_grey *grey);

/** The potential of a uniform gradient along @p axis, to begin with. @p potential [slab voxels], host memory. Local. */
void mf_conduct_grey_begin(const struct mf_conduct_grey *grey, int axis, float *potential);

/**
 * Solves along @p axis for conductivities @p k [slab voxels], above 0. Begins with @p potential [slab voxels], which
 * becomes the solution. Both are host memory. Collective; refuses (agreed) with MF_NUMERIC, MF_MEMORY.
 */
int mf_conduct_grey_solve(struct mf_conduct_grey *grey, int axis, const float *k, float *potential,
                          struct mf_conduct *out);

/** After a solve: @p slope [slab voxels] = d (effective conductivity) / d k of a voxel, host memory. Collective. */
void mf_conduct_grey_slope(struct mf_conduct_grey *grey, float *slope);

#endif
