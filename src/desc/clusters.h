/* Clusters of a labelled field: the cluster of every voxel, the list of clusters, and the share of a phase that spans
 * the volume. Two voxels of one phase belong to one cluster if a chain of shared faces joins them. */
#ifndef MF_DESC_CLUSTERS_H
#define MF_DESC_CLUSTERS_H

#include "src/desc/measure.h"

/**
 * id[v], v an own voxel: a number that the voxels of its cluster have on all ranks, and no others (job->periodic:
 * joined across the border too). Collective; refuses (agreed) with MF_MEMORY, MF_INPUT (2^32 of them).
 */
int mf_clusters_name(const struct mf_measure_job *job, uint32_t *id);

/**
 * Counts room for what finding the clusters of one phase after the other takes beside its results, which nobody knows
 * before there are voxels: as much as any field takes on its own planes, and more than noise does of what meets between
 * slabs. @p most: of mf_clusters_list(); 0: mf_clusters_share() alone. Where a dry run and the run itself ask for it,
 * they take the same. Local; refuses with MF_MEMORY.
 */
int mf_clusters_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_slab *slab, size_t most);

/** Bits of what a cluster touches: 2 a, the face at 0 of axis a (z y x); 2 a + 1, the far one. */
static inline int mf_touch_spans(int touch, int a) { return (touch >> (2 * a) & 3) == 3; }

/** share [phases][3]: what of the voxels of a phase is in clusters that reach from face to face along z, y, x, without
 * the joins of a periodic border. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_clusters_share(const struct mf_measure_job *job, double (*share)[3]);

struct mf_cluster {
    int64_t first; /* smallest global index of a voxel */
    int64_t size;
    int touch;
};

/**
 * The clusters of @p phase, the largest first (ties: by first), at most @p most of them, equal on all ranks; id[v], v
 * an own voxel: 1 + its place in the list, 0: not in it. A periodic border joins nothing. Returns how many there are in
 * *count. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT.
 */
int mf_clusters_list(const struct mf_measure_job *job, uint8_t phase, size_t most, struct mf_cluster *list,
                     size_t *count, uint32_t *id);

#endif
