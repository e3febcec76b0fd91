/* Sizes of the work areas of plans on a GPU. They are pure functions of the plan and of the GPU's compute capability.
 * Rule: the cuda back end and plans for an absent GPU (kernels/dry.h) use the same functions. So their bytes agree.
 * Compiled as C and as C++. */
#ifndef MF_KERNELS_AREAS_H
#define MF_KERNELS_AREAS_H

#include "kernels/form/hd.h"
#include "kernels/slices/patch.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"

enum { MF_LINE_STAGES = 12 }; /* most radices of a transform in shared memory */

/** Bytes of shared memory that one block may have on GPUs of a compute capability (10 major + minor). They come from
 * the programming guide, and decide the layout of a plan. */
size_t mf_gpu_shared(int capability);

/** Radices of @p n: eights, then the remaining twos, threes, fives. 0: it has other factors. */
int mf_line_radices(int n, int radix[MF_LINE_STAGES], int *stages);

enum {
    MF_CORR_DEPTH = 32,      /* most lags that a thread sums in registers; further ones are a group of their own */
    MF_CORR_ROWS = 8,        /* lags du of a block that compares */
    MF_CORR_TILE = 4,        /* those of its threads */
    MF_CORR_PART = 256,      /* frequencies that it holds at a time */
    MF_CORR_TWIDDLES = 4096, /* the longest line whose twiddles it holds */
    MF_CORR_THREADS = 256
};

/** S2: one level of the pyramid. */
struct mf_corr_area {
    int nu, nv, mv;        /* pooled extents; points of a line's transform */
    int shift, bins;       /* a block transforms 2^shift pairs of rows; frequencies of a row */
    int chunk, chunks;     /* rows that are summed separately */
    size_t shared, window; /* bytes of shared memory, of transforms and of windows */
    size_t from, jumps;    /* where its numbers begin, and its sums of jumps */
    size_t tables;         /* bytes of twiddles and positions */
};

/** S2: bytes of every array, and their layout. */
struct mf_corr_areas {
    struct mf_corr_area level[MF_PYRAMID_MAX];
    size_t entries;    /* (2L-1)^2 */
    size_t chunk;      /* slices whose values are summed at a time */
    size_t slices;     /* slices at a time: slots for their spectra, sums and pooled levels */
    int depth, groups; /* L <= depth * groups; lags of a group: 8, 16, or 32 */
    size_t blocks;     /* that compare one slice */
    size_t loss, values, lines;
    size_t jumps, slope; /* Variation beside S2: sums of pairs of rows, of two kinds; slopes and losses */
};

/** Lines in shared memory: place of number i, and from line to line; so threads seldom meet in a bank. */
MF_HD int mf_line_pad(int i) { return i + (i >> 4); }
MF_HD int mf_line_pitch(int n) { return mf_line_pad(n) | 1; }

/** Lays out a plan of S2 on a GPU whose blocks may have @p shared bytes. Refuses with MF_USAGE a lag that would meet
 * itself, and lines or lags that do not fit into these bytes. */
int mf_areas_corr(const struct mf_slice_desc *desc, size_t shared, struct mf_corr_areas *areas);

/** The pooled slices of a plan and their gradients. */
struct mf_pyramid_areas {
    size_t nu[MF_PYRAMID_MAX], nv[MF_PYRAMID_MAX];
    size_t from[MF_PYRAMID_MAX]; /* offset of a level */
    size_t bytes;                /* of all levels from 1 on, for slices and for gradients; 0: there is one level */
};

void mf_areas_pyramid(const struct mf_slice_desc *desc, size_t slices, struct mf_pyramid_areas *areas);

/** Pixels that are summed separately: 256, or as many as leave at most 4096 bands of them. */
MF_HD size_t mf_single_band(size_t pixels)
{
    size_t band = 256;

    while (band * 4096 < pixels) band *= 2;
    return band;
}

/** Interface density, volume fraction: sums of bands of pixels, and slopes. */
struct mf_single_areas {
    size_t slices;             /* at a time */
    size_t bands, part, slope; /* most bands of a level; bytes */
};

/** @p pooled: levels take memory, so slices are worked on in parts. Pure; the maker of a plan has checked the
 * description (mf_slices_check()). */
void mf_areas_single(const struct mf_slice_desc *desc, int pooled, struct mf_single_areas *areas);

/* -- descriptors of packed slices, a chunk of slices at a time: kernels/slices/areas_packed.c -- */

enum {
    MF_PACKED_PART = 4096, /* entries whose losses are summed separately */
    MF_LINEAL_BAND = 1024, /* pixels whose runs are summed separately */
    MF_MASKS_GROUP = 32,   /* masks whose slopes are held at a time */
    MF_GRAM_TILE = 64,     /* channels of a tile */
    MF_PACKED_ALL = 0,
    MF_PACKED_FIELDS = 3 /* most fields of a family */
};

/** Properties of a descriptor that decide its memory. */
struct mf_packed_memory {
    const struct mf_slice_kind *kind;
    size_t fields; /* 2: of pairs; MF_PACKED_ALL: of all phases in colours (mf_vgg_colours) */
    size_t (*scratch)(const struct mf_slice_desc *desc); /* floats of a slice */
    size_t (*table)(const struct mf_slice_desc *desc);   /* bytes, for all slices; NULL: none */
    size_t share;                                        /* bytes that the slices of a chunk share; 0: the default */
};

/** mf_packed_<family> of all that have kernels for GPUs, but MF_LIST_FIXED. */
#define MF_ON_GPU(family)                 extern const struct mf_packed_memory mf_packed_##family;
#define MF_ON_CORES(family)               /* none */
#define MF_FAMILY(ID, family, where, ...) MF_ON_##where(family)
MF_LIST_CROSS(MF_FAMILY)
MF_LIST_FURTHER(MF_FAMILY)
#undef MF_FAMILY
#undef MF_ON_CORES
#undef MF_ON_GPU

struct mf_packed_areas {
    size_t fields;                              /* fields of the family */
    size_t entries, chunk;                      /* entries of a level; slices of a chunk */
    size_t parts;                               /* partial sums of losses per slice */
    size_t from[MF_PYRAMID_MAX], numbers;       /* offset of a level in a chunk, and size of all levels [floats] */
    size_t pixels, value, part, scratch, table; /* bytes */
};

/** A chunk has as many slices as share memory->share bytes: at least one, at most desc->count_max. Pure, checked as
 * above. */
void mf_areas_packed(const struct mf_slice_desc *desc, const struct mf_packed_memory *memory,
                     struct mf_packed_areas *areas);

/** Gram matrices of VGG-19: offsets of a slice's arrays in the scratch [floats, times the slices of a chunk]. Pixels
 * are rows of channels. */
struct mf_vgg_area {
    size_t input[MF_VGG_BLOCKS];                 /* of the blocks */
    size_t y[MF_VGG_LAYERS], sum[MF_VGG_LAYERS]; /* outputs of layers, and their sums; equal if y gives the slope */
    size_t back[2];                              /* gradients of a layer, and of the next */
    size_t matrix;                               /* [512][512] */
};

/** Area of one level; returns the floats of all of them. */
size_t mf_areas_vgg(const struct mf_slice_desc *desc, size_t level, struct mf_vgg_area *area);

/* -- patches: kernels/slices/areas_patch.c -- */

enum {
    MF_PATCH_BAND = 4096, /* pixels whose mismatch is summed separately */
    MF_PATCH_REST = 128   /* the same for the remainder beside the principal axes */
};

/** A level of patches on a GPU: positions of patches, and offsets of its parts of arrays [numbers]. */
struct mf_patch_area {
    struct mf_patch_level is;
    size_t patches, others;     /* in the slice, in the example */
    size_t image, axes, points; /* in the arrays of the example */
    size_t from;                /* in a pyramid of a chunk */
};

struct mf_patch_areas {
    struct mf_patch_area level[MF_PYRAMID_MAX];
    size_t phases, pull, chunk;                   /* floats of a slice's pull; slices of a chunk */
    size_t numbers, arrays;                       /* floats of a pyramid of a chunk; how many there are */
    size_t bands;                                 /* most sums of a slice */
    size_t images, axes, points;                  /* bytes, of the example */
    size_t pixels, work, near, sums, part, slope; /* bytes, of a chunk */
};

/** The same of patches; needs desc->example and desc->phases. */
void mf_areas_patch(const struct mf_slice_desc *desc, struct mf_patch_areas *areas);

/* -- S2 in space -- */

enum {
    MF_SPACE_BATCH = 16, /* planes whose sums wait at a time */
    MF_SPACE_RUN = 8     /* neighbouring lags of a block */
};

/** Bytes; entries: lags of the window, [L][2L-1][2L-1]. */
struct mf_space_areas {
    size_t entries, part, sum, weight;
};

/** Pure. */
void mf_areas_space(const struct mf_space_desc *desc, struct mf_space_areas *areas);

#endif
