/* One-hot arrays: [y][x][phase] or [phase][y][x], and those of volumes. A voxel has 1 (or 255) for its phase and 0 for
 * the others, or fractions of phases that sum to 1.
 * Rule: such arrays seldom say so; only this module decides it, from their values. */
#ifndef MF_IO_ONEHOT_H
#define MF_IO_ONEHOT_H

#include "io/array.h"
#include "src/base/arena.h"

enum mf_phase_axis { MF_PHASE_AXIS_NONE, MF_PHASE_AXIS_FIRST, MF_PHASE_AXIS_LAST };

/** The spatial axes of an array, and the number of values in a voxel. */
struct mf_places {
    int ndim;
    size_t dims[3]; /* z y x; of an image z is 1 */
    size_t phases;  /* 1: no axis of phases */
};

struct mf_places mf_places_of(const struct mf_array *array, enum mf_phase_axis axis);

/** Offset in @p slab of element @p element of the rows of mf_onehot_rows(), and its phase; -1: outside of the slab. */
long long mf_onehot_place(const struct mf_places *places, enum mf_phase_axis axis, const struct mf_slab *slab,
                          size_t element, size_t *phase);

/** Rows along axis 0 of the array that hold the values of @p slab. */
struct mf_span mf_onehot_rows(const struct mf_array *array, enum mf_phase_axis axis, const struct mf_slab *slab);

/** Are the phases at most a quarter of the other extents? A thin layer of voxels may look like phases. */
int mf_onehot_is_few(const struct mf_array *array, enum mf_phase_axis axis);

/**
 * Sets *are: do the values of every voxel sum to 1 along @p axis (to 1e-3)? Sets *whole: is each value 0 or 1, or 0 or
 * another integer above 1? In @p covered: [slab] 1 where a voxel is ignored; NULL: none is. Reads the array once.
 * Collective; refuses (agreed) with MF_INPUT, MF_MEMORY.
 */
int mf_onehot_look(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_array *array,
                   enum mf_phase_axis axis, const uint8_t *covered, int *are, int *whole);

#endif
