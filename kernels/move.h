/* Copies blocks of rows between a slab in device memory and packed rows. Ranks exchange planes and slices as such rows.
 * Rule: all copies run in the order of the queue. */
#ifndef MF_KERNELS_MOVE_H
#define MF_KERNELS_MOVE_H

#include "kernels/backend.h"

/** Rows of a slab: row k is the @p run floats from first + k * pitch on. Packed rows are contiguous. */
struct mf_block {
    size_t rows, run, pitch, first;
};

/** All run in the order of the queue. */
struct mf_move_ops {
    /** packed[k * run + i] = slab[first + k * pitch + i]. The slab is device memory. The array packed is host memory
     * [rows * run] of any kind, also shared by processes. On return packed is complete (pack) or free for reuse
     * (add). */
    void (*pack)(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed);
    /** slab[first + k * pitch + i] += packed[k * run + i] */
    void (*add)(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab);
    /** The same two with packed in device memory; they do not wait. */
    void (*pack_device)(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed);
    void (*add_device)(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab);
};

#endif
