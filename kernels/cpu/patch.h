/* The search for nearest patches on the cpu. */
#ifndef MF_KERNELS_CPU_PATCH_H
#define MF_KERNELS_CPU_PATCH_H

#include <stdint.h>

#include "kernels/cpu/cpu.h"
#include "kernels/patch.h"

/** Patches as points: coordinate c of slot s at at[(s / LANES * PARTS + c) * LANES + s % LANES]. */
struct mf_patch_points {
    size_t slots;
    float *at, *norm; /* norm [slots]: squared length; far away where a slot holds no patch */
};

/** Coordinates of all patches of an image; points->at [slots * PARTS], points->norm [slots]. */
void mf_patch_project(int threads, const struct mf_patch_image *image, const float *axes,
                      const struct mf_patch_points *points);

/** Numbers of the work area of mf_patch_nearest() for so many threads. */
size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns);
/**
 * Nearest neighbours both ways, exact in these coordinates, of equally near ones the first; the same on any number of
 * threads. row [rows->slots]: a slot of columns; column [columns->slots]: a slot of rows. @p work: 64-byte aligned.
 */
void mf_patch_nearest(int threads, const struct mf_patch_points *rows, const struct mf_patch_points *columns,
                      float *work, int32_t *row, int32_t *column);

#endif
