/* Sublattices: sets of voxels whose chains of annealing run at the same time. Every axis is partitioned at random.
 * Sublattice i holds the voxels whose three indices all belong to part i.
 * Rule: two sublattices share no slice and no neighbours. A swap changes its own slices alone, so chains of different
 * sublattices are exactly independent. */
#ifndef MF_RECON_SUBLATTICE_H
#define MF_RECON_SUBLATTICE_H

#include "src/base/cut.h"
#include "src/recon/mutable.h"

enum { MF_CLASSES = 7, MF_SUBLATTICES_MAX = 16 }; /* 0 .. 6 foreign neighbours */

/** A partition of the three axes; part i of all axes is sublattice i. */
struct mf_partition {
    struct mf_arena *arena;
    size_t dims[3], count;                      /* count: sublattices */
    struct mf_span span[3][MF_SUBLATTICES_MAX]; /* part i is index[a][span.first ..] */
    uint8_t *part[3];                           /* [dims[a]]: the part of an index */
    uint32_t *index[3];                         /* [dims[a]]: all indices, part by part */
    uint32_t *order[3];                         /* [dims[a]]: position of an index in its part */
};

/** Takes memory. The extents set the number of sublattices. Local; MF_MEMORY; MF_USAGE: 2^32 voxels in a sublattice.
 * Close accepts a partition whose open failed. */
int mf_partition_open(struct mf_partition *partition, struct mf_arena *arena, const size_t dims[3]);
void mf_partition_close(struct mf_partition *partition);

/** A new partition, drawn from this seed and number. A single sublattice holds all voxels in order. */
void mf_partition_shuffle(struct mf_partition *partition, uint64_t seed, uint64_t number);

/** Whether all three indices belong to part @p number. */
int mf_partition_has(const struct mf_partition *partition, size_t number, const uint32_t at[3]);

/** The number of a voxel in its sublattice: [0, product of its spans). */
uint32_t mf_partition_local(const struct mf_partition *partition, size_t number, const uint32_t at[3]);

/** One sublattice. Its voxels that are not fixed stand in lists by phase and number of foreign neighbours, so that one
 * is drawn in constant time. Lists hold the numbers of voxels in the sublattice. */
struct mf_sublattice {
    struct mf_mutable *field; /* shared by all sublattices; each changes its own voxels */
    const struct mf_partition *partition;
    size_t number, voxels;
    const uint8_t *fixed;    /* [voxels of the field]: swaps change only MF_LABEL_OPEN; NULL: all */
    uint32_t *voxel, *place; /* [mf_sublattice_room()]; place: position of a voxel in the lists */
    size_t first[MF_PHASES_MAX * MF_CLASSES + 1]; /* list i is voxel[first[i] .. first[i + 1]) */
};

/** Most voxels of a sublattice. */
size_t mf_sublattice_room(const struct mf_partition *partition);

/** Builds the lists from the labels and the partition. */
void mf_sublattice_fill(struct mf_sublattice *sublattice);

/** Changes a label and updates the lists. */
void mf_sublattice_set(struct mf_sublattice *sublattice, size_t voxel, uint8_t phase);

/** The voxel of the field that is number @p local of the sublattice. */
size_t mf_sublattice_at(const struct mf_sublattice *sublattice, uint32_t local);

/** A random voxel of @p phase; its probability is weight[number of foreign neighbours]. list and place: random numbers
 * in [0,1). Returns the number of the field's voxels if no voxel has weight. */
size_t mf_sublattice_draw(const struct mf_sublattice *sublattice, uint8_t phase, const double weight[MF_CLASSES],
                          double list, double place);

/** A uniformly random voxel; one that is not of @p phase. Returns the number of the field's voxels if there is none. */
size_t mf_sublattice_any(const struct mf_sublattice *sublattice, double place);
size_t mf_sublattice_other(const struct mf_sublattice *sublattice, uint8_t phase, double place);

#endif
