/* What is counted along the two axes of a slice (axis 0: down its columns, 1: along its rows), of the pixels that are
 * in the phase. Surfaces: pixels of the phase beside one that is not; how often two of them, or one and a pixel that is
 * not of the phase, stand r apart. Chords: runs of exactly n pixels of the phase between two that are not. */
#ifndef MF_KERNELS_FORM_AXES_H
#define MF_KERNELS_FORM_AXES_H

#include <stddef.h>

/** What a pixel is to a phase. */
enum mf_axes_kind { MF_AXES_INSIDE, MF_AXES_SURFACE, MF_AXES_OTHER };

/** Surface-surface, then surface-void; of each: axis 0, then 1; of each: r = 0 .. L-1. */
enum mf_axes_meet { MF_AXES_ALIKE, MF_AXES_UNLIKE };
static inline size_t mf_surface_entries(size_t lag) { return 4 * lag; }
static inline size_t mf_surface_entry(size_t lag, enum mf_axes_meet meet, int axis, size_t r)
{
    return (2 * (size_t)meet + (size_t)axis) * lag + r;
}

/** A meeting counts 1, but a surface and what is not of the phase meet in two orders. */
static inline double mf_surface_share(enum mf_axes_meet meet) { return meet == MF_AXES_UNLIKE ? 0.5 : 1; }

/** Chords of n = 1 .. 2L pixels along axis 0, then along 1. */
static inline size_t mf_chord_longest(size_t lag) { return 2 * lag; }
static inline size_t mf_chord_entries(size_t lag) { return 2 * mf_chord_longest(lag); }
static inline size_t mf_chord_entry(size_t lag, int axis, size_t n)
{
    return (size_t)axis * mf_chord_longest(lag) + n - 1;
}

/** Where @p span + 1 pixels in a row may begin in a slice. */
static inline double mf_axes_places(int periodic, size_t nu, size_t nv, int axis, size_t span)
{
    const size_t n = axis ? nv : nu, across = axis ? nu : nv;

    if (periodic) return (double)nu * (double)nv;
    return span < n ? (double)across * (double)(n - span) : 0;
}

#endif
