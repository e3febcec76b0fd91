/* The two-point correlation of a field in space. It is computed from two-dimensional transforms of planes and products
 * of their spectra. With F_k the spectrum of plane k, planes of ny x nx voxels and L lags
 *
 *   S_d = sum over k of conj(F_k) F_(k+d), d = 0 .. L-1        (the caller adds over all ranks)
 *   D(d, u, v) = inverse transform of S_d at (u, v), divided by the number of pairs
 *
 * A rank needs the spectra of its planes and of the L - 1 planes above. A gradient also needs the L - 1 below. As D(-d,
 * -u, -v) = D(d, u, v), windows hold only the lags d >= 0. They are [L][2L-1][2L-1], u and v from -L+1 on.
 *
 * Two fields: S_d = sum over k of conj(F_k) G_(k+d) is their cross-correlation. Lags d < 0 are those of the exchanged
 * fields, point-reflected. */
#ifndef MF_KERNELS_SPACE_H
#define MF_KERNELS_SPACE_H

#include <math.h>

#include "kernels/backend.h"

struct mf_space_desc {
    size_t nz, ny, nx; /* of the whole field */
    size_t lag;        /* L, at most half of each */
    size_t planes;     /* most planes whose spectra are held at a time, including those of other ranks */
    int periodic;      /* 0: only pairs inside the field, divided by their number */
    int pairs;         /* two fields are compared as well */
};

struct mf_space_plan; /* a back end's own */

enum { MF_SPACE_ALIGN = 32 }; /* floats */

/** Extent of a transform of n voxels; floats of a row, and of a plane, of a plane's spectrum. */
size_t mf_space_extent(const struct mf_space_desc *desc, size_t n);
size_t mf_space_row(const struct mf_space_desc *desc);
size_t mf_space_plane(const struct mf_space_desc *desc);

/** p + magic - magic rounds p. So sums of products of a field in [0, 1], at most @p most, add up exactly. */
static inline double mf_space_magic(double most)
{
    int exponent;

    (void)frexp(most, &exponent);
    return ldexp(1.5, exponent + 1);
}

struct mf_space_ops {
    /** Floats of the spectrum of a plane; planes follow each other. A back end may work without transforms. Its
     * "spectra" are then the planes themselves, and its sums are those of products at every lag. */
    size_t (*plane)(const struct mf_space_desc *desc);
    /** Takes its work areas from the queue's arenas. May refuse with MF_MEMORY. */
    int (*plan)(struct mf_queue *queue, const struct mf_space_desc *desc, struct mf_space_plan **plan);
    void (*free)(struct mf_space_plan *plan);
    /** x: [planes][ny][nx], spectra: [planes][plane()], device. */
    void (*transform)(struct mf_space_plan *plan, size_t planes, const float *x, float *spectra);
    /**
     * sums: [L][plane()], queue->host, out: S_d of @p planes planes of @p first and of @p second. Behind @p second
     * stand its L - 1 next planes (zero: none). Both may be one field; two fields need desc->pairs. Fields lie in [0,
     * 1]. Products are rounded to multiples of a number that depends only on the field's extents. It is so large that
     * sums are exact: the same bits in any order, on any number of ranks.
     */
    void (*products)(struct mf_space_plan *plan, size_t planes, const float *first, const float *second, double *sums);
    /** window: [L][2L-1][2L-1], queue->host, out: D from the sums of all planes of the field. */
    void (*window)(struct mf_space_plan *plan, const double *sums, double *window);
    /**
     * g: [planes][ny][nx], device: += sum over all lags, also d < 0, of slope dD/dx. slope: a window, queue->host.
     * spectra: L - 1 planes, those of g, L - 1 planes; those of g are overwritten.
     */
    void (*adjoint)(struct mf_space_plan *plan, size_t planes, const double *slope, float *spectra, float *g);
    /**
     * The same for the first of two fields: g += sum over all lags r of slope(r) times the second at p + r, divided by
     * the number of pairs. slope: [2L-1][2L-1][2L-1], d from -L+1 on, queue->host. spectra: of the second field, L - 1
     * planes, those at g's planes, L - 1 planes; they are kept. The plan must have desc->pairs.
     */
    void (*across)(struct mf_space_plan *plan, size_t planes, const double *slope, const float *spectra, float *g);
};

#endif
