/* Products of matrices in tiles that stay in registers: what Gram matrices and convolutions on the cpu share. */
#ifndef MF_KERNELS_CPU_TILE_H
#define MF_KERNELS_CPU_TILE_H

#include <stddef.h>

enum {
    MF_TILE_GROUP = 4,  /* rows that lie at one distance from each other */
    MF_TILE_GROUPS = 3, /* most groups of a tile */
    MF_TILE_ROWS = MF_TILE_GROUP * MF_TILE_GROUPS,
    MF_TILE_COLUMNS = 32
};

/**
 * c[m][n] += sum over k < depth of a[m / 4][m % 4 * row + k * step] b[k * width + n], m < 4 groups, n < 32; c
 * [4 groups][32]. The sum is taken in the order of k, then added: a long one is as exact as its parts are short.
 */
typedef void mf_cpu_tile(size_t groups, size_t depth, const float *const *a, size_t row, size_t step, const float *b,
                         size_t width, float *c);

/** Those that this machine can run, from the widest vectors on; behind the last NULL. */
mf_cpu_tile *mf_cpu_tile_of(size_t i);

/**
 * The same where one matrix has rows at one distance and the other lies in a piece, c[m][n] = or, with @p add, += sum
 * over k < depth of a[m * row + k] b[k * 32 + n], m < rows <= 12; c [rows][32]. Meanwhile the lines ahead [depth][16]
 * are asked for, which are somewhere in memory.
 */
typedef void mf_cpu_rows(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                         const float *ahead);

/** As mf_cpu_tile_of(). */
mf_cpu_rows *mf_cpu_rows_of(size_t i);

/** Twelve rows at one distance. */
static inline void mf_cpu_tile_rows(mf_cpu_tile *tile, size_t depth, const float *a, size_t row, size_t step,
                                    const float *b, size_t width, float *c)
{
    const float *const group[MF_TILE_GROUPS] = {a, a + MF_TILE_GROUP * row, a + 2 * MF_TILE_GROUP * row};

    tile(MF_TILE_GROUPS, depth, group, row, step, b, width, c);
}

#endif
