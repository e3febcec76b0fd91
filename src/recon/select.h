/* Choosing exactly so many voxels of a volume that lies over several ranks. */
#ifndef MF_RECON_SELECT_H
#define MF_RECON_SELECT_H

#include <stdint.h>

#include "mpi/slab.h"

/**
 * Marks the @p want voxels of largest score among those with open[i] != 0 (@p open NULL: all); equal scores go to the
 * smaller global index. score, open, chosen: [slab.count][ny][nx]; chosen[i] = 1 or 0. The same choice on any number of
 * ranks. @p want may not exceed the number of open voxels. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_select_top(const struct mf_comm *comm, const struct mf_slab *slab, const float *score, const uint8_t *open,
                  uint64_t want, uint8_t *chosen);

/** Splits @p voxels into phase counts that are nearest to fractions[phases] (largest remainder; they add up). Fractions
 * below 0 count as 0; one must be above. */
void mf_phase_counts(uint64_t voxels, size_t phases, const double *fractions, uint64_t *counts);

/**
 * The phase of every voxel of a field x [fields][slab.count][ny][nx] (1 field: indicator of phase 1 of two), such that
 * phase p has exactly counts[p] voxels: phases are dealt out by their lead over the other phases, the rarest first.
 * label [slab.count][ny][nx], 0..phases-1. Scratch: @p score one field of floats, @p work two of bytes. Collective;
 * MF_MEMORY.
 */
int mf_binarise(const struct mf_comm *comm, const struct mf_slab *slab, size_t fields, const float *x, size_t phases,
                const uint64_t *counts, float *score, uint8_t *work, uint8_t *label);

#endif
