/* The parts of an accumulator of a set. Private to src/desc. */
#ifndef MF_DESC_SET_MEASURES_IMPL_H
#define MF_DESC_SET_MEASURES_IMPL_H

#include "src/desc/set_measures.h"

enum { MF_SET_BINS = 256 };

/* A real value of a sample counts in such grains, and so does a mean square. 2^27 samples of at most 3 fit a sum. */
#define MF_SET_GRAIN 0x1p-34

struct mf_set_measures {
    struct mf_set_shape shape;
    struct mf_queue queue; /* of one thread */
    size_t voxels, parts, entries;
    size_t first[MF_SET_MEASURES + 1]; /* where the entries of a measure begin; the last one: all entries */
    double *scale;                     /* [entries] a count times it is a value */
    int64_t *count;                    /* [parts][entries] of the sample added last */
    int64_t *total;                    /* [parts][entries + MEASURES]: sums of counts, then of mean squares in grains */
    int64_t samples;
    double low[MF_SET_PARTS], high[MF_SET_PARTS];
    uint32_t *parent; /* phases: [voxels] */
    uint8_t *ends;    /* phases: [voxels] */
    uint64_t *bits;   /* phases: [rows][words] */
    double *value;    /* values: [voxels] of one channel, less their mean */
};

/** The first axis, as an image has no z. Neighbours on an axis are so far apart in memory. */
static inline int mf_set_axis_first(const struct mf_set_measures *m) { return 3 - m->shape.ndim; }
static inline size_t mf_set_stride(const size_t dims[3], int axis)
{
    return axis == 2 ? 1 : axis == 1 ? dims[2] : dims[1] * dims[2];
}

/** Number of pairs of voxels, or of runs that begin and end so far apart along an axis. */
static inline double mf_set_places(const struct mf_set_measures *m, int axis, size_t distance)
{
    const size_t n = m->shape.dims[axis], lines = m->voxels / n;

    return (double)lines * (double)(m->shape.periodic ? n : n - distance);
}

/** Entries of a measure; 0: a set of this shape does not have it. */
size_t mf_set_entries_phases(const struct mf_set_shape *shape, enum mf_set_measure measure);
size_t mf_set_entries_values(const struct mf_set_shape *shape, enum mf_set_measure measure);

/** Sets scale. */
void mf_set_scale_phases(struct mf_set_measures *m);
void mf_set_scale_values(struct mf_set_measures *m);

/** Fills count, which is cleared, with the counts of a sample. MF_INPUT, MF_MEMORY. */
int mf_set_count_phases(struct mf_set_measures *m, const uint8_t *x);
int mf_set_count_values(struct mf_set_measures *m, const void *x);

#endif
