/* Matrix products in tiles that stay in registers. Gram matrices and convolutions on the cpu use them. */
#ifndef MF_KERNELS_CPU_TILE_H
#define MF_KERNELS_CPU_TILE_H

#include <stddef.h>

enum {
    MF_TILE_GROUP = 4,  /* rows of one constant stride */
    MF_TILE_GROUPS = 3, /* most groups of a tile */
    MF_TILE_ROWS = MF_TILE_GROUP * MF_TILE_GROUPS,
    MF_TILE_COLUMNS = 32
};

/**
 * c[m][n] += sum over k < depth of a[m / 4][m % 4 * row + k * step] b[k * width + n]. Here m < 4 groups, n < 32; c [4
 * groups][32]. Terms are summed in the order of k and then added to c. Splitting a long sum makes it more exact.
 */
typedef void mf_cpu_tile(size_t groups, size_t depth, const float *const *a, size_t row, size_t step, const float *b,
                         size_t width, float *c);

/** The i-th tile that this machine can run, the widest vectors first; NULL after the last. */
mf_cpu_tile *mf_cpu_tile_of(size_t i);

/**
 * The same for a with a constant stride and a contiguous b: c[m][n] = or, with @p add, += a sum. It is over k < depth
 * of a[m * row + k] b[k * 32 + n], m < rows <= 12; c [rows][32]. Prefetches the cache lines ahead [depth][16].
 */
typedef void mf_cpu_rows(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                         const float *ahead);

/** As mf_cpu_tile_of(). */
mf_cpu_rows *mf_cpu_rows_of(size_t i);

/** Twelve rows of one constant stride. */
static inline void mf_cpu_tile_rows(mf_cpu_tile *tile, size_t depth, const float *a, size_t row, size_t step,
                                    const float *b, size_t width, float *c)
{
    const float *const group[MF_TILE_GROUPS] = {a, a + MF_TILE_GROUP * row, a + 2 * MF_TILE_GROUP * row};

    tile(MF_TILE_GROUPS, depth, group, row, step, b, width, c);
}

#endif
