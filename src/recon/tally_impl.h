/* A pixel of a slice, and the functions by which a descriptor counts pixels. Private to the tally_*.c, one file for
 * each kind of count. */
#ifndef MF_RECON_TALLY_IMPL_H
#define MF_RECON_TALLY_IMPL_H

#include "kernels/slices/count.h"
#include "src/recon/tally.h"

/** A pixel of a slice. */
struct mf_pixel {
    const uint8_t *label;
    size_t u, v, nu, nv;
    ptrdiff_t su, sv; /* bytes from row to row, from column to column of labels */
    int periodic;
};

/** Moves to the pixel @p by (less than an extent) further along axis 0 or 1 of the slice. Returns 0 at the end of the
 * slice. */
static inline int mf_pixel_go(struct mf_pixel *p, int axis, ptrdiff_t by)
{
    const ptrdiff_t n = (ptrdiff_t)(axis ? p->nv : p->nu), at = (ptrdiff_t)(axis ? p->v : p->u);
    ptrdiff_t to = at + by;

    if (to < 0 || to >= n) {
        if (!p->periodic) return 0;
        to += to < 0 ? n : -n;
    }
    p->label += (to - at) * (axis ? p->sv : p->su);
    *(axis ? &p->v : &p->u) = (size_t)to;
    return 1;
}

/** A counted descriptor: integers for a slice and phase or, of pairs of phases, for a slice and pair. Arrays are
 * [numbers]. */
struct mf_counted {
    int of_volumes; /* swaps change it only in volumes */
    /** The kernels' way of counting a slice: its numbers and values. NULL: count() makes mf_descriptor_entries()
     * numbers, and D = number * inverse. */
    const struct mf_count *whole;
    /** 1 over the largest possible count in a slice normal to @p d, number by number; 0: none. Only without `whole`. */
    void (*inverse)(const struct mf_tally *tally, size_t d, double *inverse);
    /** count += the contribution of a pixel to the counts of its phase; over all pixels it gives the total. Only
     * without `whole`. */
    void (*count)(const struct mf_tally *tally, const struct mf_pixel *pixel, int64_t *count);
    /** count += sign times the difference of the counts with and without this pixel. Pairs: [pairs][numbers], for all
     * pairs. NULL: the difference is not local, and the slices that a swap changes are recounted. */
    void (*add)(const struct mf_tally *tally, const struct mf_pixel *pixel, int sign, int64_t *count);
};

/** For the volume fractions, and for all in MF_LIST_COUNTED. */
extern const struct mf_counted mf_counted_frac;
#define MF_ROW(ID, family, ...) extern const struct mf_counted mf_counted_##family;
MF_LIST_COUNTED(MF_ROW)
#undef MF_ROW

#endif
