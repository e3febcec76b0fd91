/* Statistics of sets of samples: do made microstructures have the statistics of real ones? One accumulator takes the
 * samples of a set one by one, from memory. Two accumulators are compared.
 * Rule: sums are integers. So ranks and accumulators are added in any order, with the same bits. */
#ifndef MF_DESC_SET_MEASURES_H
#define MF_DESC_SET_MEASURES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"
#include "mpi/comm.h"

/** The form of all samples of a set. Sets that are compared have the same. */
struct mf_set_shape {
    int ndim;       /* 2 or 3 */
    size_t dims[3]; /* {nz, ny, nx}; an image has nz = 1 */
    int phases;     /* 2 or more; 0: values of channels */
    size_t lag;     /* curves are of distances below it [pixels], at most half of every extent */
    int periodic;   /* pairs and lines continue across the border; paths do not */
    /* of values only: */
    size_t channels;          /* the last axis of a sample, at most MF_SET_PARTS */
    int is_float;             /* else bytes */
    const double *low, *high; /* [channels] range of the histogram; values outside count at its ends */
};

enum { MF_SET_PARTS = 64 }; /* most phases or channels */

/** Measures of one phase, then measures of one channel of values. */
enum mf_set_measure {
    MF_SET_FRACTION,     /* volume fraction */
    MF_SET_S2,           /* two-point probability at all lags of a slice, as characterize has it: a curve */
    MF_SET_LINEAL,       /* probability that n pixels in line are of the phase, n = 2 .. lag, along axes: a curve */
    MF_SET_INTERFACE,    /* share of neighbours of which one is of the phase, summed over axes: Variation of an image */
    MF_SET_PERCOLATES_Z, /* a path through faces of voxels joins both ends of an axis */
    MF_SET_PERCOLATES_Y,
    MF_SET_PERCOLATES_X,
    MF_SET_MEAN,
    MF_SET_DEVIATION,
    MF_SET_HISTOGRAM,       /* 256 bins of a channel's range: a curve */
    MF_SET_AUTOCORRELATION, /* of a sample's values about their mean, at distances 1 .. lag - 1 along axes: a curve */
    MF_SET_MEASURES
};

/** Facts of a measure. */
struct mf_set_fact {
    const char *name, *title; /* in JSON; in tables */
    int curve;                /* it has several entries */
    int steady;               /* its deviation over samples says nothing: a share of them, a histogram */
};

extern const struct mf_set_fact mf_set_facts[MF_SET_MEASURES];

struct mf_set_measures;

/** Largest lag + 1 of samples with these extents: half of the shortest. Local. */
size_t mf_set_lag_max(int ndim, const size_t dims[3]);

/**
 * Begins an empty set. The host computes on one thread, whatever the queue's back end; memory comes from queue->host.
 * Refuses with MF_USAGE a lag that the extents do not have. MF_MEMORY. Local.
 */
int mf_set_measures_begin(const struct mf_queue *queue, const struct mf_set_shape *shape,
                          struct mf_set_measures **measures);
void mf_set_measures_end(struct mf_set_measures *measures); /* NULL is accepted */

/**
 * Adds sample @p x in host memory: phases uint8 [nz][ny][nx], or values [nz][ny][nx][channels]. Refuses with MF_INPUT a
 * value that is no phase, or not finite; then the set is unchanged. MF_MEMORY. Local.
 */
int mf_set_measures_add(struct mf_set_measures *measures, const void *x);

/** Adds all samples of @p from, of the same shape. Local. */
void mf_set_measures_join(struct mf_set_measures *to, const struct mf_set_measures *from);

/** Adds the samples that other ranks added. Collective. */
void mf_set_measures_sum(const struct mf_comm *comm, struct mf_set_measures *measures);

/** Number of samples. */
size_t mf_set_measures_samples(const struct mf_set_measures *measures);

/** Phases or channels that are measured: of two phases only phase 1. The first is called mf_set_measures_first(). */
size_t mf_set_measures_parts(const struct mf_set_measures *measures);
size_t mf_set_measures_first(const struct mf_set_measures *measures);

/** Number of entries of a measure; 0: sets of this shape do not have it. */
size_t mf_set_measures_entries(const struct mf_set_measures *measures, enum mf_set_measure measure);

/** Means over the samples: value [entries] of one phase or channel. S2: windows [2 lag - 1][2 lag - 1] of slices normal
 * to z, and in volumes also to y and to x. Lineal path and autocorrelation: [axes][lag - 1], axes in order. */
void mf_set_measures_mean(const struct mf_set_measures *measures, size_t part, enum mf_set_measure measure,
                          double *value);

/** The value of a measure that is no curve, in the sample added last. */
double mf_set_measures_last(const struct mf_set_measures *measures, size_t part, enum mf_set_measure measure);

/** One measure of one phase or channel: made samples beside real ones. NAN: not known. */
struct mf_set_row {
    enum mf_set_measure measure;
    size_t part;
    double real, made; /* means over samples; NAN of curves */
    double difference; /* numbers: made - real. Curves: mean of |made - real| over the entries. Histogram: the distance
                          of Wasserstein, which is the mean of |made - real| over quantiles */
    double deviation[2]; /* over the samples, real and made; of curves the root of the mean square over entries */
    double spread;       /* deviation of the made samples over that of the real ones, minus 1 */
};

/** Compares two sets of the same shape: row [mf_set_measures_rows()]. Each has a sample. Local. */
void mf_set_compare(const struct mf_set_measures *real, const struct mf_set_measures *made, struct mf_set_row *row);
size_t mf_set_measures_rows(const struct mf_set_measures *measures);

/**
 * One number that says how far apart two sets are: 0 of equal statistics. Let normal distributions have the means and
 * deviations that a measure has in both sets. It is the root mean square over measures of their distance of
 * Wasserstein, in units of the real deviation. A measure without one does not count; NAN: none counts.
 * Source: D. C. Dowson and B. V. Landau, J. Multivariate Anal. 12 (1982) 450.
 */
double mf_set_distance(size_t rows, const struct mf_set_row *row);

#endif
