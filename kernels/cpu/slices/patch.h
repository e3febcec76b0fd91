/* The search for nearest patches on the cpu. */
#ifndef MF_KERNELS_CPU_PATCH_H
#define MF_KERNELS_CPU_PATCH_H

#include <stdint.h>

#include "kernels/cpu/cpu.h"
#include "kernels/slices/patch.h"

/** Patches as points: coordinate c of slot s at at[(s / LANES * PARTS + c) * LANES + s % LANES]. */
struct mf_patch_points {
    size_t slots;
    float *at, *norm; /* norm [slots]: squared length; far away where a slot holds no patch */
};

/** Coordinates of all patches of an image; points->at [slots * PARTS], points->norm [slots]. */
void mf_patch_project(int threads, const struct mf_patch_image *image, const float *axes,
                      const struct mf_patch_points *points);

/** Some rows against some columns, by the vectors of an instruction set (patch_search.c). */
struct mf_patch_block;
typedef void mf_patch_search(struct mf_patch_block *block, float *column, int32_t *row);

/** Those that this machine can run, from the widest vectors on; behind the last NULL. */
mf_patch_search *mf_patch_search_of(size_t i);

/** Numbers of the work area of mf_patch_nearest() for so many threads. */
size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns);
/**
 * Nearest neighbours both ways, exact in these coordinates, of equally near ones the first; the same on any number of
 * threads; searches that fuse products may choose otherwise among nearly equal ones.
 *
 * @param row     [rows->slots]: a slot of columns. In: any that hold patches; the nearer they are, as those of a search
 *                before, the less is looked at
 * @param column  [columns->slots]: a slot of rows, likewise
 * @param work    64-byte aligned
 */
void mf_patch_nearest(mf_patch_search *search, int threads, const struct mf_patch_points *rows,
                      const struct mf_patch_points *columns, float *work, int32_t *row, int32_t *column);

/** Numbers of the work area of mf_patch_pull_sums() for so many threads. */
size_t mf_patch_pull_room(const struct mf_patch_image *slice, int threads);
/**
 * What all patches' neighbours pull a slice's pixels to, the same bits on any number of threads: sums
 * [1 + 2 phases][pixels] of weights, of weighted neighbours and of their squares.
 *
 * @param weight  [PIXELS], of a patch
 * @param row     of every slot of the slice a slot of the example
 * @param column  of every slot of the example a slot of the slice
 */
void mf_patch_pull_sums(int threads, const struct mf_patch_level *is, const float *weight, const int32_t *row,
                        const int32_t *column, float *work, float *sums);

#endif
