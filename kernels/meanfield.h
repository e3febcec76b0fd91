/* Steps of mean-field annealing: voxels of a field x of one phase are independent probabilities in [0, 1], which
 * projected momentum descent drives to 0 or 1 (src/recon/meanfield.h). A voxel may move if 0 < x < 1, or if the
 * gradient g pulls it inwards compared with a level: x = 0 and g < level, x = 1 and g > level. Rule: sums over lines
 * and planes are sums of integers, so they do not depend on the order of additions. Memory: x, g, v, fixed, off and
 * tables are device memory; out comes from queue->host and is valid after sync(). */
#ifndef MF_KERNELS_MEANFIELD_H
#define MF_KERNELS_MEANFIELD_H

#include "kernels/field.h"

enum { MF_INNER_VALUES = 4, MF_LINE_BITS = 18, MF_LINE_MOST = 1 << (31 - MF_LINE_BITS) /* voxels of a line */ };

/** Sums of the voxels that may move over lines of a slab n[3] = {planes, ny, nx}: lines along x, along y, along z. */
struct mf_lines {
    int32_t *count_x, *sum_x; /* [planes][ny]: number, and sum of g scale rounded to integers; |g| scale <= 2^18 */
    int32_t *count_y, *sum_y; /* [planes][nx] */
    int32_t *count_z;         /* [ny][nx] */
};

struct mf_meanfield_ops {
    /** out[plane][0] = sum of g where 0 < x < 1; [1] = number of these voxels; [2] = sum x (1 - x); [3] = max |g| */
    void (*inner)(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, double *out);
    /** Lines of the voxels that may move; voxels of @p fixed (NULL: none) that are a phase may not. */
    void (*lines)(struct mf_queue *q, const size_t n[3], const float *x, const float *g, const uint8_t *fixed,
                  float level, float scale, const struct mf_lines *lines);
    /**
     * v = x + momentum v - rate (g - off[z] - off[planes + y] - off[planes + ny + x]), not yet in [0, 1]; at fixed
     * voxels infinite, with the sign that leaves x as it is.
     */
    void (*move)(struct mf_queue *q, const size_t n[3], float momentum, float rate, const float *off, const float *x,
                 const float *g, const uint8_t *fixed, float *v);
    /** Of clip(v - shift) to [0, 1]: out[plane][0] = its sum; [1] = number of voxels inside. */
    void (*shifted)(struct mf_queue *q, struct mf_extent e, float shift, const float *v, double *out);
    /** x = clip(v - shift); v = the change of x; out[plane] = sum x (1 - x) */
    void (*settle)(struct mf_queue *q, struct mf_extent e, float shift, float *x, float *v, double *out);
};

#endif
