/* How far one conductivity of one volume is to be trusted. Its voxels may be too coarse, and another volume of the same
 * structure would give another number. Rule: results have the same bits on any number of ranks. */
#ifndef MF_PROP_ERROR_H
#define MF_PROP_ERROR_H

#include "src/prop/conduct.h"

enum { MF_CONDUCT_CUTS = 2 };

/** Conductivities of equal parts of a volume. */
struct mf_conduct_parts {
    size_t count;           /* 0: the volume is too small to be cut so */
    double edge;            /* cube root of their voxels; of an image the square root */
    double mean, deviation; /* of their conductivities */
};

struct mf_conduct_sample {
    struct mf_conduct_parts parts[MF_CONDUCT_CUTS]; /* cut in 2, in 4 along each axis */
    double edge;                                    /* of the whole */
    double deviation;                               /* expected of volumes as large as the whole; NAN: unknown */
    double rate;                                    /* deviations fall as edge^-rate */
};

/**
 * The error of the grid. The volume is solved again with blocks of 2 and of 4 voxels as one voxel (k2, k4). A block has
 * its most frequent phase. Errors of a staircase are of first order. So the error is 1.5 times the larger of |k - k2|
 * and |k2 - k4| / 2. NAN: the volume has too few voxels. Collective; refuses (agreed) as mf_conduct().
 */
int mf_conduct_grid_error(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                          const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts, double k,
                          double *error);

/**
 * The error of the sample: conductivities of parts, each solved by one rank. Periods are cut into parts between plates.
 * The deviation of parts falls with their edge. It goes on to the whole at the rate seen, or at that of independent
 * parts if that is slower. Collective; refuses (agreed) as mf_conduct().
 */
int mf_conduct_sample_error(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                            const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts,
                            struct mf_conduct_sample *out);

/**
 * Does a volume continue behind its faces along @p axis? The share of voxels whose phase differs from that of the voxel
 * before is *inside. The same of the first plane, with the last one before it, is *seam. Collective; refuses (agreed)
 * with MF_MEMORY.
 */
int mf_conduct_seam(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int axis,
                    double *seam, double *inside);

/** The edge [voxels] of volumes whose conductivities deviate by @p share of @p k. The rate is that of the sample. It
 * is no less than that of the smallest parts. NAN: unknown. Local. */
double mf_conduct_edge_for(const struct mf_conduct_sample *sample, double k, double share);

#endif
