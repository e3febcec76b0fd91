/* The part of a gradient that is constant in planes: g = mean + a[z] + b[y] + c[x] + rest, by least squares over the
 * voxels that may move (kernels/meanfield.h). */
#ifndef MF_RECON_PLANE_FIT_H
#define MF_RECON_PLANE_FIT_H

#include "kernels/meanfield.h"
#include "mpi/comm.h"
#include "mpi/slab.h"

struct mf_plane_fit {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    int32_t *table, *mirror; /* all of lines, device; what the host sees of it */
    struct mf_lines lines, seen;
    int64_t *count[3], *sum[2]; /* [nz][ny], [nz][nx], [ny][nx] of all ranks; sums of the first two; queue->host */
    double *part[3], *total[3]; /* [nz], [ny], [nx]: the parts; sum of g less the mean */
    int64_t *number[3];         /* voxels that may move in every plane */
    float *off, *host_off;      /* [planes + ny + nx], device; its mirror */
};

/** Refuses with MF_MEMORY (not agreed); mf_plane_fit_close() accepts an incomplete one. */
int mf_plane_fit_open(struct mf_plane_fit *planes, const struct mf_comm *comm, struct mf_queue *queue,
                      const struct mf_slab *slab);
void mf_plane_fit_close(struct mf_plane_fit *planes);

/**
 * planes->off = mean + share * the parts of every plane, in device memory, for mf_meanfield_ops.move.
 * @param x, g, fixed  [slab], device
 * @param level        of mf_meanfield_ops.lines
 * @param most         largest |g| of the volume
 * Collective. The same bits on any number of ranks and threads.
 */
void mf_plane_fit(struct mf_plane_fit *planes, const float *x, const float *g, const uint8_t *fixed, float level,
                  double most, double share);

#endif
