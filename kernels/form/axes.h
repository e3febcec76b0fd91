/* Counts along the two axes of a slice of labels (axis 0: along its columns, 1: along its rows). A surface pixel is a
 * pixel of the phase with a neighbour of another phase. Surface correlations count pairs at distance r: two surface
 * pixels, or a surface pixel and a pixel of another phase. A chord is a maximal run of pixels of the phase. */
#ifndef MF_KERNELS_FORM_AXES_H
#define MF_KERNELS_FORM_AXES_H

#include <stddef.h>

/** The class of a pixel with respect to a phase. */
enum mf_axes_kind { MF_AXES_INSIDE, MF_AXES_SURFACE, MF_AXES_OTHER };

/** Entries [surface-surface, surface-void][axis 0, 1][r = 0 .. L-1]. */
enum mf_axes_meet { MF_AXES_ALIKE, MF_AXES_UNLIKE };
static inline size_t mf_surface_entries(size_t lag) { return 4 * lag; }
static inline size_t mf_surface_entry(size_t lag, enum mf_axes_meet meet, int axis, size_t r)
{
    return (2 * (size_t)meet + (size_t)axis) * lag + r;
}

/** The weight of a pair. Surface-void pairs count in both orders, so each order has 1/2. */
static inline double mf_surface_share(enum mf_axes_meet meet) { return meet == MF_AXES_UNLIKE ? 0.5 : 1; }

/** Chords of n = 1 .. 2L pixels along axis 0, then along 1. */
static inline size_t mf_chord_longest(size_t lag) { return 2 * lag; }
static inline size_t mf_chord_entries(size_t lag) { return 2 * mf_chord_longest(lag); }
static inline size_t mf_chord_entry(size_t lag, int axis, size_t n)
{
    return (size_t)axis * mf_chord_longest(lag) + n - 1;
}

/** How many runs of @p span + 1 pixels a slice has along an axis. */
static inline double mf_axes_places(int periodic, size_t nu, size_t nv, int axis, size_t span)
{
    const size_t n = axis ? nv : nu, across = axis ? nu : nv;

    if (periodic) return (double)nu * (double)nv;
    return span < n ? (double)across * (double)(n - span) : 0;
}

#endif
