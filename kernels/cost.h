/* Bytes and operations of the kernels by their formulas. GB/s and GFLOP/s of --log-view come from them.
 * Rule: a cost belongs to the formula, not to a back end, so that rates of back ends and of algorithms can be compared.
 * Where a back end does less work than the formula, its family's cost() says so (kernels/slices/slices.h), and plans
 * use that.
 *
 * bytes        traffic between memory and the caches: every float that is read or written, once per call. A slice stays
 *              in a cache while it is processed, so its transforms cause no traffic.
 * operations   additions and multiplications of floats in the plainest algorithm. A real transform of N points counts
 *              as 5/2 N log2 N, as in FFTW's benchmarks, although one that skips lags beyond L does less. Comparisons,
 *              projections and conversions do not count. */
#ifndef MF_KERNELS_COST_H
#define MF_KERNELS_COST_H

#include "kernels/field.h"
#include "kernels/slices/slices.h"
#include "src/base/phase.h"

/** A real transform of so many points. */
double mf_cost_transform(double points);

/** So many operations per pixel of a level; pooling and bytes as of S2. */
struct mf_cost mf_cost_pixels(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what, double operations);

/**
 * S2 of @p count slices. Per slice and level l of n pixels, transformed on N points (n; not periodic: with L - 1 more
 * along either axis), w = (2L-1)^2 lags:
 *
 *   values    2 transforms + 3/2 N (|X|^2) + 5 w (scale, - T, weight, square, add) + 4 n (pooling, l > 0)
 *   gradient  2 more + N (window's transform times X) + 2 w + n (+=) + 4 n (pooling, l > 0)
 *   total     1 transform + 2 N (|X|^2 added up) + 4 n (pooling, l > 0)
 *   cross     3 transforms + 3 N + 2 w + 8 n (pooling, l > 0)
 *
 * Bytes: 4 per pixel, with a gradient 12 (it is read and written), of a pair 8.
 */
struct mf_cost mf_cost_s2(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Cross-correlations of @p count pairs of slices: per level as above 3 transforms, 3 N and 5 w, with a gradient 3
 * transforms, 6 N, 2 w and 2 n more, and pooling for two. Bytes: twice those above. */
struct mf_cost mf_cost_pairs(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * S2_3D of @p count planes, nu x nv = ny x nx: per plane a transform on N points as above and 4 L N (products with L
 * planes), with a gradient 1 more and 8 L N. Bytes as above.
 */
struct mf_cost mf_cost_s2_3d(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** CrossS2_3D of @p count pairs of planes: 2 transforms and 8 L N, with a gradient 2 more and 8 (2 L - 1) N. Bytes:
 * twice those above. */
struct mf_cost mf_cost_cross_s2_3d(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Variation: per pixel of a level 6 (two differences, their size, two sums), with a gradient 6 more; pooling, bytes as
 * above. */
struct mf_cost mf_cost_variation(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Volume fraction: per pixel 1, with a gradient 1 more: levels need no pooling. Bytes as above. */
struct mf_cost mf_cost_fraction(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Lineal paths: per pixel of a level and line of n pixels that begins there
 *
 *   running sums (lineal: 4 L lines of it)          2, two thresholds 24, added up 2; with a gradient 2 + 24 + 6 more
 *   masks of n pixels (lineal_soft, line_soft)      2 n + 13, with a gradient 4 n + 13 more
 *
 * two_point: masks of two pixels. Pooling, bytes as above.
 */
struct mf_cost mf_cost_lineal(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** Surface correlations: per pixel of a level, axis and lag 4 (two comparisons, two sums); chords: 4 per axis. */
struct mf_cost mf_cost_surface(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_chords(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** What else is counted on labels (kernels/slices/count.h), per pixel of a level: Euler number 4 (four pixels read, two
 * sums); windows 3; boundaries 8 (two sides, a corner), of @p count pairs of slices; clusters found 8, then of every
 * axis and lag 3, or for their sizes and ends 8 more; ways 10 per axis (four neighbours, a queue). Pooling, bytes as
 * above. */
struct mf_cost mf_cost_euler(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_windows(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_boundaries(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_cluster_function(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_clusters(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_ways(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_lineal_soft(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_line_soft(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_two_point(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/** Gram matrices of C channels: per pixel of a level C (3 + C + 1), with a gradient C (3 + 2 C + 8) more. */
struct mf_cost mf_cost_gram(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
struct mf_cost mf_cost_gram_axes(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/** Of @p count pairs of slices: as mf_cost_gram(), bytes twice those above. */
struct mf_cost mf_cost_gram_cross(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
/**
 * Structure tensor: per pixel of a level 10 (differences, products), smoothing three maps 3 * 2 * 22, coherence 6, and
 * 2 per lag and map; with a gradient all of this once more, three maps smoothed back, and 3 per lag and map besides.
 */
struct mf_cost mf_cost_structure_tensor(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Gram matrices of VGG-19: per layer of n pixels, from c channels to k, 18 c k n, and behind a block k (k + 1) n; with
 * a gradient 18 c k n and 2 k^2 n more. Pooling, bytes as above; the weights are not counted.
 */
struct mf_cost mf_cost_vgg(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * Patches with their neighbours held: per pixel of a level 4 (distance, its square, weight, sum), with a gradient 5
 * more; pooling, and bytes as above with the pull's two floats read besides.
 */
struct mf_cost mf_cost_patches(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);

/**
 * The search for neighbours of @p count slices, all phases: per level with n and m patches in slice and example and 24
 * coordinates (2 * 24 + 2) n m for the distances and 2 * 24 * 81 n per phase for the coordinates. A slice is read.
 */
struct mf_cost mf_cost_search(const struct mf_slice_desc *desc, size_t count);

/** @p arrays floats read or written, @p operations per float of the extent. */
struct mf_cost mf_cost_pass(struct mf_extent e, double arrays, double operations);

/** free_dots() and direction() with n pairs: x, g, s_i, y_i read twice (the first pass only where n > 0), d written;
 * 2 (1 + 2 n) and 2 (1 + 2 n) + 2. */
struct mf_cost mf_cost_direction(struct mf_extent e, size_t pairs);
/** x, g, d read, x_new written; x + step d 2, g.(x_new - x) 3. */
struct mf_cost mf_cost_step(struct mf_extent e);
/** x, x_new, g, g_new and n old pairs read, s, y written; two differences, 2 + 3 n dot products. */
struct mf_cost mf_cost_pair(struct mf_extent e, size_t pairs);
/** g read, x and @p kept vectors read and written; 2 and 6 for each (Adam: 14, Kingma & Ba 2015, algorithm 1). */
struct mf_cost mf_cost_adapt(struct mf_extent e, size_t kept);
/** guide(): x read, g read and written; lambda (1 - 2 x) + shift 5, x (1 - x) added up 3. */
struct mf_cost mf_cost_guide(struct mf_extent e);

#endif
