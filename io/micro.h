/* A microstructure: a two- or three-dimensional field of phases, its spacing and its origin, on disk and in memory.
 * Rule: every rank holds one slab. Arrays are [z][y][x]; an image has nz = 1. */
#ifndef MF_IO_MICRO_H
#define MF_IO_MICRO_H

#include <stdint.h>

#include "mpi/slab.h"
#include "src/base/json.h"

enum { MF_PHASES_MAX = 32, MF_UNIT_TEXT = 32, MF_HASH_TEXT = 65, MF_NAME_TEXT = 64 };

enum { MF_PHASE_FREE = 255 }; /* in partial fields: a voxel without a phase */

/* Path of a volume in an HDF5 file of this program. */
#define MF_MICRO_DATASET "/microstructure/phase"

struct mf_micro {
    int ndim; /* 2 or 3 */
    struct mf_slab slab;
    int phases;                /* P */
    long label[MF_PHASES_MAX]; /* label of phase p in the file; ascending unless --labels gave another order */
    char name[MF_PHASES_MAX][MF_NAME_TEXT]; /* "" where the file has none */
    double spacing[3];                      /* {z, y, x} [unit]; 1 where unknown */
    char unit[MF_UNIT_TEXT];                /* "" unknown */
    char hash[MF_HASH_TEXT];                /* SHA-256 of the input file in hexadecimal; "" before mf_micro_hash(), and
                                               of what is no file */
    struct mf_hashing *hashing[2];          /* rank 0: checksums of the files read, still running; io/hash.h */
    struct mf_micro *mask; /* mask on the same slab: phase 1 where a voxel does not count; NULL: all count */
    uint8_t *phase;        /* [slab.count][ny][nx], 0..P-1; NULL when grey is set */
    float *grey;           /* [fields][slab.count][ny][nx] in [0,1]: an indicator field that is not binary; else NULL */
    int fields;            /* of grey: 1 (indicator of phase 1), or P (last axis of the file) */
    size_t crop[4];        /* {y, x, height, width} of the part of an image that was read; 0 0 0 0: all of it */
    struct mf_arena *arena; /* phase and grey come from it */
};

struct mf_crop;

/** How to interpret a file. */
struct mf_micro_read {
    const char *threshold; /* NULL; "otsu", or a number: grey input is binarised (value > threshold: phase 1) */
    size_t label_count;    /* 0, or labels that are phases 0, 1, ... in this order given by the user */
    const long *labels;
    size_t label_span;     /* plain labels below this may lack some, as each has a value of the user's */
    const double *spacing; /* NULL, or {z, y, x} (2-D: z ignored) that replaces the file's */
    const char *unit;      /* NULL, or replaces the file's */
    int grey;              /* accept real values in [0,1] as an indicator field (an initial field; singlephase input) */
    int of_sample;         /* labels and threshold are the sample's, and this is another file: see mf_micro_read() */
    int partial;           /* labels; -1 or 255 is MF_PHASE_FREE where it is no label; micro->phases: the largest + 1 */
    int is_mask;           /* phase 1 where a value is above 0, whatever the values are */
    const char *mask;      /* NULL, or the file of a mask: voxels where it is above 0 do not count */
    int unhashed;          /* do not compute its checksum; mf_micro_hash() then has none */
    const char *dataset;   /* NULL, or which array of an HDF5 file */
    const struct mf_crop *crop; /* NULL, or the part of an image that is read, and of its mask (io/crop.h) */
    int crop_bar;               /* read what is beside the data bar of an image, which must have one (io/bar.h) */
    const char *remedy;         /* NULL, or what to do about an image of colours (struct mf_array) */
    const char *command;        /* NULL, or the user's command, to which a hint adds --threshold and --crop-bar */
};

/**
 * Reads a microstructure, each rank its slab. Formats are recognised by their first bytes: .npy, PNG, TIFF, HDF5 of
 * this program (.h5, .vtkhdf), VTK, NRRD, DREAM.3D. A folder is refused. @p path: a file, or FILE:ARRAY
 * (mf_array_split()). Two axes are an image, three a volume.
 *
 * Files hold labels: integers, or floats with integer values. They must be consecutive from 0 unless read->labels maps
 * them. Then every value of the file must be among those labels. Below read->label_span some may be missing. More than
 * MF_PHASES_MAX labels are refused. A grey image (PNG, TIFF, .npy) needs labels or a threshold: without them the
 * refusal names --threshold and --labels.
 *
 * One-hot arrays ([y][x][P] or [P][y][x], and those of volumes) are recognised by their values (io/onehot.h). With
 * read->grey a float array with all values in [0, 1] is an indicator field, micro->grey. It is that of phase 1, [H][W]
 * or [z][y][x], or that of all phases along a first or last axis. Along the last axis an image of any size may have up
 * to MF_PHASES_MAX phases.
 *
 * read->of_sample: read->labels (of a sample that was thresholded 0 and 1) may stand beside a threshold. An indicator
 * field is one all the same, except where it holds nothing but labels. Values that are phases already are not
 * thresholded: those of a volume of this program, and 0 and 1 alone.
 *
 * read->crop and read->crop_bar leave a part of an image, as if the file held that alone. Without them, and with
 * read->command, a warning or the refusal of a grey image points to a data bar.
 *
 * read->mask is read first. Values under it are ignored by Otsu's method and for labels, and may be NaN. These voxels
 * have phase 0, and micro->mask has phase 1 there. MF_INPUT: the mask has other extents, or covers everything.
 *
 * A file of this program keeps its labels, names, spacing and unit. Sizes are checked before allocation; nothing in a
 * file is executed or followed. Collective; refuses (agreed) with MF_INPUT, MF_MEMORY, and MF_USAGE for a senseless @p
 * read.
 */
int mf_micro_read(const struct mf_comm *comm, struct mf_arena *arena, const char *path,
                  const struct mf_micro_read *read, struct mf_micro *micro);
void mf_micro_free(struct mf_micro *micro);

/**
 * Sets micro->hash on all ranks, except after read->unhashed. Only this function waits for the checksum. On one core a
 * cryptographic one takes longer than all other work on a file. Collective; refuses (agreed) with MF_INPUT.
 */
int mf_micro_hash(const struct mf_comm *comm, struct mf_micro *micro);

/** Origin of a volume, for its file. Rank 0's is written; other ranks' times may differ. */
struct mf_provenance {
    const char *command;    /* the verb */
    const char *options;    /* all options, YAML */
    const char *input_hash; /* SHA-256 of the inputs, or "" */
    long seed;
    const char *json;         /* results of the run as JSON text, or NULL */
    size_t convergence_count; /* rows of convergence: evaluation, seconds, loss */
    const double *convergence;
};

/**
 * Writes a volume. The ending chooses the format: .h5 or .vtkhdf, .npy (uint8, C order), .png (2-D), .tif. HDF5 files
 * hold our schema and VTKHDF, in parallel slabs, with an .xdmf beside them. The file is written under a temporary name.
 * The ranks agree on their codes, then it is flushed and renamed. Collective; refuses (agreed) with MF_USAGE (the
 * ending) or MF_OUTPUT. After MF_OUTPUT an old file of that name is untouched and nothing is left behind.
 */
int mf_micro_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_provenance *provenance);

/**
 * Refuses early what mf_micro_write() would refuse after a long run, and changes nothing. MF_USAGE: the ending is
 * unknown, or a volume cannot be a picture. MF_OUTPUT: the folder is missing or not writable, or the name is no plain
 * file. Or the disk has no space for @p voxels. Collective; agreed.
 */
int mf_micro_may_write(const struct mf_comm *comm, const char *path, int ndim, size_t voxels);

/** The same checks, but only those that need just the name; locks and the number of axes are ignored. */
int mf_micro_may_name(const struct mf_comm *comm, const char *path);

/** Meaning of the axes of an array of reals. A .npy of this program encodes it in the length of its header
 * (io/npy.h). */
enum mf_axes {
    MF_AXES_UNSAID,
    MF_AXES_PLACES,      /* [y][x], [z][y][x] */
    MF_AXES_PHASES_LAST, /* [y][x][phase], [z][y][x][phase] */
    MF_AXES_PHASE_LEVEL, /* of descriptors: [phase][level], then their values */
    MF_AXES_PAIR_LEVEL,  /* the same of pairs of phases */
    MF_AXES_PHASE_LAG,   /* [phase][lag along z][along y][along x] */
    MF_AXES_PAIR_LAG
};

/** Writes rank 0's numbers as .npy (float64, C order) with the meaning of their axes. Collective. MF_OUTPUT, agreed. */
int mf_reals_write(const struct mf_comm *comm, const char *path, int ndim, const size_t *shape, enum mf_axes axes,
                   const double *values);

/** Writes a float field as .npy: [nz][ny][nx] (2-D: [ny][nx]); fields > 1 are the last axis. The file states the
 * meaning of its axes. Collective. MF_OUTPUT. */
int mf_field_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int ndim, int fields,
                   const float *x);

/** Puts "shape" into an object: {nz, ny, nx} of a volume, {ny, nx} of an image. Local. */
void mf_micro_shape(const size_t dims[3], struct mf_json *at);

#endif
