/* A field of labels as annealing sees it: whole, in host memory, with rows that a window can be read from. All ranks
 * hold the same. */
#ifndef MF_RECON_MUTABLE_H
#define MF_RECON_MUTABLE_H

#include "kernels/flip.h"
#include "src/recon/polish.h"

struct mf_mutable {
    struct mf_arena *arena;
    size_t dims[3], voxels;
    struct mf_window_shape shape;
    int phases, periodic;
    size_t pad, stride[2]; /* labels before a row; bytes of a row along x, along y */
    uint8_t *along[2];     /* [nz][ny][stride[0]]: rows along x; volumes: [nz][nx][stride[1]]: rows along y */
    const uint8_t *fixed;  /* [voxels]: where it is not MF_LABEL_OPEN the label stays; NULL: nowhere. Borrowed */
    uint8_t *whole;        /* [voxels]: labels without what surrounds them, as ranks exchange them */
};

/** Takes its memory for a field of these extents and windows. MF_MEMORY; MF_USAGE: too many voxels. Close accepts half
 * a one. */
int mf_mutable_open(struct mf_mutable *m, struct mf_arena *arena, const size_t dims[3], int phases, int periodic,
                    size_t lag);
void mf_mutable_close(struct mf_mutable *m);

/** Rows anew from m->whole. */
void mf_mutable_begin(struct mf_mutable *m);

/** Labels into m->whole. */
void mf_mutable_end(struct mf_mutable *m);

/** The label of a voxel [global index, (z ny + y) nx + x]; its indices {z, y, x}. */
uint8_t mf_mutable_label(const struct mf_mutable *m, size_t voxel);
void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3]);

/** Neighbours of a voxel; returns their number. */
size_t mf_mutable_around(const struct mf_mutable *m, size_t voxel, size_t near[6]);

/** Those of them that are of another phase; @p of (-1: any): of this one. */
int mf_mutable_foreign(const struct mf_mutable *m, size_t voxel, int of);

/** The window around a voxel in its slice normal to @p side, of one phase. */
void mf_mutable_window(const struct mf_mutable *m, const uint32_t at[3], size_t side, uint8_t phase, uint32_t *window);

/** A label changes, in all rows that hold the voxel, what surrounds them included. */
void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase);

#endif
