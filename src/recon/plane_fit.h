/* The part of a gradient that is constant in planes: g = mean + a[z] + b[y] + c[x] + rest for every phase. Least
 * squares over what voxels can follow (kernels/meanfield.h) find it. */
#ifndef MF_RECON_PLANE_FIT_H
#define MF_RECON_PLANE_FIT_H

#include "kernels/meanfield.h"
#include "mpi/comm.h"
#include "mpi/slab.h"

struct mf_plane_fit {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    size_t phases;
    int32_t *table, *mirror; /* all of lines, device; what the host sees of it */
    struct mf_lines lines, seen;
    double *all;           /* of all ranks, queue->host */
    double *pair[3];       /* [pair][nz][ny], [pair][nz][nx], [pair][ny][nx] in all */
    double *sum[2];        /* [phase][nz][ny], [phase][nz][nx] in all */
    double *part[3];       /* [phase][extent]: the parts */
    double *total[3];      /* [phase][extent]: sums of the free gradient less the mean */
    double *number[3];     /* [pair][extent]: sums of pairs */
    float *off, *host_off; /* [phase][planes + ny + nx], device; its mirror */
};

/** Refuses with MF_MEMORY (not agreed); mf_plane_fit_close() accepts an incomplete one. */
int mf_plane_fit_open(struct mf_plane_fit *planes, const struct mf_comm *comm, struct mf_queue *queue,
                      const struct mf_slab *slab, size_t phases);
void mf_plane_fit_close(struct mf_plane_fit *planes);

/**
 * planes->off = level + mean + share * the parts of every plane, in device memory, for mf_meanfield_ops.move.
 * @param most  largest |gradient| that is expected; larger ones are cut
 * Collective. The same bits on any number of ranks and threads.
 */
void mf_plane_fit(struct mf_plane_fit *planes, const struct mf_probabilities *at, double most, double share);

#endif
