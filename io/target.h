/* Descriptors of a microstructure as values: what characterize writes, merge combines and reconstruct aims at. Plain
 * data, equal on all ranks. */
#ifndef MF_IO_TARGET_H
#define MF_IO_TARGET_H

#include "io/micro.h"

enum { MF_LEVELS_MAX = 16 };

/** Descriptors of the slices with one normal, meant over them. */
struct mf_target_side {
    size_t nu, nv, slices; /* extents of the slices they came from; how many */
    size_t levels;         /* pyramid levels present */
    double *s2;            /* [phases][levels][W][W], W = 2L-1, rows du, columns dv, zero lag in the centre */
    double *cross;         /* [pairs][levels][W][W], pairs (a < b) in order (0,1) (0,2) .. (1,2) ..; NULL: none */
    double *variation;     /* [phases][levels], jumps per pixel */
    double *fraction;      /* [phases][levels] */
};

struct mf_target {
    int phases;
    long label[MF_PHASES_MAX];
    size_t lag; /* L */
    int periodic, seam;
    int sides; /* 1: an image or an isotropic mean, used for every direction; 3: normals z, y, x */
    struct mf_target_side side[3];
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    char hash[MF_HASH_TEXT]; /* of the input(s) */
    char source[256];        /* name of the file it came from */
};

/** Allocates the arrays of a side (heap, cleared; extents 0; cross only where there are pairs). MF_MEMORY. */
int mf_target_side_new(struct mf_target_side *side, int phases, size_t levels, size_t lag, int cross);
void mf_target_side_free(struct mf_target_side *side);
void mf_target_free(struct mf_target *target);

/** The side that slices normal to @p normal aim at. */
const struct mf_target_side *mf_target_for(const struct mf_target *target, enum mf_normal normal);

/** Most pyramid levels for slices of this size: floor(log2(min(nu, nv) / L)), at most MF_LEVELS_MAX; 0: L is too large.
 */
size_t mf_levels(size_t nu, size_t nv, size_t lag);

/** Reads and writes descriptor files (.h5 of ours; a foreign .npy window of S2 is mf_target_import). Rank 0 touches
 * the file, all ranks get the values. Collective; MF_INPUT / MF_OUTPUT, agreed. */
int mf_target_load(const struct mf_comm *comm, const char *path, struct mf_target *target);
int mf_target_save(const struct mf_comm *comm, const char *path, const struct mf_target *target,
                   const struct mf_provenance *provenance);

/**
 * Two-point statistics computed elsewhere: a .npy [H][W] (one phase, zero lag at [H/2][W/2] as PyMKS centres it) or
 * [H][W][1]; cut to the lags -L+1..L-1, symmetrised about the centre; its centre is the volume fraction. No Variation.
 */
int mf_target_import(const struct mf_comm *comm, const char *path, size_t lag, struct mf_target *target);

#endif
