/* How to show the values of a descriptor: as a window of lags, a matrix, curves or a few numbers. A row of the registry
 * names one of these kinds. Drawing code knows only the kinds, not the descriptors. */
#ifndef MF_DESC_SHOWN_H
#define MF_DESC_SHOWN_H

#include <stddef.h>

enum mf_shown_as {
    MF_SHOWN_NUMBER, /* single numbers */
    MF_SHOWN_LAGS,   /* squares of lags, zero lag in the centre */
    MF_SHOWN_MATRIX, /* squares of products */
    MF_SHOWN_CURVES
};

struct mf_shown {
    enum mf_shown_as as;
    size_t count;            /* squares, curves or numbers */
    const char *const *name; /* [count], NULL: no names. "%u", "%v": axes of a slice's rows and columns */
    const char *across;      /* abscissa of curves, or of rows and columns of a matrix */
    const char *value;       /* ordinate of curves */
    double first, step;      /* abscissa of the first point, step; step of a window's lags [pixels] */
    int doubles;             /* abscissae are first, twice that, four times that, .. */
    size_t (*extent)(size_t lag, size_t k);          /* rows (and columns) of square k; points of curve k */
    size_t (*entry)(size_t lag, size_t k, size_t i); /* index of point i, or of row * extent + column = i */
    const char *const (*axes)[2]; /* [count] axes of rows and columns of windows; NULL: those of a slice */
};

extern const struct mf_shown mf_shown_window, mf_shown_pairs, mf_shown_structure_tensor, mf_shown_s2_3d,
    mf_shown_cross_s2_3d;
extern const struct mf_shown mf_shown_gram, mf_shown_gram_axes, mf_shown_vgg;
extern const struct mf_shown mf_shown_lineal, mf_shown_lineal_exact, mf_shown_lineal_soft, mf_shown_line_soft;
extern const struct mf_shown mf_shown_surface, mf_shown_chords, mf_shown_variation, mf_shown_fraction;
extern const struct mf_shown mf_shown_euler, mf_shown_windows, mf_shown_boundaries;
extern const struct mf_shown mf_shown_cluster_function, mf_shown_clusters, mf_shown_paths;

#endif
