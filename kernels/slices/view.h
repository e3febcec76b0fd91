/* A view: parallel slices inside a larger array, by strides. Compiled by gcc and nvcc. */
#ifndef MF_KERNELS_VIEW_H
#define MF_KERNELS_VIEW_H

#include <stddef.h>

enum { MF_SIDES = 3 }; /* directions of slices, by their normals z, y, x */

/**
 * @p count slices of @p nu rows and @p nv columns: element (s, u, v) is at base[s * ss + u * su + v * sv]. One of the
 * three strides is 1. A slice normal to z has (u, v) = (y, x), normal to y (z, x), normal to x (z, y).
 *
 * Slices are transformed in pairs (2k, 2k+1) counted from the view's first slice, so a view starts at an even global
 * slice. Then a slice's arithmetic does not depend on the distribution of slices.
 */
struct mf_view {
    float *base; /* device memory of the back end in use */
    size_t count, nu, nv;
    size_t ss, su, sv; /* strides [elements] */
};

/** Slices [at, at + n) of a view, n at most @p most; a view without memory as it is. */
static inline struct mf_view mf_view_part(const struct mf_view *x, size_t at, size_t most)
{
    struct mf_view v = *x;

    if (!v.base) return v;
    v.base += at * x->ss;
    v.count = x->count - at < most ? x->count - at : most;
    return v;
}

#endif
