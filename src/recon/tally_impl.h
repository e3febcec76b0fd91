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
    ptrdiff_t su, sv; /* labels from row to row, from column to column */
    int periodic;
};

/** To the pixel @p by (less than an extent) from it along axis 0 or 1 of the slice; 0: the slice ends. */
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

/** A descriptor that is counted: whole numbers of a slice and phase (or, of pairs of phases, of a slice and pair).
 * Arrays are [numbers]. */
struct mf_counted {
    int of_volumes; /* swaps change it in volumes alone */
    /** One that slices have as kernels count them: its numbers and what follows from them. NULL: it has
     * mf_descriptor_entries() numbers, which count() makes, and D = number * inverse. */
    const struct mf_count *whole;
    /** 1 over how many there could be in a slice normal to @p d, number by number; 0: none. Without whole. */
    void (*inverse)(const struct mf_tally *tally, size_t d, double *inverse);
    /** count += what a pixel adds to the counts of its phase, so that all pixels together make them. Without whole. */
    void (*count)(const struct mf_tally *tally, const struct mf_pixel *pixel, int64_t *count);
    /** count += sign times what the counts of this pixel's phase are more with it than if it were of none; of pairs:
     * [pairs][numbers], what those of all pairs are. NULL: a swap changes what no look around it tells, and the slices
     * that it touches are counted anew. */
    void (*add)(const struct mf_tally *tally, const struct mf_pixel *pixel, int sign, int64_t *count);
};

/** Of the volume fractions, and of all that MF_LIST_COUNTED names. */
extern const struct mf_counted mf_counted_frac;
#define MF_ROW(ID, family, ...) extern const struct mf_counted mf_counted_##family;
MF_LIST_COUNTED(MF_ROW)
#undef MF_ROW

#endif
