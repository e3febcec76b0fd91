/* For every voxel the nearest marked voxel, by steps across faces. A rank looks at its own planes and at those beyond
 * them that a way can come from. The border is not periodic. */
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
    size_t below, planes; /* planes of others below the own ones; all together */
    uint32_t *owner;      /* [planes][ny][nx]: 0 none, MF_REACH_WALL: no way leads there */
    uint8_t *far;         /* [planes][ny][nx]: steps from it */
};

/** Takes its memory. Local; MF_MEMORY; close accepts half a one. */
int mf_reach_open(struct mf_reach *reach, const struct mf_comm *comm, struct mf_arena *arena,
                  const struct mf_slab *slab);
void mf_reach_close(struct mf_reach *reach);

/** The own planes of owner: marks > 0 are where ways begin, 0 where they may lead. */
uint32_t *mf_reach_own(const struct mf_reach *reach);

/** Brings the marks of other planes and gives every voxel that @p steps (at most MF_REACH) reach the smallest of the
 * marks nearest to it. Collective; refuses (agreed) with MF_MEMORY. */
int mf_reach_flood(struct mf_reach *reach, size_t steps);

/** A voxel of owner by global index z, y, x, and back. */
static inline uint64_t mf_reach_global(const struct mf_reach *r, size_t at)
{
    return (r->slab.first - r->below) * r->slab.dims[1] * r->slab.dims[2] + at;
}

/** The neighbour of voxel @p at of owner on side @p k (2 a: towards 0 on axis a z y x; 2 a + 1: away); SIZE_MAX: that
 * is outside of the planes here. */
size_t mf_reach_neighbour(const struct mf_reach *reach, size_t at, int k);

#endif
