/* Descriptors of a slice by counting labels: integers, exact.
 * Rule: kernels that measure and swaps that aim at a target (src/recon/tally.h) use the same counts. */
#ifndef MF_KERNELS_COUNT_H
#define MF_KERNELS_COUNT_H

#include <stddef.h>
#include <stdint.h>

/** A slice of labels. */
struct mf_count_slice {
    const uint8_t *is; /* [nu][nv] 1: of the phase, else 0; of pairs of phases 1: of the first, 2: of the second */
    size_t nu, nv, lag;
    int periodic;
};

/** A pixel's role in @p is of a pair. */
enum { MF_COUNT_FIRST = 1, MF_COUNT_SECOND = 2 };

struct mf_count {
    int pairs;                     /* it is of pairs of phases */
    size_t (*numbers)(size_t lag); /* how many whole numbers, at least as many as entries */
    size_t (*entries)(size_t lag); /* how many values */
    /** Bytes of scratch, 8-byte aligned; NULL: none. */
    size_t (*room)(size_t nu, size_t nv);
    /** number [numbers]: of the slice. The scratch need not be cleared. */
    void (*count)(const struct mf_count_slice *slice, void *scratch, int64_t *number);
    /** value [entries]: the descriptor of a slice with these numbers; slice->is is not read. */
    void (*values)(const struct mf_count_slice *slice, const int64_t *number, double *value);
};

extern const struct mf_count mf_count_euler;                               /* cpu/slices/count_euler.c */
extern const struct mf_count mf_count_windows;                             /* cpu/slices/count_windows.c */
extern const struct mf_count mf_count_boundaries;                          /* cpu/slices/count_boundaries.c */
extern const struct mf_count mf_count_cluster_function, mf_count_clusters; /* cpu/slices/count_clusters.c */
extern const struct mf_count mf_count_ways;                                /* cpu/slices/count_ways.c */

/** Edges of the windows of LocalFraction: 2, 4, .. up to L, at least one. */
static inline size_t mf_windows_edges(size_t lag)
{
    size_t n = 1;

    while (((size_t)2 << n) <= lag) ++n;
    return n;
}

/** Its numbers: of every edge the pixels of the phase in windows, then the squares of those of each window. */
static inline size_t mf_windows_number(size_t edge, int squares) { return 2 * edge + (size_t)squares; }

/** Boundaries of a pair: where pixels of both lie side by side; where 2 x 2 pixels are of both and of a third. */
enum { MF_BOUNDARY_SIDES, MF_BOUNDARY_CORNERS, MF_BOUNDARY_NUMBERS };

#endif
