/* Steps of mean-field annealing (src/recon/meanfield.h). The phases x of voxels are probabilities, which projected
 * momentum descent drives to 0 or 1. One phase is a number in [0, 1], several are a point of the simplex.
 *
 * A voxel follows the part of its gradient that does not leave these (form/meanfield.h). The gradient is
 * g + slope (1 - 2 x) - level, with a slope and a level for every phase.
 * Pairs of phases p <= q are numbered (0,0), (0,1), ... (1,1), ...: mf_pair().
 * Rule: sums over lines are sums of integers, so the order of additions does not matter. Sums over planes are added in
 * a fixed order. Memory: x, g, v, fixed, off and tables are device memory. x, g and v are [phase][plane][ny][nx]. out
 * comes from queue->host and is valid after sync(). Arrays in structs are read at the call. */
#ifndef MF_KERNELS_MEANFIELD_H
#define MF_KERNELS_MEANFIELD_H

#include "kernels/field.h"

enum {
    MF_MEANFIELD_PHASES = 6,
    MF_MEANFIELD_PAIRS = MF_MEANFIELD_PHASES * (MF_MEANFIELD_PHASES + 1) / 2,
    MF_PAIR_UNIT = 60, /* of sums of pairs over lines; a multiple of 1 to MF_MEANFIELD_PHASES */
    MF_LINE_BITS = 18,
    MF_LINE_MOST = (1 << (31 - MF_LINE_BITS)) - 1, /* voxels of a line */
    MF_MEANFIELD_VALUES = MF_MEANFIELD_PHASES + MF_MEANFIELD_PAIRS + 1
};

static inline size_t mf_pairs(size_t phases) { return phases * (phases + 1) / 2; }
static inline size_t mf_pair(size_t phases, size_t p, size_t q)
{
    return p < q ? p * phases - p * (p + 1) / 2 + q : q * phases - q * (q + 1) / 2 + p;
}

/** Where a field stands; the slab has n[3] = {planes, ny, nx}. */
struct mf_probabilities {
    size_t phases, n[3];
    const float *x, *g;
    const uint8_t *fixed; /* NULL: none is */
    float slope[MF_MEANFIELD_PHASES], level[MF_MEANFIELD_PHASES];
};

/** Sums over the lines of a slab along x, y and z. Array pair has those of pairs of phases (form/meanfield.h). Array
 * sum has those of the free gradient times a scale, rounded; numbers above 2^MF_LINE_BITS are cut. */
struct mf_lines {
    int32_t *pair_x, *sum_x; /* [pair or phase][planes][ny] */
    int32_t *pair_y, *sum_y; /* [pair or phase][planes][nx] */
    int32_t *pair_z;         /* [pair][ny][nx] */
};

struct mf_meanfield_ops {
    /** Of the phases of a voxel that are not at a bound, without level: out[plane] [phases + pairs + 1] = sums of the
     * free gradient, sums of pairs; max |gradient| of all phases. */
    void (*inner)(struct mf_queue *q, const struct mf_probabilities *at, double *out);
    void (*lines)(struct mf_queue *q, const struct mf_probabilities *at, float scale, const struct mf_lines *lines);
    /**
     * v = x + momentum v - rate (g + slope (1 - 2 x) - off), not yet probabilities; fixed voxels stay.
     * off of a voxel: off[z] + off[planes + y] + off[planes + ny + x], for every phase [phase][planes + ny + nx].
     * out: as shifted().
     */
    void (*move)(struct mf_queue *q, const struct mf_probabilities *at, float momentum, float rate, const float *off,
                 const float *shift, float *v, double *out);
    /** Takes the nearest probabilities to v - shift [phases]: out[plane] [phases + pairs] = their sums, sums of
     * pairs. */
    void (*shifted)(struct mf_queue *q, struct mf_extent e, const float *shift, const float *v, double *out);
    /** x = the nearest probabilities to v - shift [phases]; v = the change of x; out[plane][phase] = sum x (1 - x) */
    void (*settle)(struct mf_queue *q, struct mf_extent e, const float *shift, float *x, float *v, double *out);
};

#endif
