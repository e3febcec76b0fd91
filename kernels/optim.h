/* Vector operations of the optimisers, fused: each function is one pass over the slab.
 * Rule: projection keeps a point in the box [0,1] (one phase) or on the simplex (several phases). Sums per plane are as
 * in kernels/field.h.
 * Memory: vectors and the history are device memory. Array out comes from queue->host and is valid after sync(); c is
 * read at the call. */
#ifndef MF_KERNELS_OPTIM_H
#define MF_KERNELS_OPTIM_H

#include "kernels/field.h"
#include "kernels/form/rules.h"

enum { MF_HISTORY_MAX = 16 };

/** The last @p count pairs of a quasi-Newton method, newest first, each a slab. */
struct mf_history {
    size_t count;
    float *s[MF_HISTORY_MAX], *y[MF_HISTORY_MAX];
};

struct mf_optim_ops {
    /**
     * Dot products of the free gradient r with the history and with itself. r = g where a voxel may move. r = 0 where x
     * is at a bound and -g points out. Several phases: r is the gradient projected onto the tangent cone of the
     * simplex.
     *   out[plane][0] = r.r;  out[plane][1 + i] = s_i.r;  out[plane][1 + count + i] = y_i.r
     */
    void (*free_dots)(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, double *out);
    /**
     * The direction d = -(c[0] r + sum_i c[1 + i] s_i + c[1 + count + i] y_i), with 0 where r is held at a bound.
     * Several phases: its mean over the free phases of the voxel is subtracted, so that it stays in the plane of the
     * simplex.
     *   out[plane][0] = d.g;  out[plane][1] = max |d| (not a sum)
     */
    void (*direction)(struct mf_queue *q, struct mf_extent e, const float *x, const float *g,
                      const struct mf_history *h, const double *c, float *d, double *out);
    /** x_new = P(x + step d);  out[plane] = g.(x_new - x) */
    void (*step)(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const float *d, double step,
                 float *x_new, double *out);
    /**
     * The new pair s = x_new - x, y = g_new - g, and the dot products that the recursion needs:
     *   out[plane][0] = s.y;  [1] = y.y;  [2 + 2i] = s_i.y;  [3 + 2i] = s.y_i ;  [2 + 2 count + i] = y_i.y  (old pairs)
     * s and y must not be among h's.
     */
    void (*pair)(struct mf_queue *q, struct mf_extent e, const float *x, const float *x_new, const float *g,
                 const float *g_new, const struct mf_history *h, float *s, float *y, double *out);
    /** One step of a first-order rule (kernels/form/rules.h) with projection. Arrays m and v are in/out; NULL if the
     * rule has none. */
    void (*adapt)(struct mf_queue *q, struct mf_extent e, const struct mf_rule *rule, const float *g, float *m,
                  float *v, float *x);
};

#endif
