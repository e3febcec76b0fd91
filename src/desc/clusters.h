/* Private to src/desc: which cluster a voxel is in. */
#ifndef MF_DESC_CLUSTERS_H
#define MF_DESC_CLUSTERS_H

#include "src/desc/measure.h"

/**
 * id[v], v an own voxel: a number that the voxels of its cluster have on all ranks, and no others (joined by faces;
 * job->periodic: across the border too). Collective; refuses (agreed) with MF_MEMORY, MF_INPUT (2^32 of them).
 */
int mf_clusters_name(const struct mf_measure_job *job, uint32_t *id);

#endif
