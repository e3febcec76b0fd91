/* A target: descriptors of a microstructure as values. characterize writes it, merge combines it, reconstruct aims at
 * it. Rule: plain data, equal on all ranks. */
#ifndef MF_IO_TARGET_H
#define MF_IO_TARGET_H

#include "io/micro.h"
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

/** What a file calls one, and what it is made of. */
struct mf_more_row {
    const char *name;                 /* of its dataset */
    const struct mf_slice_kind *kind; /* that knows how many entries it has */
    size_t family;                    /* offset of its kernels in struct mf_slices */
    unsigned traits;                  /* enum mf_trait */
};

/** The rows, MF_MORE of them. */
extern const struct mf_more_row mf_more_rows[];

/** Has enum mf_more @p which this trait? */
static inline int mf_more_is(int which, enum mf_trait trait) { return (mf_more_rows[which].traits & trait) != 0; }

/** How many there are of it with so many phases: phases, or pairs (a < b) of them, (0,1) (0,2) .. (1,2) .. */
size_t mf_more_parts(enum mf_more which, size_t phases);

/** Entries per level of one; lag: L. */
size_t mf_more_entries(enum mf_more which, size_t lag);

/** Descriptors of a volume as a whole. */
enum mf_whole {
    MF_WHOLE_S2,    /* S2_3D: [phases][L][2L-1][2L-1], lags dz >= 0, dy, dx */
    MF_WHOLE_CROSS, /* CrossS2_3D: [pairs][2L-1][2L-1][2L-1], all lags */
    MF_WHOLE_SPANS, /* [phases][3]: share of its voxels in clusters that reach from face to face along z, y, x */
    MF_WHOLE
};

/** Descriptors of the slices with one normal, meant over them. */
struct mf_target_side {
    size_t nu, nv, slices; /* extents of the slices they came from; how many */
    size_t levels;         /* pyramid levels present */
    double *s2;            /* [phases][levels][W][W], W = 2L-1, rows du, columns dv, zero lag in the centre */
    double *cross;         /* [pairs][levels][W][W], pairs (a < b) in order (0,1) (0,2) .. (1,2) ..; NULL: none */
    double *variation;     /* [phases][levels], jumps per pixel; NULL: none (imported two-point statistics) */
    double *fraction;      /* [phases][levels] */
    double *more[MF_MORE]; /* [parts][levels][entries] each; NULL: none */
    double *example; /* [example_nu][example_nv]: phase of every pixel of a slice, -1: none of these; NULL: none */
    size_t example_nu, example_nv; /* at most MF_EXAMPLE_MAX: the middle of a larger slice */
};

/** What was seen of a micrograph, by which it is chosen what to aim at (src/recon/recipe.h); of two phases or more of
 * phase 1. */
struct mf_target_look {
    int phases;           /* 0: nobody looked */
    int foreign;          /* a file says what another version saw, which is not known here */
    size_t edge;          /* the shorter one of the example; where it is chosen, of the result as well */
    size_t coarsest;      /* the same of the coarsest grid, at least; 0: nothing was chosen */
    double example;       /* pixels of it */
    double pixels;        /* of the slice; where it is chosen, of all slices of the result, in all directions */
    double rare;          /* the smallest volume fraction */
    double coherence;     /* how straight edges are (root of C^2 / E^2), over that of the surrogates */
    double trough, crest; /* least autocovariance over its value at 0, and the largest beyond; 0: none was seen */
    double wave;          /* periods per pixel of its strongest wave; 0: none was seen */
    double cells;         /* walls of the rarer phase part the other into so many a pixel; 0: not into cells */
    double sizes;         /* standard deviation over the mean of the areas of inclusions; -1: too few lie whole in it */
    double seam;          /* do opposite borders fit? 0: as neighbours inside do; 1: as pixels far apart, or not seen */
};

struct mf_target {
    int phases;
    int sides; /* 1: an image or an isotropic mean, used for every direction; 3: normals z, y, x */
    long label[MF_PHASES_MAX];
    size_t lag; /* L */
    int periodic, seam;
    double threshold,
        steepness;              /* t and s of the soft threshold (kernels/form/soft.h); 0: nothing here depends on it */
    int masked;                 /* of a part of the voxels: one phase's values do not give the other's */
    char vgg_name[MF_VGG_NAME]; /* the weights (kernels/slices/vgg.h); "": no value depends on them */
    struct mf_target_side side[3];
    double *whole[MF_WHOLE]; /* NULL: none */
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    char hash[MF_HASH_TEXT]; /* of the input(s) */
    char source[256];        /* name of the file it came from */
    struct mf_target_look look;
};

/** Allocates the arrays of a side (heap, cleared; extents 0; cross only where there are pairs). MF_MEMORY. */
int mf_target_side_new(struct mf_target_side *side, int phases, size_t levels, size_t lag, int cross);
/** Room for one of the further descriptors (cleared; of pairs only where there are pairs). MF_MEMORY. */
int mf_target_side_more(struct mf_target_side *side, int phases, size_t lag, enum mf_more which);
/** Entries of one part, and how many parts (phases, or pairs of them) there are. */
size_t mf_whole_entries(enum mf_whole which, size_t lag);
size_t mf_whole_parts(enum mf_whole which, size_t phases);
/** Room for one of these (heap, cleared). MF_MEMORY. */
int mf_target_whole_new(struct mf_target *target, enum mf_whole which);
/** Room for an example (heap, cleared). MF_MEMORY. */
int mf_target_example_new(struct mf_target_side *side, size_t nu, size_t nv);
/** Only the middle of an example that has a longer edge than @p most. */
void mf_target_example_cut(struct mf_target_side *side, size_t most);
void mf_target_side_free(struct mf_target_side *side);
void mf_target_free(struct mf_target *target);

/** The side that slices normal to @p normal aim at. */
const struct mf_target_side *mf_target_for(const struct mf_target *target, enum mf_normal normal);

/** The phase of the target that field @p f of @p fields aims at: a single field is the indicator of phase 1. */
static inline size_t mf_target_phase(const struct mf_target *target, size_t fields, size_t f)
{
    return fields == 1 && target->phases > 1 ? 1 : f;
}

/** Does a side's example repeat as its slices do? (Not when it is the middle of a larger one.) */
int mf_target_example_periodic(const struct mf_target *target, const struct mf_target_side *side);

/** Most pyramid levels for slices of this size: floor(log2(min(nu, nv) / L)), at most MF_LEVELS_MAX; 0: L is too large.
 */
size_t mf_levels(size_t nu, size_t nv, size_t lag);

/**
 * Reads a descriptor file of ours (.h5, schema in docs/FILES.md; a foreign .npy window of S2 is mf_target_import).
 * Rank 0 reads it, in a guarded child: types, extents and values are checked there and again here. All ranks get the
 * values. Collective; refuses (agreed) with MF_INPUT, MF_MEMORY; @p target is set only on success.
 */
int mf_target_load(const struct mf_comm *comm, const char *path, struct mf_target *target);

/** Writes one. @p provenance may be NULL; where it names no input hash, the target's own is written. Rank 0 touches the
 * disk; the file appears whole or not at all. Collective; refuses (agreed) with MF_OUTPUT. */
int mf_target_save(const struct mf_comm *comm, const char *path, const struct mf_target *target,
                   const struct mf_provenance *provenance);

/** Before its values are known: has the disk of @p path room for what is there of @p target? MF_OUTPUT. Local. */
int mf_target_room(const char *path, const struct mf_target *target);

/** Rank 0's target to all ranks (theirs are filled; free what they held before). Collective; MF_MEMORY, agreed. */
int mf_target_share(const struct mf_comm *comm, struct mf_target *target);

/** Have both pixels of one size and unit? Along z it counts where both have slices of all directions. */
int mf_target_same_pixels(const struct mf_target *a, const struct mf_target *b);

#define MF_ALL_LAGS SIZE_MAX

/**
 * Two-point statistics computed elsewhere: a .npy [H][W] (one phase, zero lag at [H/2][W/2] as PyMKS centres it) or
 * [H][W][1]; cut to the lags -L+1..L-1, symmetrised about the centre (MF_ALL_LAGS: as many as there are; unless L is @p
 * named by the user: as many of them as there are); its centre is the volume fraction. No Variation. Collective;
 * refuses (agreed) with MF_INPUT, and with MF_USAGE when L is too large for the array (naming the largest).
 */
int mf_target_import(const struct mf_comm *comm, const char *path, size_t lag, int named, struct mf_target *target);

#endif
