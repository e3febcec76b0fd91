/* Pointwise operations on a slab [planes][plane] of floats, and sums over its planes.
 * Rule: a sum comes back per plane, in double, added in a fixed order. The caller adds planes in global order. So a sum
 * is bitwise the same on any number of ranks and threads.
 * Memory: x, y, g are device memory. Arrays out, grey and mean come from queue->host and are valid after sync(); shift
 * is read at the call. */
#ifndef MF_KERNELS_FIELD_H
#define MF_KERNELS_FIELD_H

#include <stdint.h>

#include "kernels/backend.h"

enum { MF_SIMPLEX_MAX = 32 };

/** A slab: @p planes planes of @p plane voxels for each of @p phases phases. Its numbers are x[phase][plane][voxel];
 * phases <= MF_SIMPLEX_MAX. */
struct mf_extent {
    size_t phases, planes, plane;
};

struct mf_field_ops {
    void (*fill)(struct mf_queue *q, size_t n, float value, float *x);
    void (*copy)(struct mf_queue *q, size_t n, const float *x, float *y);
    /** y += a x */
    void (*axpy)(struct mf_queue *q, size_t n, float a, const float *x, float *y);
    void (*scale)(struct mf_queue *q, size_t n, float a, float *x);
    /** x = min(max(x, lo), hi) */
    void (*clamp)(struct mf_queue *q, size_t n, float lo, float hi, float *x);
    /** out[plane] = sum over phases and voxels of x y */
    void (*dot)(struct mf_queue *q, struct mf_extent e, const float *x, const float *y, double *out);
    /** out[phase * planes + plane] = sum of x over the plane */
    void (*sum)(struct mf_queue *q, struct mf_extent e, const float *x, double *out);
    /**
     * Penalty of grey values and constraint of the means, added to the gradient in one pass over x:
     *   g[p] += lambda (1 - 2 x) + shift[p];  grey[plane] = sum x (1 - x);  mean[phase * planes + plane] = sum x
     * lambda and shift include their 1/N. grey and mean may be NULL when an earlier pass computed them.
     */
    void (*guide)(struct mf_queue *q, struct mf_extent e, float lambda, const float *shift, const float *x, float *g,
                  double *grey, double *mean);
    /** out[plane] = number of voxels with a phase strictly between @p lo and @p hi */
    void (*between)(struct mf_queue *q, struct mf_extent e, float lo, float hi, const float *x, double *out);
    /** Number of voxels of the slab that are not finite; waits for it. */
    size_t (*broken)(struct mf_queue *q, size_t n, const float *x);
    /** Euclidean projection of every voxel onto the simplex (phases > 1) or the box [0,1] (phases = 1). */
    void (*project)(struct mf_queue *q, struct mf_extent e, float *x);
};

#endif
