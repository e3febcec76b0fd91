/* A target: descriptors of a microstructure as values. characterize writes it, merge combines it, reconstruct aims at
 * it. Rule: plain data, equal on all ranks. */
#ifndef MF_IO_TARGET_H
#define MF_IO_TARGET_H

#include "io/micro.h"
#include "io/units.h"
#include "kernels/slices/slices.h"

enum { MF_LEVELS_MAX = 16, MF_EXAMPLE_MAX = 512 };

#define MF_SCHEMA_TARGET "descriptors" /* attribute schema of a descriptor file */

/** Descriptors that a target may have besides S2, Variation and volume fractions (docs/DESCRIPTORS.md). */
enum mf_more {
#define MF_ROW(ID, ...) MF_MORE_##ID,
    MF_LIST_FURTHER(MF_ROW)
#undef MF_ROW
        MF_MORE
};

/** A further descriptor: what a file calls it, and how it is computed. */
struct mf_more_row {
    const char *name;                 /* of its dataset */
    const struct mf_slice_kind *kind; /* states how many entries it has */
    size_t family;                    /* offset of its kernels in struct mf_slices */
    unsigned traits;                  /* enum mf_trait */
};

/** The rows, MF_MORE of them. */
extern const struct mf_more_row mf_more_rows[];

/** Has enum mf_more @p which this trait? */
static inline int mf_more_is(int which, enum mf_trait trait) { return (mf_more_rows[which].traits & trait) != 0; }

/** Number of parts for so many phases: one per phase, or per pair (a < b) in the order (0,1) (0,2) .. (1,2) .. */
size_t mf_more_parts(enum mf_more which, size_t phases);

/** Entries per level of one part; lag: L. */
size_t mf_more_entries(enum mf_more which, size_t lag);

/** Descriptors of a volume as a whole. */
enum mf_whole {
    MF_WHOLE_S2,    /* S2_3D: [phases][L][2L-1][2L-1], lags dz >= 0, dy, dx */
    MF_WHOLE_CROSS, /* CrossS2_3D: [pairs][2L-1][2L-1][2L-1], all lags */
    MF_WHOLE_SPANS, /* [phases][3]: share of a phase's voxels in clusters that span the volume along z, y, x */
    MF_WHOLE
};

/** Descriptors of the slices with one normal, averaged over the slices. */
struct mf_target_side {
    size_t nu, nv, slices; /* extents of the slices that were measured; their number */
    size_t levels;         /* pyramid levels present */
    double *s2;            /* [phases][levels][W][W], W = 2L-1, rows du, columns dv, zero lag in the centre */
    double *cross;         /* [pairs][levels][W][W], pairs (a < b) in order (0,1) (0,2) .. (1,2) ..; NULL: none */
    double *variation;     /* [phases][levels], jumps per pixel; NULL: none (imported two-point statistics) */
    double *fraction;      /* [phases][levels] */
    double *more[MF_MORE]; /* [parts][levels][entries] each; NULL: none */
    double *example;       /* [example_nu][example_nv]: phase of every pixel of a slice, -1: not known; NULL: none */
    size_t example_nu, example_nv; /* at most MF_EXAMPLE_MAX: the middle of a larger slice */
};

/** Properties of a micrograph, by which descriptors are chosen (src/recon/recipe.h). With two or more phases they are
 * those of phase 1. */
struct mf_target_look {
    int phases;           /* 0: not measured */
    int foreign;          /* the file has the properties of another version, which this one does not know */
    size_t edge;          /* the shorter edge of the example; where descriptors are chosen, of the result as well */
    size_t result;        /* the shortest edge of a result that may begin on a coarser grid; else 0 */
    size_t coarsest;      /* as edge on the coarsest grid, at least; 0: nothing was chosen */
    double example;       /* pixels of it */
    double pixels;        /* of the slice; where descriptors are chosen, of all slices of the result */
    double rare;          /* the smallest volume fraction */
    double coherence;     /* straightness of edges (root of C^2 / E^2) over that of the surrogates */
    double trough, crest; /* least autocovariance over its value at 0, and the largest beyond it; 0: none was found */
    double wave;          /* periods per pixel of its strongest wave; 0: none was found */
    double cells;         /* cells per pixel that walls of the rarer phase enclose; 0: no cells */
    double sizes;         /* standard deviation over mean of the areas of inclusions; -1: too few lie inside */
    double seam; /* mismatch of opposite borders: 0 as between neighbours; 1 as between far pixels, or not measured */
};

struct mf_target {
    int phases;
    int sides; /* 1: an image or an isotropic mean, for every direction; 3: normals z, y, x */
    long label[MF_PHASES_MAX];
    size_t lag; /* L */
    int periodic, seam;
    double threshold,
        steepness;              /* t and s of the soft threshold (kernels/form/soft.h); 0: nothing here depends on it */
    int masked;                 /* measured on part of the voxels: one phase's values do not give the other's */
    char vgg_name[MF_VGG_NAME]; /* the weights (kernels/slices/vgg.h); "": no value depends on them */
    struct mf_target_side side[3];
    double *whole[MF_WHOLE]; /* NULL: none */
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    char hash[MF_HASH_TEXT]; /* of the input(s) */
    char source[256];        /* name of the file that was measured */
    size_t crop[4];          /* {y, x, height, width} of the part of its image that was measured; 0 0 0 0: all of it */
    struct mf_target_look look;
};

/** Allocates the arrays of a side (heap, cleared; extents 0; cross only if there are pairs). MF_MEMORY. */
int mf_target_side_new(struct mf_target_side *side, int phases, size_t levels, size_t lag, int cross);
/** Allocates a further descriptor (cleared; of pairs only if there are pairs). MF_MEMORY. */
int mf_target_side_more(struct mf_target_side *side, int phases, size_t lag, enum mf_more which);
/** Entries of one part, and number of parts (phases, or pairs of them). */
size_t mf_whole_entries(enum mf_whole which, size_t lag);
size_t mf_whole_parts(enum mf_whole which, size_t phases);
/** Allocates one of these (heap, cleared). MF_MEMORY. */
int mf_target_whole_new(struct mf_target *target, enum mf_whole which);
/** Allocates an example (heap, cleared). MF_MEMORY. */
int mf_target_example_new(struct mf_target_side *side, size_t nu, size_t nv);
/** Keeps only the middle of an example with an edge longer than @p most. */
void mf_target_example_cut(struct mf_target_side *side, size_t most);
void mf_target_side_free(struct mf_target_side *side);
void mf_target_free(struct mf_target *target);

/** The side that slices normal to @p normal aim at. */
const struct mf_target_side *mf_target_for(const struct mf_target *target, enum mf_normal normal);

/** The phase of the target that field @p f of @p fields aims at. A single field is the indicator of phase 1. */
static inline size_t mf_target_phase(const struct mf_target *target, size_t fields, size_t f)
{
    return fields == 1 && target->phases > 1 ? 1 : f;
}

/** Before several files become one: forgets the part of an image that not all were measured on. */
void mf_target_crop_share(struct mf_target *target, const struct mf_target *other);

/** Is a side's example periodic, as its slices are? (Not if it is the middle of a larger one.) */
int mf_target_example_periodic(const struct mf_target *target, const struct mf_target_side *side);

/** Most pyramid levels for slices of this size: floor(log2(min(nu, nv) / L)), at most MF_LEVELS_MAX. 0: L is too large.
 */
size_t mf_levels(size_t nu, size_t nv, size_t lag);

/**
 * Reads a descriptor file of this program (.h5, schema in docs/FILES.md). mf_target_import reads a foreign .npy window
 * of S2. Rank 0 reads the file in a guarded child; types, extents and values are checked there and again here. All
 * ranks get the values. Collective; refuses (agreed) with MF_INPUT, MF_MEMORY; @p target is set only on success.
 */
int mf_target_load(const struct mf_comm *comm, const char *path, struct mf_target *target);

/** Writes a descriptor file. @p provenance may be NULL; if it names no input hash, the target's own is written. Rank 0
 * touches the disk; the file appears whole or not at all. Collective; refuses (agreed) with MF_OUTPUT. */
int mf_target_save(const struct mf_comm *comm, const char *path, const struct mf_target *target,
                   const struct mf_provenance *provenance);

/** Visits the arrays of its descriptor file: their paths there, extents and axes ("phase level du dv"). */
void mf_target_each(const struct mf_target *target,
                    void (*visit)(void *context, const char *path, int ndim, const size_t *dims, const char *axes,
                                  const double *values),
                    void *context);

/** Has the disk of @p path space for the arrays of @p target? Works before their values are known. MF_OUTPUT. Local. */
int mf_target_room(const char *path, const struct mf_target *target);

/** Broadcasts rank 0's target. The other ranks' targets are overwritten; free them before. Collective; MF_MEMORY,
 * agreed. */
int mf_target_share(const struct mf_comm *comm, struct mf_target *target);

/** Size of its pixels; that along z counts if it has slices of all directions. The target is borrowed. */
struct mf_size mf_target_size(const struct mf_target *target);

/** Have both pixels of one size, in whatever units, or neither a size that is known? */
int mf_target_same_pixels(const struct mf_target *a, const struct mf_target *b);

#define MF_ALL_LAGS SIZE_MAX

/**
 * Reads two-point statistics computed elsewhere: a .npy [H][W] or [H][W][1] of one phase. Zero lag is at [H/2][W/2], as
 * in PyMKS. Cuts it to the lags -L+1..L-1 and symmetrises it about the centre. MF_ALL_LAGS keeps all lags. If @p named
 * is 0, the user named no L, and a small array gives as many lags as it has. The centre is the volume fraction. There
 * is no Variation. Collective. Refuses (agreed) with MF_INPUT. Refuses an L that is too large with MF_USAGE, naming the
 * largest one.
 */
int mf_target_import(const struct mf_comm *comm, const char *path, size_t lag, int named, struct mf_target *target);

#endif
