/* The search for nearest patches on the cpu. */
#ifndef MF_KERNELS_CPU_PATCH_H
#define MF_KERNELS_CPU_PATCH_H

#include <stdint.h>

#include "kernels/cpu/cpu.h"
#include "kernels/slices/patch.h"

/** Patches as points: coordinate c of slot s at at[(s / LANES * PARTS + c) * LANES + s % LANES]. */
struct mf_patch_points {
    size_t slots;
    float *at, *norm; /* norm [slots]: squared length; very large for a slot without a patch */
};

enum {
    MF_PATCH_FEW = 12
}; /* coordinates that most pairs are told apart by: of blobs three in four, with 8 six in ten */

/** Coordinates of all patches of an image, those of a patch side by side: row [slots][PARTS]; 0 without a patch. */
void mf_patch_project_rows(int threads, const struct mf_team *team, const struct mf_patch_image *image,
                           const float *axes, float *row);

/** Coordinates of all patches of an image; points->at [slots * PARTS], points->norm [slots]. */
void mf_patch_project(int threads, const struct mf_patch_image *image, const float *axes,
                      const struct mf_patch_points *points);

/** Compares some rows with some columns, by the vectors of an instruction set (patch_search.c). */
struct mf_patch_block;
typedef void mf_patch_search(struct mf_patch_block *block, float *column, int32_t *row);

/** The searches that this machine can run, the widest vectors first; NULL after the last. */
mf_patch_search *mf_patch_search_of(size_t i);

/** Numbers of the work area of mf_patch_nearest() for so many threads. */
size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns);
/**
 * Nearest neighbours in both directions, exact in these coordinates; among equally near ones the first. The result is
 * the same on any number of threads. Searches with fused multiply-add may choose differently among nearly equal ones.
 *
 * @param row     [rows->slots]: a slot of columns. In: any slots with patches; near ones, as from the last search, make
 *                the search faster
 * @param column  [columns->slots]: a slot of rows, likewise
 * @param work    64-byte aligned
 */
void mf_patch_nearest(mf_patch_search *search, int threads, const struct mf_patch_points *rows,
                      const struct mf_patch_points *columns, float *work, int32_t *row, int32_t *column);

/** Numbers of the work area of mf_patch_pull_sums() for so many threads. */
size_t mf_patch_pull_room(const struct mf_patch_image *slice, int threads);
/**
 * The pull of all patches' neighbours on a slice's pixels, with the same bits on any number of threads. Sums [1 + 2
 * phases][pixels] are weights, weighted neighbours, and their squares.
 *
 * @param weight  [PIXELS], of a patch
 * @param row     for every slot of the slice a slot of the example
 * @param column  for every slot of the example a slot of the slice
 */
void mf_patch_pull_sums(int threads, const struct mf_team *team, const struct mf_patch_level *is, const float *weight,
                        const int32_t *row, const int32_t *column, float *work, float *sums);

#endif
