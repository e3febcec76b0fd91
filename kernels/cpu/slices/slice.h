/* Shared by the pointwise descriptors of slices on the cpu. Slices with contiguous rows are processed one at a time.
 * Slices with interleaved pixels (normal to x) go in groups, one slice per lane.
 * Rule: both add in the same order. */
#ifndef MF_KERNELS_CPU_SLICE_H
#define MF_KERNELS_CPU_SLICE_H

#include "kernels/cpu/cpu.h"
#include "kernels/form/compare.h"
#include "kernels/form/jump.h"

enum { MF_CPU_LANES = 32 }; /* most slices of a group */

/** Slices first .. first + lanes - 1. Pixel (u, v) of lane s is x[u * xu + v * xv + s], and g[u * gu + v * gv + s *
 * gs]. */
struct mf_cpu_group {
    size_t first, lanes, nu, nv;
    const float *x;
    size_t xu, xv;
    float *g; /* NULL: no gradient wanted */
    size_t gu, gv, gs;
    size_t wide; /* most lanes of a group of this batch, which the work area of one slot holds */
};

/**
 * Distributes the slices of a view to threads in groups of at most @p lanes. Groups processed at the same time have
 * different slots. All slots, of `wide` lanes each, fit into mf_cpu_room().
 */
void mf_cpu_groups(struct mf_queue *q, size_t lanes, const struct mf_view *x, const struct mf_view *g,
                   void (*work)(void *args, const struct mf_cpu_group *group, size_t slot), void *args);

/** Lanes of all slots together, for views of at most @p count_max slices. */
size_t mf_cpu_room(const struct mf_queue *q, size_t lanes, size_t count_max);

/** The term that is summed: p, |p - q|, or the smoothed |p - q| without its norm. */
enum mf_cpu_term { MF_CPU_VALUE, MF_CPU_HARD, MF_CPU_SOFT };

/** Pixels (r, i) of lane s at [r * step + i * stride + s], r < rows, i < n; stride 1 means one lane. */
struct mf_cpu_block {
    size_t rows, step, n, stride, lanes;
};

/** sum[lane] += the sum of the term of p and q over a block. */
void mf_cpu_block_sum(enum mf_cpu_term term, struct mf_jump jump, const struct mf_cpu_block *block, const float *p,
                      const float *q, double *sum);

/** The best number of rows of @p n pixels to sum at a time: even. */
size_t mf_cpu_band(size_t n);

/**
 * Compares one slice with its target (kernels/slices/slices.h). Writes task->sum and task->values of slice @p s, and
 * adds to task->tally. The result does not depend on threads.
 *
 * @param d in   [levels][entries] D
 *          out  scale dA/dD, 0 below the first level
 */
void mf_cpu_compare(const struct mf_slice_task *task, const struct mf_slice_desc *desc, size_t s, size_t entries,
                    double *d, int threads);

/** Means of 2 x 2 of nu x nv pixels, without a last odd row or column. Both @p coarse and @p fine may be one. */
void mf_cpu_coarsen(size_t nu, size_t nv, const float *fine, float *coarse);
/** The adjoint: every one of the nu x nv fine pixels += share * its coarse pixel. */
void mf_cpu_spread(size_t nu, size_t nv, float share, const float *coarse, float *fine);

/** Adds a row: g[i * gv + s * gs] += row[i * lanes + s]. */
void mf_cpu_row_add(const struct mf_cpu_group *group, size_t n, const float *row, float *g);

#endif
