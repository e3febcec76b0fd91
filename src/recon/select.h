/* Selects exactly the wanted number of voxels with the largest scores, from a volume distributed over ranks. The
 * selection is the same on any number of ranks. */
#ifndef MF_RECON_SELECT_H
#define MF_RECON_SELECT_H

#include <stdint.h>

#include "io/micro.h"
#include "kernels/labels.h"
#include "kernels/select.h"
#include "mpi/slab.h"

/** Length of the work memory (from queue->host) that the functions below need: their argument @p room. Not
 * collective. */
size_t mf_select_room(const struct mf_comm *comm, const struct mf_slab *slab);

/**
 * Finds the @p want voxels of largest score. If fewer take part (kernels/select.h), finds those. Among equal scores the
 * smaller global index wins, so the choice is the same on any number of ranks. score: [slab.count][ny][nx], device.
 * Returns the number on all ranks together; choice: this rank's. Collective.
 */
uint64_t mf_select_top(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                       const float *score, uint64_t want, int64_t *room, struct mf_choice *choice);

/** Splits @p voxels into the phase counts nearest to fractions[phases] (largest remainder); the counts sum to @p
 * voxels. Fractions below 0 count as 0; one must be above 0. */
void mf_phase_counts(uint64_t voxels, size_t phases, const double *fractions, uint64_t *counts);

/**
 * Assigns a phase to every voxel of a field x [fields][slab.count][ny][nx] (1 field: indicator of phase 1 of two).
 * Phase p gets exactly counts[p] voxels. Phases choose voxels by their lead over the other phases, the rarest phase
 * first.
 *
 * label [slab.count][ny][nx], in: MF_LABEL_OPEN, or a phase to keep, which is not among the counts (1 field: x is
 * -INFINITY there); out: 0..phases-1. Scratch: @p score, one field (1 field: NULL). x, score, label: device.
 * Collective.
 */
void mf_binarise(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t fields,
                 const float *x, size_t phases, const uint64_t *counts, float *score, int64_t *room, uint8_t *label);

#endif
