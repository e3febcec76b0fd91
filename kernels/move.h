/* Blocks of rows between a slab in device memory and packed rows in host memory: what slabs and whole slices are
 * exchanged by. */
#ifndef MF_KERNELS_MOVE_H
#define MF_KERNELS_MOVE_H

#include "kernels/backend.h"

/** Rows of a slab: row k is the @p run floats from first + k * pitch on. Packed, rows follow each other. */
struct mf_block {
    size_t rows, run, pitch, first;
};

/** Both run in the order of the queue and are complete on return as far as @p packed is concerned, which is any host
 * memory (also memory that several processes share). */
struct mf_move_ops {
    /** packed[k * run + i] = slab[first + k * pitch + i].  slab: device; packed: host [rows * run] */
    void (*pack)(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed);
    /** slab[first + k * pitch + i] += packed[k * run + i] */
    void (*add)(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab);
};

#endif
