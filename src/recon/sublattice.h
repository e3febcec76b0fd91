/* Pools of voxels whose chains of annealing may run at the same time. Every axis is partitioned at random: pool i holds
 * the voxels whose three indices are all its own. Two pools share no slice and no neighbours, and a swap changes its
 * own slices alone. So chains of different pools are exactly independent. */
#ifndef MF_RECON_POOL_H
#define MF_RECON_POOL_H

#include "src/base/cut.h"
#include "src/recon/mutable.h"

enum { MF_CLASSES = 7, MF_POOLS_MAX = 16 }; /* 0 .. 6 foreign neighbours */

struct mf_deal {
    struct mf_arena *arena;
    size_t dims[3], pools;
    struct mf_span span[3][MF_POOLS_MAX]; /* where a pool's indices stand among the dealt ones */
    uint8_t *part[3];                     /* [dims[a]]: whose this index is */
    uint32_t *index[3];                   /* [dims[a]]: pool by pool */
    uint32_t *order[3];                   /* [dims[a]]: this index is so many-th of its pool's */
};

/** Takes its memory, for as many pools as axes of these extents have room for. Local; MF_MEMORY, MF_USAGE: too many
 * voxels of a pool; close accepts half a one. */
int mf_deal_open(struct mf_deal *deal, struct mf_arena *arena, const size_t dims[3]);
void mf_deal_close(struct mf_deal *deal);

/** Deals anew, by random numbers of this seed and number; one pool has everything, in order. */
void mf_deal_shuffle(struct mf_deal *deal, uint64_t seed, uint64_t number);

/** Are all three indices pool @p number's? */
int mf_deal_has(const struct mf_deal *deal, size_t number, const uint32_t at[3]);

/** The number of a pool's voxel in its pool: [0, product of its spans). */
uint32_t mf_deal_local(const struct mf_deal *deal, size_t number, const uint32_t at[3]);

/** The voxels of a pool that are not fixed, in lists by phase and number of foreign neighbours: one is drawn in
 * constant time. They stand there by their numbers in the pool. */
struct mf_pool {
    struct mf_mutable *field; /* all pools have the same; they touch nothing of each other's voxels */
    const struct mf_deal *deal;
    size_t number, voxels;
    const uint8_t *fixed; /* [voxels of the field]: where it is not MF_LABEL_OPEN no swap changes it; NULL: nowhere */
    uint32_t *voxel, *place;                      /* [mf_pool_room()]; place: of a voxel in the lists */
    size_t first[MF_PHASES_MAX * MF_CLASSES + 1]; /* list i is voxel[first[i] .. first[i + 1]) */
};

/** Most voxels of a pool. */
size_t mf_pool_room(const struct mf_deal *deal);

/** Lists anew from the labels and the deal: the same for the same. */
void mf_pool_fill(struct mf_pool *pool);

/** A label changes, and the lists with it. */
void mf_pool_set(struct mf_pool *pool, size_t voxel, uint8_t phase);

/** The voxel of the field that is number @p local of the pool. */
size_t mf_pool_at(const struct mf_pool *pool, uint32_t local);

/** A voxel of @p phase, drawn with weight[its foreign neighbours], by two numbers in [0,1); the field's voxels: none
 * has any. */
size_t mf_pool_draw(const struct mf_pool *pool, uint8_t phase, const double weight[MF_CLASSES], double list,
                    double place);

/** A voxel, all alike; one that is not of @p phase, all alike; the field's voxels: there is none. */
size_t mf_pool_any(const struct mf_pool *pool, double place);
size_t mf_pool_other(const struct mf_pool *pool, uint8_t phase, double place);

#endif
