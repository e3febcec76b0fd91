/* Initial fields of the optimisation. They are [fields][slab.count][ny][nx] in device memory, which the host accesses
 * through a stage of planes [ny][nx]. Without a stage (NULL) they are host memory. */
#ifndef MF_RECON_START_H
#define MF_RECON_START_H

#include <stdint.h>

#include "io/micro.h"
#include "kernels/stage.h"

enum { MF_START_CELLS = 3 /* an image of cells has at least so many */ };

/**
 * Noise around the volume fractions: x_p = clamp(fraction_p + 0.1 N(0, 1)), keyed by seed and global voxel index. The
 * same field on any number of ranks. @p fraction: [fields]. Where a host asks for the end, this and the next one leave
 * the field unfinished: ask mf_pulse_all(). Not collective.
 */
void mf_start_noise(const struct mf_slab *slab, size_t fields, const double *fraction, uint64_t seed,
                    const struct mf_stage *stage, float *x);

/**
 * Layers in a volume: plane waves around the volume fractions of two phases (1 or 2 fields), with whole periods along
 * every axis. Their directions are such that slices of all three directions have about @p wanted periods per voxel. No
 * wave is parallel to an axis, because slices normal to it would be uniform. Returns the number of waves. 0: none fits
 * the volume, and @p x is unchanged. Keyed by seed. The same field on any number of ranks. Not collective.
 */
size_t mf_start_layers(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, uint64_t seed,
                       const struct mf_stage *stage, float *x);

/**
 * Cells in an image: walls of the rarer of two phases (1 or 2 fields) between @p wanted random points per pixel. The
 * walls are where two points are equally near, across the borders too, and they take up that phase's volume fraction.
 * Waves about as long as a cell displace the walls by @p bend of a cell's edge (root mean square; 0: straight walls).
 * The number of cells goes to *cells. 0: fewer than MF_START_CELLS, and @p x is unchanged. Keyed by seed. Not
 * collective; MF_MEMORY.
 */
int mf_start_cells(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, double bend,
                   uint64_t seed, const struct mf_stage *stage, float *x, size_t *cells);

/** The indicator of phase 1 (1 field) or of every phase from labels [slab.count][ny][nx], all in host memory. Not
 * collective. */
void mf_start_labels(const struct mf_slab *slab, size_t fields, const uint8_t *label, float *x);

/** The same, only where the labels are phases; where they are MF_PHASE_FREE the field is unchanged. Not collective. */
void mf_start_fixed(const struct mf_slab *slab, size_t fields, const uint8_t *fixed, const struct mf_stage *stage,
                    float *x);

/**
 * Bytes of host memory that mf_start_refine() uses for a short time: planes of one field and, with separate device
 * memory (@p apart), planes for other ranks. Not collective.
 */
size_t mf_start_bytes(const struct mf_comm *comm, const struct mf_slab *from, const struct mf_slab *slab, int apart);

/**
 * Interpolates a coarse field to a finer (or any other) grid: periodic, trilinear, between cell centres. @p from is
 * distributed over the same ranks. @p coarse is device memory of @p queue, or (@p queue NULL) host memory. Takes
 * scratch from the stage's queue. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_start_refine(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *from, const float *coarse,
                    const struct mf_slab *slab, size_t fields, const struct mf_stage *stage, float *x);

#endif
