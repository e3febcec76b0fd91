/* Descriptors of a slice by counting labels: integers, exact.
 * Rule: kernels that measure and swaps that aim at a target (src/recon/tally.h) use the same counts. */
#ifndef MF_KERNELS_COUNT_H
#define MF_KERNELS_COUNT_H

#include <stddef.h>
#include <stdint.h>

/** A slice of labels. */
struct mf_count_slice {
    const uint8_t *is; /* [nu][nv] 1: of the phase, else 0. Pairs: 1 of the first phase, 2 of the second */
    size_t nu, nv, lag;
    int periodic;
};

/** A pixel's role in @p is of a pair. */
enum { MF_COUNT_FIRST = 1, MF_COUNT_SECOND = 2 };

struct mf_count {
    int pairs;                     /* it counts pairs of phases */
    size_t (*numbers)(size_t lag); /* number of integers, at least as many as entries */
    size_t (*entries)(size_t lag); /* number of values */
    /** Bytes of scratch, 8-byte aligned; NULL: none. */
    size_t (*room)(size_t nu, size_t nv);
    /** Counts: number [numbers] gets the slice's counts. The scratch need not be cleared. */
    void (*count)(const struct mf_count_slice *slice, void *scratch, int64_t *number);
    /** Computes value [entries], the descriptor of a slice with these counts; does not read slice->is. */
    void (*values)(const struct mf_count_slice *slice, const int64_t *number, double *value);
};

extern const struct mf_count mf_count_euler;                               /* cpu/slices/count_euler.c */
extern const struct mf_count mf_count_windows;                             /* cpu/slices/count_windows.c */
extern const struct mf_count mf_count_boundaries;                          /* cpu/slices/count_boundaries.c */
extern const struct mf_count mf_count_cluster_function, mf_count_clusters; /* cpu/slices/count_clusters.c */
extern const struct mf_count mf_count_paths;                               /* cpu/slices/count_paths.c */

/** Edges of the windows of LocalFraction: 2, 4, .. up to L, at least one. */
static inline size_t mf_windows_edges(size_t lag)
{
    size_t n = 1;

    while (((size_t)2 << n) <= lag) ++n;
    return n;
}

/** Index of its numbers. They are, for every edge, the sum over windows of the phase's pixels, and the sum of their
 * squares. */
static inline size_t mf_windows_number(size_t edge, int squares) { return 2 * edge + (size_t)squares; }

/** Boundaries of a pair: sides between pixels of both phases. Corners are 2 x 2 blocks with pixels of both and of a
 * third phase. */
enum { MF_BOUNDARY_SIDES, MF_BOUNDARY_CORNERS, MF_BOUNDARY_NUMBERS };

#endif
