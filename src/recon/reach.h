/* For every voxel finds the nearest marked voxel, by steps across faces. A rank examines its own planes and those
 * beyond them from which a path can come. The border is not periodic. */
#ifndef MF_RECON_REACH_H
#define MF_RECON_REACH_H

#include "mpi/slab.h"

enum {
    MF_REACH = 16 /* most steps */
};

#define MF_REACH_WALL UINT32_MAX

struct mf_reach {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_slab slab;
    size_t below, planes; /* planes of other ranks below the own ones; all planes */
    uint32_t *owner;      /* [planes][ny][nx]: 0: none; MF_REACH_WALL: no path enters */
    uint8_t *far;         /* [planes][ny][nx]: number of steps from it */
};

/** Takes its memory. Local; MF_MEMORY; mf_reach_close() accepts an incomplete one. */
int mf_reach_open(struct mf_reach *reach, const struct mf_comm *comm, struct mf_arena *arena,
                  const struct mf_slab *slab);
void mf_reach_close(struct mf_reach *reach);

/** The own planes of owner. The caller sets marks > 0 where paths begin, and 0 where they may lead. */
uint32_t *mf_reach_own(const struct mf_reach *reach);

/** Fetches the marks of other planes. Gives every voxel within @p steps (at most MF_REACH) the nearest mark, and of
 * equally near ones the smallest. Collective; refuses (agreed) with MF_MEMORY. */
int mf_reach_flood(struct mf_reach *reach, size_t steps);

/** Index of a voxel of owner to its global index (z, y, x), and back. */
static inline uint64_t mf_reach_global(const struct mf_reach *r, size_t at)
{
    return (r->slab.first - r->below) * r->slab.dims[1] * r->slab.dims[2] + at;
}

/** The neighbour of voxel @p at of owner on side @p k (2 a: towards 0 on axis a z y x; 2 a + 1: away). SIZE_MAX:
 * outside of the planes of this rank. */
size_t mf_reach_neighbour(const struct mf_reach *reach, size_t at, int k);

#endif
