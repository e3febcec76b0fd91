/* S2 and Variation of strips. A strip is the rows of a slice that a rank owns. Whole slices use two-dimensional
 * transforms (slices.h); strips use transforms along the rows and products of rows that are up to L - 1 apart,
 *
 *   C_d(k) = sum over own rows u of conj(X_u(k)) X_{u+d}(k),   D(d, .) = transform of C_d, added over the ranks.
 *
 * A rank needs the L - 1 rows beside its own and nothing else. So ranks exchange less, and gradients need no exchange.
 * Rule: rounding depends on the positions of the cuts. For back ends whose device memory is the host's. */
#ifndef MF_KERNELS_STRIPS_H
#define MF_KERNELS_STRIPS_H

#include "kernels/backend.h"
#include "kernels/slices/slices.h"

enum { MF_STRIP_LANES = 16 /* slices whose numbers lie side by side */ };

/** Describes what a plan computes. Slices are as in struct mf_slice_desc. The pixels of a row are contiguous, or
 * interleaved with those of other slices. */
struct mf_strip_desc {
    size_t slices, nu, nv; /* how many; their extents [pixels] */
    size_t rows;           /* own rows u, a multiple of 2^(levels-1) */
    size_t lag, levels;
    int periodic;
    double smooth;     /* of Variation */
    int s2, variation; /* what is compared */
};

/** The strips on one level of the pyramid: element (slice s, row u, column v) is row[reach + u][s * ss + v * sv]. Rows
 * u go from -reach to rows + reach - 1; ss or sv is 1. A row that is NULL lies outside of the slice. Device memory. */
struct mf_strip_rows {
    const float *const *row;
    size_t ss, sv;
};

/** Number of a strip's sums on a level: L(2L-1) of S2, for lags du = 0 .. L-1, dv = -L+1 .. L-1; then the jumps along u
 * and along v. */
static inline size_t mf_strip_entries(size_t lag) { return lag * (2 * lag - 1) + 2; }

/** Rows beside its own that a strip needs on every level. */
static inline size_t mf_strip_reach(size_t lag) { return lag > 1 ? lag - 1 : 1; }

/** Floats of the sums of a number of slices: [slices / 16, rounded up][levels][entries][16]. */
static inline size_t mf_strip_sums(size_t slices, size_t levels, size_t lag)
{
    return (slices + MF_STRIP_LANES - 1) / MF_STRIP_LANES * levels * mf_strip_entries(lag) * MF_STRIP_LANES;
}

/** Compares the sums of whole slices with a target. */
struct mf_strip_task {
    const float *target[2];  /* of S2 [levels][(2L-1)^2], of Variation [levels], device; NULL: not compared */
    const double *weight[2]; /* [levels] */
    int power;
    const double *scale; /* [slices], queue->host */
    double *sum[2];      /* out: [slices] A of S2 and of Variation (slices.h), queue->host */
};

struct mf_strip_plan;

struct mf_strip_ops {
    const void *text; /* the back end's own, for plan(); or NULL */
    /** Takes its work areas from queue->arena. May refuse with MF_MEMORY. */
    int (*plan)(const struct mf_strip_ops *ops, struct mf_queue *queue, const struct mf_strip_desc *desc,
                struct mf_strip_plan **plan);
    void (*free)(struct mf_strip_plan *plan);
    /** Computes the next level of own rows: means of 2 x 2 pixels. It goes from fine [2 rows][plane of slices of nv
     * columns] to coarse [rows] [plane of nv / 2]. In a plane slices lie side by side (@p side: [nv][slices]) or one
     * after the other. */
    void (*coarsen)(struct mf_queue *queue, int side, size_t slices, size_t nv, size_t rows, const float *fine,
                    float *coarse);
    /** The sums over own rows of all slices. @p level [levels]; @p target: what S2 is compared with (struct
     * mf_strip_task). For periodic slices the target's asymptotic value (lag.h) is subtracted from the sums. out: @p
     * sums, queue->host. */
    void (*values)(struct mf_strip_plan *plan, const struct mf_strip_rows *level, const float *target, float *sums);
    /** Compares the sums over all rows with the target. Replaces each sum by its factor in the gradient. */
    void (*compare)(struct mf_strip_plan *plan, const struct mf_strip_task *task, float *sums);
    /** Adds the gradient of own rows. Element (s, u, v) goes to g[u * su + s * ss + v * sv], strides of level 0. */
    void (*gradient)(struct mf_strip_plan *plan, const struct mf_strip_rows *level, const float *sums, float *g,
                     size_t su);
};

extern const struct mf_strip_ops mf_strip_cpu;

#endif
