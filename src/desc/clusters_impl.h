/* The parts of cluster labelling. These are the clusters of each phase in this rank's slab, and the pairs that meet at
 * slab borders. Private to src/desc. */
#ifndef MF_DESC_CLUSTERS_IMPL_H
#define MF_DESC_CLUSTERS_IMPL_H

#include "src/desc/clusters.h"

/** The part of a cluster on this rank. */
struct mf_local_cluster {
    int64_t size;
    uint32_t run; /* index of its first run */
    uint8_t phase, touch;
};

#define MF_NO_CLUSTER UINT32_MAX

/** A listed cluster, and its id on its own rank. */
struct mf_listed {
    struct mf_cluster is;
    int64_t id;
};

struct mf_forest {
    const struct mf_measure_job *job;
    int heeds;        /* joining breaks off where a host asks for the end; the caller asks after it */
    int wanted;       /* 1 + the phase to label; 0: all. One phase has at most half as many clusters */
    size_t *row;      /* [rows + 1] first run of each row */
    uint32_t *start;  /* [runs] */
    uint32_t *parent; /* [runs] of the union-find; then the cluster of each, or MF_NO_CLUSTER */
    struct mf_local_cluster *cluster;
    size_t rows, runs, clusters;
    int64_t base; /* number of clusters on lower ranks */
};

/** All clusters that meet at slab borders, ascending, and what they were joined to. */
struct mf_joined {
    int64_t *id;
    uint32_t *parent;
    size_t count;
};

/** The entry of @p id, or NULL. */
const int64_t *mf_joined_find(const struct mf_joined *joined, int64_t id);

/** Finds the runs of forest->job. Local; MF_MEMORY, MF_INPUT; mf_forest_close() accepts an incomplete one. */
int mf_forest_open(struct mf_forest *forest);
void mf_forest_close(struct mf_forest *forest);

/** Finds the clusters of this slab, and joins those of all ranks. Collective, agreed. Release @p joined even after a
 * refusal. */
int mf_forest_find(struct mf_forest *forest, int periodic, struct mf_joined *joined);
void mf_forest_release(struct mf_forest *forest, struct mf_joined *joined);

/** Smallest global index of a voxel of a cluster on this rank. */
int64_t mf_forest_first(const struct mf_forest *forest, const struct mf_local_cluster *cluster);

/** Properties of a cluster that meets others, combined over the ranks. */
enum { MF_KNOWN_SIZE, MF_KNOWN_PHASE, MF_KNOWN_TOUCH, MF_KNOWN_FIRST, MF_KNOWN };

/** *known [joined->count][MF_KNOWN], owned by the caller (job->arena). The roots get the combined properties of joined
 * clusters; the ranks' own entries become 0. Collective, agreed: MF_MEMORY. */
int mf_forest_merge(struct mf_forest *forest, struct mf_joined *joined, int64_t **known);

#endif
