/* Finds at which shift two periodic fields differ least. Is one a copy of the other that was moved?
 * Rule: all memory is the host's, and the host computes. The queue brings threads and memory. A result depends on the
 * two fields alone. */
#ifndef MF_KERNELS_SHIFTS_H
#define MF_KERNELS_SHIFTS_H

#include <stddef.h>

#include "kernels/backend.h"

/** The shift s at which sum over v and channels of (a(v + s) - b(v))^2 is least. The first of equal ones counts. */
struct mf_shift {
    double square; /* that sum; below 2^20 voxels its error is below 0.2 where values are 0 and 1 */
    size_t at;     /* s as the number of a voxel: (sz ny + sy) nx + sx */
};

struct mf_shifts;

/**
 * Begins with room for @p queries fields a of dims {nz, ny, nx} voxels, with so many channels. Correlations are
 * products of spectra: one inverse transform for each pair of fields. Take the mean off values first, as it costs
 * digits. Memory: the spectra of the queries, from queue->host. MF_MEMORY. Local.
 */
int mf_shifts_open(struct mf_queue *queue, const size_t dims[3], size_t channels, size_t queries,
                   struct mf_shifts **shifts);
void mf_shifts_close(struct mf_shifts *shifts); /* NULL is accepted */

/** Sets field @p k: x [nz][ny][nx][channels]. */
void mf_shifts_query(struct mf_shifts *shifts, size_t k, const float *x);

/** Compares field b, x [nz][ny][nx][channels], with all that are set: found [queries]. */
void mf_shifts_near(struct mf_shifts *shifts, const float *x, struct mf_shift *found);

#endif
