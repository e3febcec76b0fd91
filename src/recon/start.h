/* Start fields of the optimisation. Fields are [fields][slab.count][ny][nx] in device memory, which the host reaches
 * through a stage of planes [ny][nx]. Without a stage (NULL) they are host memory. */
#ifndef MF_RECON_START_H
#define MF_RECON_START_H

#include <stdint.h>

#include "io/micro.h"
#include "kernels/stage.h"

enum { MF_START_CELLS = 3 /* an image of cells has at least so many */ };

/**
 * Noise around the volume fractions: x_p = clamp(fraction_p + 0.1 N(0, 1)), keyed by seed and global voxel index. The
 * same field on any number of ranks. @p fraction: [fields]. Not collective.
 */
void mf_start_noise(const struct mf_slab *slab, size_t fields, const double *fraction, uint64_t seed,
                    const struct mf_stage *stage, float *x);

/**
 * Layers in a volume: plane waves around the volume fractions of two phases (1 or 2 fields), with whole periods along
 * every axis and so turned that slices of all three directions see @p wanted periods a voxel, as nearly as may be: none
 * is an axis', for one of the slices would see a spot of it. Returns how many waves; 0 where none that fits into the
 * volume was found: @p x is as it was then. Keyed by seed. The same field on any number of ranks. Not collective.
 */
size_t mf_start_layers(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, uint64_t seed,
                       const struct mf_stage *stage, float *x);

/**
 * Cells in an image: walls of the rarer of two phases (1 or 2 fields), as much of it as there is, between @p wanted
 * random points a pixel, where two of them are equally near; across the borders too. Waves about as long as a cell move
 * the walls by @p bend of a cell's edge (root mean square; 0: they are straight). Returns how many cells; below
 * MF_START_CELLS of them 0: @p x is as it was then. Keyed by seed. Not collective; MF_MEMORY ends the job.
 */
size_t mf_start_cells(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, double bend,
                      uint64_t seed, const struct mf_stage *stage, float *x);

/** The indicator of phase 1 (1 field) or of every phase from labels [slab.count][ny][nx], all in host memory. Not
 * collective. */
void mf_start_labels(const struct mf_slab *slab, size_t fields, const uint8_t *label, float *x);

/** The same into a field where the labels are phases; where they are MF_PHASE_FREE it stays. Not collective. */
void mf_start_fixed(const struct mf_slab *slab, size_t fields, const uint8_t *fixed, const struct mf_stage *stage,
                    float *x);

/**
 * Bytes of host memory that mf_start_refine() has in use for a moment: planes of one field, and on a queue whose device
 * memory is apart (@p apart) those that other ranks ask for. Not collective.
 */
size_t mf_start_bytes(const struct mf_comm *comm, const struct mf_slab *from, const struct mf_slab *slab, int apart);

/**
 * A coarse field on a finer (or any other) grid by periodic trilinear interpolation between cell centres. @p from lies
 * over the same ranks; @p coarse is device memory of @p queue, or (@p queue NULL) host memory. Takes scratch from the
 * stage's queue. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_start_refine(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *from, const float *coarse,
                    const struct mf_slab *slab, size_t fields, const struct mf_stage *stage, float *x);

#endif
