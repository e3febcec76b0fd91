/* Blocks of rows between a slab in device memory and packed rows: what slabs and whole slices are exchanged by. */
#ifndef MF_KERNELS_MOVE_H
#define MF_KERNELS_MOVE_H

#include "kernels/backend.h"

/** Rows of a slab: row k is the @p run floats from first + k * pitch on. Packed, rows follow each other. */
struct mf_block {
    size_t rows, run, pitch, first;
};

/** All run in the order of the queue. */
struct mf_move_ops {
    /** packed[k * run + i] = slab[first + k * pitch + i].  slab: device; packed: host [rows * run], any memory (also
     * such that several processes share). Complete on return as far as packed is concerned; so is add. */
    void (*pack)(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed);
    /** slab[first + k * pitch + i] += packed[k * run + i] */
    void (*add)(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab);
    /** The same two with packed rows in device memory; they do not wait. */
    void (*pack_device)(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed);
    void (*add_device)(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab);
};

#endif
