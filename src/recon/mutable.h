/* A field of labels as annealing sees it: slices in host memory, with rows that a window can be read from. Of an image,
 * or on one rank, all of them; else those of this rank's pools (spread.h). */
#ifndef MF_RECON_MUTABLE_H
#define MF_RECON_MUTABLE_H

#include "kernels/flip.h"
#include "src/recon/polish.h"

struct mf_mutable {
    struct mf_arena *arena;
    size_t dims[3], voxels;
    struct mf_window_shape shape;
    int phases, periodic;
    int whole;               /* all slices are here; those normal to y are made of rows of those normal to z */
    size_t pad, stride[2];   /* labels before a row; bytes of a row along x, along y */
    size_t room[MF_SIDES];   /* how many slices there is room for */
    size_t step[MF_SIDES];   /* bytes from row to row of a slice */
    uint8_t *rows[MF_SIDES]; /* [room][rows of a slice][stride]; whole: z [nz][ny][stride[0]], x [nz][nx][stride[1]] */
    uint8_t **slice[MF_SIDES]; /* [dims]: first label of a slice; NULL: it is not here. Rows of those normal to x go
                                  along y, of the others along x */
};

/** Takes its memory for a field of these extents and windows, and for so many @p slices of every direction [3] at a
 * time; NULL: for all. MF_MEMORY. Close accepts half a one. */
int mf_mutable_open(struct mf_mutable *m, struct mf_arena *arena, const size_t dims[3], int phases, int periodic,
                    size_t lag, const size_t *slices);
void mf_mutable_close(struct mf_mutable *m);

/** Nothing surrounds the field yet. Whole ones have all slices from now on, others none: mf_mutable_slot() says where
 * slice number @p k that this rank has of a direction is to stand. */
void mf_mutable_begin(struct mf_mutable *m);
uint8_t *mf_mutable_slot(const struct mf_mutable *m, size_t side, size_t k);

/** The labels of a row of a slice that is not normal to y, or not of a whole field; what surrounds it follows. */
void mf_mutable_row(struct mf_mutable *m, size_t side, size_t slice, size_t row, const uint8_t *label);

/** Whole: a plane [ny][nx] of labels comes and goes. */
void mf_mutable_put(struct mf_mutable *m, size_t z, const uint8_t *label);
void mf_mutable_get(const struct mf_mutable *m, size_t z, uint8_t *label);

/** The label of a voxel [global index, (z ny + y) nx + x] that is in a slice normal to z; its indices {z, y, x}. */
uint8_t mf_mutable_label(const struct mf_mutable *m, size_t voxel);
void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3]);

/** Neighbours of a voxel; returns their number. */
size_t mf_mutable_around(const struct mf_mutable *m, size_t voxel, size_t near[6]);

/** Those of them that are of another phase; @p of (-1: any): of this one. Its slices are here, as below. */
int mf_mutable_foreign(const struct mf_mutable *m, size_t voxel, int of);

/** The window around a voxel in its slice normal to @p side, of one phase. */
void mf_mutable_window(const struct mf_mutable *m, const uint32_t at[3], size_t side, uint8_t phase, uint32_t *window);

/** A label changes, in all rows that hold the voxel, what surrounds them included. */
void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase);

#endif
