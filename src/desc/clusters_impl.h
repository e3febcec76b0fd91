/* The parts of cluster labelling: the clusters of each phase in this rank's slab, and the pairs that meet at slab
 * borders. Private to src/desc. */
#ifndef MF_DESC_CLUSTERS_IMPL_H
#define MF_DESC_CLUSTERS_IMPL_H

#include "src/desc/clusters.h"

/** What of a cluster this rank has. */
struct mf_local_cluster {
    int64_t size;
    uint32_t run; /* the first */
    uint8_t phase, touch;
};

#define MF_NO_CLUSTER UINT32_MAX

/** One of a list, and what the rank that it comes from calls it. */
struct mf_listed {
    struct mf_cluster is;
    int64_t id;
};

struct mf_forest {
    const struct mf_measure_job *job;
    int wanted;       /* 1 + the phase that is looked at; 0: all. Of one there are at most half as many clusters */
    size_t *row;      /* [rows + 1] first run of each row */
    uint32_t *start;  /* [runs] */
    uint32_t *parent; /* [runs], then the cluster of each, or MF_NO_CLUSTER */
    struct mf_local_cluster *cluster;
    size_t rows, runs, clusters;
    int64_t base; /* clusters of the ranks before */
};

/** All that meet at borders of slabs, ascending, and what became of them. */
struct mf_joined {
    int64_t *id;
    uint32_t *parent;
    size_t count;
};

/** The place of @p id among them, or NULL. */
const int64_t *mf_joined_find(const struct mf_joined *joined, int64_t id);

/** Finds the runs of forest->job. Local; MF_MEMORY, MF_INPUT; close accepts half a one. */
int mf_forest_open(struct mf_forest *forest);
void mf_forest_close(struct mf_forest *forest);

/** The clusters of this slab, and those of all ranks that are one. Collective, agreed; release whatever came of it. */
int mf_forest_find(struct mf_forest *forest, int periodic, struct mf_joined *joined);
void mf_forest_release(struct mf_forest *forest, struct mf_joined *joined);

/** The smallest voxel of a cluster here, by global index. */
int64_t mf_forest_first(const struct mf_forest *forest, const struct mf_local_cluster *cluster);

/** What the ranks know together of a cluster that meets others. */
enum { MF_KNOWN_SIZE, MF_KNOWN_PHASE, MF_KNOWN_TOUCH, MF_KNOWN_FIRST, MF_KNOWN };

/** *known [joined->count][MF_KNOWN], the caller's (job->arena): at the roots what the clusters that meet are together.
 * What is left of them on the ranks is 0. Collective, agreed: MF_MEMORY. */
int mf_forest_merge(struct mf_forest *forest, struct mf_joined *joined, int64_t **known);

#endif
