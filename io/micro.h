/* A microstructure: a two- or three-dimensional field of phases, its spacing and its origin, on disk and in memory.
 * Rule: every rank holds one slab. Arrays are [z][y][x]; an image has nz = 1. */
#ifndef MF_IO_MICRO_H
#define MF_IO_MICRO_H

#include <stdint.h>

#include "mpi/slab.h"
#include "src/base/json.h"

enum { MF_PHASES_MAX = 32, MF_UNIT_TEXT = 32, MF_HASH_TEXT = 65, MF_NAME_TEXT = 64 };

enum { MF_PHASE_FREE = 255 }; /* in fields that are partial: no phase */

/* Where a volume stands in an HDF5 file of ours. */
#define MF_MICRO_DATASET "/microstructure/phase"

struct mf_micro {
    int ndim; /* 2 or 3 */
    struct mf_slab slab;
    int phases;                /* P */
    long label[MF_PHASES_MAX]; /* label of phase p in the file; ascending unless --labels gave another order */
    char name[MF_PHASES_MAX][MF_NAME_TEXT]; /* "" where the file has none */
    double spacing[3];                      /* {z, y, x} [unit]; 1 where unknown */
    char unit[MF_UNIT_TEXT];                /* "" unknown */
    char hash[MF_HASH_TEXT];                /* SHA-256 of the input file, hexadecimal; "" before mf_micro_hash() */
    struct mf_hashing *hashing[2];          /* of a file that was read, on rank 0: it goes on meanwhile; io/hash.h */
    struct mf_micro *mask;                  /* of equal slab, phase 1 where a voxel does not count; NULL: all count */
    uint8_t *phase;                         /* [slab.count][ny][nx], 0..P-1; NULL when grey is set */
    float *grey;            /* [fields][slab.count][ny][nx] in [0,1]: an indicator that is not binary; else NULL */
    int fields;             /* of grey: 1 (indicator of phase 1), or P (last axis of the file) */
    struct mf_arena *arena; /* phase and grey come from it */
};

/** How a file is to be understood. */
struct mf_micro_read {
    const char *threshold; /* NULL; "otsu", or a number: grey input is binarised (value > threshold: phase 1) */
    size_t label_count;    /* 0, or labels that are phases 0, 1, ... in this order given by the user */
    const long *labels;
    const double *spacing; /* NULL, or {z, y, x} (2-D: z ignored) that replaces the file's */
    const char *unit;      /* NULL, or replaces the file's */
    int grey;              /* accept real values in [0,1] as an indicator field (an initial field; singlephase input) */
    int partial; /* values are phases 0, 1, ..; -1 and 255 are MF_PHASE_FREE; micro->phases: the last of them + 1 */
    int is_mask; /* phase 1 where a value is above 0, whatever there is */
    const char *mask;    /* NULL, or the file of a mask: voxels where it is above 0 do not count */
    int unhashed;        /* nobody asks for its checksum: none is begun, mf_micro_hash() has none */
    const char *dataset; /* NULL, or which array of an HDF5 file */
};

/**
 * Reads a microstructure (.npy, .png, .tif/.tiff, a folder is refused, .h5/.vtkhdf of ours, VTK, NRRD, DREAM.3D,
 * recognised by its first bytes), each rank its slab. @p path: a file, or FILE:ARRAY (mf_array_split()). Files hold
 * labels, integers or floats that are exactly integers: consecutive from 0, else refused unless read->labels maps them
 * (then every value of the file must be among them); more than MF_PHASES_MAX refused. A grey image (PNG, TIFF, .npy)
 * that is neither labelled nor thresholded is refused naming --threshold and
 * --labels. Two axes are an image, three a volume.
 *
 * Arrays of phases side by side, [y][x][P] or [P][y][x] and of volumes, are told by their values (io/onehot.h). With
 * read->grey a float array with all values in [0, 1] is an indicator field, micro->grey: of phase 1,
 * [H][W] or [z][y][x], or of all phases where they stand side by side; along the last axis these may be as many as
 * MF_PHASES_MAX in an image of any size.
 *
 * read->mask is read first. Nothing under it is looked at: not by Otsu's method, not for labels, NaN is allowed there.
 * Such voxels have phase 0 and micro->mask has phase 1. MF_INPUT: other extents, or it covers everything.
 *
 * A file of ours keeps its labels, names, spacing and unit. Sizes are checked before allocation; nothing in a file is
 * executed or followed. Collective; refuses (agreed) with MF_INPUT, MF_MEMORY, and MF_USAGE for a senseless @p read.
 */
int mf_micro_read(const struct mf_comm *comm, struct mf_arena *arena, const char *path,
                  const struct mf_micro_read *read, struct mf_micro *micro);
void mf_micro_free(struct mf_micro *micro);

/**
 * Sets micro->hash, on all ranks, unless it was read->unhashed. A checksum that no damage can imitate takes longer than
 * all else that is done to a file, and one core: it is waited for only here. Collective; refuses (agreed) with
 * MF_INPUT.
 */
int mf_micro_hash(const struct mf_comm *comm, struct mf_micro *micro);

/** What goes with a volume into its file: rank 0's is written, the others' may differ (times). */
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
 * Writes a volume. The ending chooses: .h5 or .vtkhdf (own schema and VTKHDF in one file, parallel slabs, an .xdmf
 * beside it), .npy (uint8, C order), .png (2-D), .tif. Written under a temporary name, every rank's status agreed,
 * flushed, renamed. Collective; refuses (agreed) with MF_USAGE (the ending), MF_OUTPUT: then an old file of that name
 * is untouched and nothing is left behind.
 */
int mf_micro_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_provenance *provenance);

/**
 * Refuses what mf_micro_write() would refuse after a long run: an unknown ending, a picture of a volume, a folder that
 * is missing or closed, a folder of that name, a disk without room for its @p voxels. Touches nothing. Collective;
 * MF_USAGE or MF_OUTPUT (agreed).
 */
int mf_micro_may_write(const struct mf_comm *comm, const char *path, int ndim, size_t voxels);

/** What of that the name alone says, whoever holds its lock and whatever has how many axes. */
int mf_micro_may_name(const struct mf_comm *comm, const char *path);

/** What the axes of an array of reals are; .npy of ours says it by the length of its header (io/npy.h). */
enum mf_axes {
    MF_AXES_UNSAID,
    MF_AXES_PLACES,      /* [y][x], [z][y][x] */
    MF_AXES_PHASES_LAST, /* [y][x][phase], [z][y][x][phase] */
    MF_AXES_PHASE_LEVEL, /* of descriptors: [phase][level] and their values */
    MF_AXES_PAIR_LEVEL,  /* the same of pairs of phases */
    MF_AXES_PHASE_LAG,   /* [phase][lag along z][along y][along x] */
    MF_AXES_PAIR_LAG
};

/** Writes rank 0's numbers as .npy, float64, C order, with what their axes are. Collective. MF_OUTPUT, agreed. */
int mf_reals_write(const struct mf_comm *comm, const char *path, int ndim, const size_t *shape, enum mf_axes axes,
                   const double *values);

/** Writes a float field as .npy: [nz][ny][nx] (2-D: [ny][nx]), fields > 1: as last axis; the file says so (enum
 * mf_axes). Collective. MF_OUTPUT. */
int mf_field_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int ndim, int fields,
                   const float *x);

/** Puts "shape" into an object: {nz, ny, nx} of a volume, {ny, nx} of an image. Local. */
void mf_micro_shape(const size_t dims[3], struct mf_json *at);

#endif
