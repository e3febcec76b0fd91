/* Clusters of a labelled field: the cluster of every voxel, and the list of clusters. Also the share of a phase that
 * spans the volume. Two voxels of one phase belong to one cluster if a chain of shared faces joins them. */
#ifndef MF_DESC_CLUSTERS_H
#define MF_DESC_CLUSTERS_H

#include "src/desc/measure.h"

/**
 * id[v], v an own voxel: an id that all voxels of a cluster share on all ranks. No other voxel has it. With
 * job->periodic clusters continue across the border. Where a host asks for the end, ids are wrong: ask mf_pulse_all()
 * behind it. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT (2^32 clusters).
 */
int mf_clusters_name(const struct mf_measure_job *job, uint32_t *id);

/**
 * Counts an upper estimate of the work memory of cluster labelling, one phase after the other, without its results. The
 * true need is not known before there are voxels. The estimate is the worst case for the own planes, and more than
 * random noise needs at slab borders. The number @p most is as for mf_clusters_list(); 0: only mf_clusters_share() is
 * used. A dry run and the run itself then take the same. Local; refuses with MF_MEMORY.
 */
int mf_clusters_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_slab *slab, size_t most);

/** Bits of a cluster's contacts with faces. Bit 2 a is the face at 0 of axis a (z y x), and bit 2 a + 1 is the far
 * one. */
static inline int mf_touch_spans(int touch, int a) { return (touch >> (2 * a) & 3) == 3; }

/** share [phases][3]: fraction of a phase's voxels in clusters that span the volume along z, y, x. A periodic border
 * joins nothing here. Ask mf_pulse_all() behind it. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_clusters_share(const struct mf_measure_job *job, double (*share)[3]);

struct mf_cluster {
    int64_t first; /* smallest global index of a voxel */
    int64_t size;
    int touch;
};

/**
 * The clusters of @p phase, the largest first (ties: by first), at most @p most, equal on all ranks. For an own voxel
 * v, id[v] is 1 + its cluster's index in the list, 0: not in it. A periodic border joins nothing. *count: number of
 * clusters. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT.
 */
int mf_clusters_list(const struct mf_measure_job *job, uint8_t phase, size_t most, struct mf_cluster *list,
                     size_t *count, uint32_t *id);

#endif
