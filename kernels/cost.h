/* Bytes and operations of the kernels by their formulas. GB/s and GFLOP/s of --log-view come from them.
 * Rule: a cost belongs to the formula, not to a back end. So rates of back ends and of algorithms can be compared.
 * Where a back end does less work than the formula, its family's cost() says so (kernels/slices/slices.h). Plans use
 * that.
 *
 * bytes        traffic between memory and the caches: every float that is read or written, once per call. A slice stays
 *              in a cache while it is processed, so its transforms cause no traffic.
 * operations   additions and multiplications of floats in the plainest algorithm. A real transform of N points counts
 *              as 5/2 N log2 N, as in FFTW's benchmarks. A transform that skips lags beyond L does less. Comparisons,
 *              projections and conversions do not count. */
#ifndef MF_KERNELS_COST_H
#define MF_KERNELS_COST_H

#include "kernels/field.h"
#include "kernels/slices/slices.h"
#include "src/base/phase.h"

/** A real transform of so many points. */
double mf_cost_transform(double points);

/** A fixed number of operations per pixel of a level; pooling and bytes as for S2. */
struct mf_cost mf_cost_pixels(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what, double operations);

/**
 * S2 of @p count slices. N is the number of points of a transform: n, and without periodicity L - 1 more along either
 * axis. The number of lags is w = (2L-1)^2. Per slice and level l of n pixels:
 *
 *   values    2 transforms + 3/2 N (|X|^2) + 5 w (scale, - T, weight, square, add) + 4 n (pooling, l > 0)
 *   gradient  2 more + N (window's transform times X) + 2 w + n (+=) + 4 n (pooling, l > 0)
 *   total     1 transform + 2 N (sum of |X|^2) + 4 n (pooling, l > 0)
 *   cross     3 transforms + 3 N + 2 w + 8 n (pooling, l > 0)
 *
 * Bytes: 4 per pixel; with a gradient 12, because it is read and written; 8 for a pair.
 */
struct mf_cost mf_cost_s2(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Cross-correlations of @p count pairs of slices. Per level 3 transforms, 3 N and 5 w, as above. A gradient needs 3
 * transforms, 6 N, 2 w and 2 n more. Two slices are pooled. Bytes: twice those above. */
struct mf_cost mf_cost_pairs(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * S2_3D of @p count planes, nu x nv = ny x nx. Per plane one transform on N points as above, and 4 L N for products
 * with L planes. A gradient needs one transform and 8 L N more. Bytes as above.
 */
struct mf_cost mf_cost_s2_3d(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** CrossS2_3D of @p count pairs of planes: 2 transforms and 8 L N. A gradient needs 2 transforms and 8 (2 L - 1) N
 * more. Bytes: twice those above. */
struct mf_cost mf_cost_cross_s2_3d(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Variation: per pixel of a level 6 (two differences, their absolute values, two sums); a gradient needs 6 more.
 * Pooling and bytes as above. */
struct mf_cost mf_cost_variation(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Volume fraction: per pixel 1, with a gradient 1 more: levels need no pooling. Bytes as above. */
struct mf_cost mf_cost_fraction(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Lineal paths. Per pixel of a level, for every line of n pixels that begins there:
 *
 *   running sums (lineal: 4 L lines)               2, two thresholds 24, sums 2; with a gradient 2 + 24 + 6 more
 *   masks of n pixels (lineal_soft, line_soft)      2 n + 13, with a gradient 4 n + 13 more
 *
 * two_point: masks of two pixels. Pooling and bytes as above.
 */
struct mf_cost mf_cost_lineal(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** Surface correlations: per pixel of a level, axis and lag 4 (two comparisons, two sums); chords: 4 per axis. */
struct mf_cost mf_cost_surface(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_chords(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** Other counts of labels (kernels/slices/count.h), per pixel of a level. Euler number: 4 (four pixels read, two sums).
 * Windows: 3. Boundaries of @p count pairs of slices: 8 (two sides, a corner). Clusters: 8 to find them, then 3 per
 * axis and lag, or 8 for sizes and ends. Ways: 10 per axis (four neighbours, a queue). Pooling and bytes as above. */
struct mf_cost mf_cost_euler(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_windows(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_boundaries(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_cluster_function(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_clusters(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_paths(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_lineal_soft(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_line_soft(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_two_point(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Gram matrices of C channels: per pixel of a level C (3 + C + 1); a gradient needs C (3 + 2 C + 8) more. */
struct mf_cost mf_cost_gram(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_gram_axes(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** Costs of @p count pairs of slices: as mf_cost_gram(), bytes twice those above. */
struct mf_cost mf_cost_gram_cross(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/**
 * Structure tensor, per pixel of a level: 10 (differences, products), 3 * 2 * 22 to smooth three maps. It needs 6 for
 * the coherence, and 2 per lag and map. A gradient needs all of this again, three maps smoothed back, and 3 per lag and
 * map.
 */
struct mf_cost mf_cost_structure_tensor(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Gram matrices of VGG-19. Per layer of n pixels, from c channels to k: 18 c k n. After a block it is k (k + 1) n more.
 * A gradient adds 18 c k n and 2 k^2 n. Pooling and bytes as above; the weights are not counted.
 */
struct mf_cost mf_cost_vgg(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Patches with fixed neighbours. Per pixel of a level 4 (distance, its square, weight, sum); a gradient needs 5 more.
 * Pooling and bytes as above; also reads the two floats of the pull.
 */
struct mf_cost mf_cost_patches(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * The search for the neighbours of @p count slices, all phases. A level has n patches in the slice, m in the example,
 * and 24 coordinates. It needs 2 * 24 * 81 n per phase for coordinates. For distances all pairs need (2 * 24 + 2) n m.
 * Trees need about 5500 (n + m) log2(n + m), as measured: different patches look at different numbers of others. The
 * slice is read.
 */
struct mf_cost mf_cost_search(const struct mf_slice_desc *desc, size_t count);

/** Reads or writes @p arrays floats, and does @p operations, per float of the extent. */
struct mf_cost mf_cost_pass(struct mf_extent e, double arrays, double operations);

/** free_dots() and direction() with n pairs. Reads x, g, s_i, y_i twice (the first time only if n > 0) and writes d.
 * Operations: 2 (1 + 2 n) and 2 (1 + 2 n) + 2. */
struct mf_cost mf_cost_direction(struct mf_extent e, size_t pairs);
/** Reads x, g, d and writes x_new. Operations: x + step d 2, g.(x_new - x) 3. */
struct mf_cost mf_cost_step(struct mf_extent e);
/** Reads x, x_new, g, g_new and n old pairs; writes s, y. Operations: two differences, 2 + 3 n dot products. */
struct mf_cost mf_cost_pair(struct mf_extent e, size_t pairs);
/** Reads g; reads and writes x and @p kept vectors. Operations: 2, and 6 for each vector (Adam: 14, Kingma & Ba 2015,
 * algorithm 1). */
struct mf_cost mf_cost_adapt(struct mf_extent e, size_t kept);
/** guide(): reads x; reads and writes g. Operations: 5 for lambda (1 - 2 x) + shift, 3 for the sum of x (1 - x). */
struct mf_cost mf_cost_guide(struct mf_extent e);

#endif
