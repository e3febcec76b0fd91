/* The labels of a whole field, as annealing reads and changes them. Host memory holds them twice: in rows along x and
 * in rows along y. A periodic copy pads each row, so that any window is read without wrapping. */
#ifndef MF_RECON_MUTABLE_H
#define MF_RECON_MUTABLE_H

#include "kernels/slices/flip.h"
#include "src/recon/polish.h"

struct mf_mutable {
    struct mf_arena *arena;
    size_t dims[3], voxels;
    struct mf_window_shape shape;
    int phases, periodic;
    size_t pad, stride[2];     /* labels before a row; bytes of a row along x, along y */
    size_t step[MF_SIDES];     /* bytes from row to row of a slice */
    uint8_t *rows[2];          /* along x [nz][ny][stride[0]]; along y (volumes) [nz][nx][stride[1]] */
    uint8_t **slice[MF_SIDES]; /* [dims]: first label of a slice; rows along x, or along y if normal to x */
};

/** Takes memory for a field of these extents and windows. MF_MEMORY. mf_mutable_close() accepts an incomplete one. */
int mf_mutable_open(struct mf_mutable *m, struct mf_arena *arena, const size_t dims[3], int phases, int periodic,
                    size_t lag);
void mf_mutable_close(struct mf_mutable *m);

/** Begins an empty field; mf_mutable_put() must follow for every plane. */
void mf_mutable_begin(struct mf_mutable *m);

/** Writes and reads a plane [ny][nx] of labels. */
void mf_mutable_put(struct mf_mutable *m, size_t z, const uint8_t *label);
void mf_mutable_get(const struct mf_mutable *m, size_t z, uint8_t *label);

/** The label of a voxel [global index, (z ny + y) nx + x]; its indices {z, y, x}. */
uint8_t mf_mutable_label(const struct mf_mutable *m, size_t voxel);
void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3]);

/** Neighbours of a voxel; returns their number. */
size_t mf_mutable_around(const struct mf_mutable *m, size_t voxel, size_t near[6]);

/** Number of them with another phase; @p of: only that phase, -1: any. */
int mf_mutable_foreign(const struct mf_mutable *m, size_t voxel, int of);

/** The window around a voxel in its slice normal to @p side, of one phase. */
void mf_mutable_window(const struct mf_mutable *m, const uint32_t at[3], size_t side, uint8_t phase, uint32_t *window);

/** Changes a label in all rows that contain the voxel, and in their periodic copies. */
void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase);

#endif
