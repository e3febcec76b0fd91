/* Binary fields packed 64 voxels to a word: exact integer two-point counts, and the energies of single flips for swap
 * polish.
 * Rule: all arrays are in host memory and the host computes, whatever the back end. The queue provides threads and
 * memory. */
#ifndef MF_KERNELS_BITS_H
#define MF_KERNELS_BITS_H

#include <stdint.h>

#include "kernels/backend.h"

/**
 * A packed slab with its halo: row (z, y) is @p words words. Voxel x is in bit x % 64 of word x / 64, and spare bits
 * are 0. Rows of planes -0 .. planes + halo: planes behind the slab are the next planes in z (periodic) or missing.
 */
struct mf_bits {
    const uint64_t *row; /* [planes + halo][ny][words] */
    size_t planes, halo; /* own planes; planes that follow them */
    size_t ny, nx, words;
};

struct mf_bits_ops {
    /**
     * Packs labels: bit = (label == phase).  label: [rows][nx], bits: [rows][words], words = ceil(nx / 64).
     */
    void (*pack)(struct mf_queue *q, size_t rows, size_t nx, const uint8_t *label, uint8_t phase, uint64_t *bits);
    /**
     * Two-point counts of all slices with normals z, y, x, summed over the slices, for first points in the own planes:
     *   count[normal][(du + L-1) * (2L-1) + dv + L-1] += #{p : a(p) and b(p + r)}
     * with r = (du, dv) in that normal's plane (z: (y,x), y: (z,x), x: (z,y)). a = b gives the autocorrelation. For du
     * < 0 along z the pair is counted at its partner, so only planes after the slab are needed. That is halo >= L-1, or
     * halo 0 where the slab is the whole volume, which then wraps by itself.
     *
     * All axes are periodic, or none is. If none, only pairs inside count, and @p z0, @p nz give the slab's position.
     * normals: bit mask 1 z, 2 y, 4 x. count has three windows; those of other normals stay unchanged. Lags are below
     * the extents. Counts are exact. Not collective; may refuse with MF_MEMORY (each thread's counters from
     * queue->host).
     */
    int (*count)(struct mf_queue *q, const struct mf_bits *a, const struct mf_bits *b, size_t lag, int periodic,
                 size_t z0, size_t nz, int normals, int64_t *count);
    /** Most bytes of queue->host that count() of such fields uses; @p same: a = b. Does not read a->row. */
    size_t (*count_bytes)(const struct mf_queue *q, const struct mf_bits *a, int same, size_t lag, int normals);
};

extern const struct mf_bits_ops mf_bits_cpu;

#endif
