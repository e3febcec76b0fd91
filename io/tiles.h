/* Overlapping tiles of images as samples of a dataset: few micrographs are then enough to learn from.
 * Rule: tiles of two splits share no pixel. Which tiles there are, and their splits, follows from extents alone. */
#ifndef MF_IO_TILES_H
#define MF_IO_TILES_H

#include "io/dataset.h"

enum { MF_TILES_MAX = 1 << 28 };

/** Request of a cut. */
struct mf_tiles_wish {
    size_t images;
    const char *const *image; /* [images] files, or FILE:ARRAY */
    size_t tile[2];           /* {height, width} of a sample [pixels] */
    size_t stride[2];         /* between tiles along y and x [pixels] */
    double part[2];           /* shares of train and validation; the rest is the test split */
    int channels; /* 0: samples hold phases. 1: grey values, 3: colours; of read, crop and crop_bar remain */
    int phases;   /* 0: as many as the images have */
    const struct mf_micro_read *read;
};

/** Places of tiles of one split: rows [first[0], first[0] + count[0]), and the same along x in [1]. Place k begins at
 * pixel k stride. */
struct mf_tile_block {
    size_t first[2], count[2];
};

/** How one image is divided. A split without tiles of it has count {0, 0}. */
struct mf_tile_cut {
    struct mf_tile_block block[MF_SPLITS];
    size_t tiles, left; /* in the blocks; outside of them */
};

/**
 * Divides images of @p extent [images] {height, width} among the splits that have a share.
 *
 * Where it can hold tiles of all splits, an image is cut twice. The first cut crosses its longer side (by places of
 * tiles): train is before it. The second one crosses the other side of what is behind: validation is before it, test
 * behind. With two splits there is only the first cut. Between the parts lie as many places as overlap with both. The
 * cuts are those that bring the shares of all images so far closest to the wish. Among equal ones it takes the first.
 * Other images go as a whole to the split that lacks most. The last of them go to splits that are still empty.
 *
 * cut [images]. Local. MF_INPUT: an image is smaller than a tile, a split remains empty, or tiles are more than
 * MF_TILES_MAX.
 */
int mf_tiles_cut(const struct mf_tiles_wish *wish, const size_t (*extent)[2], struct mf_tile_cut *cut);

struct mf_tiles;

/**
 * Reads all images once, and divides them. Ranks share this work. *tiles keeps @p wish and one image, in @p arena.
 *
 * Collective. Refuses (agreed) as mf_micro_read() and mf_tiles_cut() do. MF_INPUT: volumes, images of one phase alone,
 * and values of several types.
 */
int mf_tiles_open(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_tiles_wish *wish,
                  struct mf_tiles **tiles);
void mf_tiles_close(struct mf_tiles *tiles); /* NULL is accepted */

/** Sets what a dataset of the tiles holds: samples, extents, type, phases, splits. They belong to the tiles. Samples
 * are in the order of images, in each of splits, and in each of places. Local. */
void mf_tiles_describe(const struct mf_tiles *tiles, struct mf_dataset_wish *wish);

/** How many tiles overlap with two splits, and are left out. Local. */
size_t mf_tiles_left(const struct mf_tiles *tiles);

/** Copies tile @p id to @p x, and says which image it is of. Reads an image where the last one was another. Local;
 * MF_INPUT, MF_MEMORY. */
int mf_tiles_take(struct mf_tiles *tiles, size_t id, void *x, size_t *image);

#endif
