/* The lineal path: runs of n pixels, n = 3, 5, .. 2L + 1, in the four directions of mf_lineal_along().
 * Entry 0 is the mean of x. Sharp: f_n is mf_soft_line(n) of form/soft.h. As s / n = 4 for all n, its exponential is a
 * running product of one number per pixel. The four entries of a length are followed by the four of the complement.
 * Exact: a run counts where less than half a pixel of it is missing. */
#ifndef MF_KERNELS_FORM_LINEAL_H
#define MF_KERNELS_FORM_LINEAL_H

#include <stddef.h>

#include "kernels/form/soft.h"

enum { MF_LINEAL_DIRECTIONS = 4 };

#define MF_LINEAL_STEEP 4.0f        /* s / n of mf_soft_line(n) */
#define MF_LINEAL_EDGE  0.13533528f /* exp(-s (1 - t)) */

/** Rows and columns from pixel to pixel of a run: (1,1), (1,-1), (0,1), (1,0). */
MF_HD void mf_lineal_along(int direction, int *du, int *dv)
{
    *du = direction != 2;
    *dv = direction == 1 ? -1 : direction != 3;
}

static inline size_t mf_lineal_entries(int exact, size_t lag)
{
    return 1 + (exact ? 1 : 2) * (size_t)MF_LINEAL_DIRECTIONS * lag;
}

/** Entry of runs of 2c + 1 pixels; @p rest: of the complement of the phase. */
MF_HD size_t mf_lineal_entry(int exact, size_t c, int direction, int rest)
{
    const size_t each = MF_LINEAL_DIRECTIONS;

    return 1 + (exact ? each : 2 * each) * (c - 1) + (size_t)direction + (rest ? each : 0);
}

/** How many runs of n pixels there are in a slice. */
MF_HD double mf_lineal_runs(int periodic, size_t nu, size_t nv, int du, int dv, size_t n)
{
    double rows = (double)nu, columns = (double)nv;

    if (periodic) return rows * columns;
    if (du) rows -= (double)(n - 1);
    if (dv) columns -= (double)(n - 1);
    return rows > 0 && columns > 0 ? rows * columns : 0;
}

/** The factor of a pixel in the products of its runs: for the phase, and for its complement. It is 1 at most. */
MF_HD float mf_lineal_in(float x) { return mf_soft_exp(MF_LINEAL_STEEP * (x - 1.0f)); }
MF_HD float mf_lineal_out(float x) { return mf_soft_exp(-MF_LINEAL_STEEP * x); }

/** The logistic function of a run by its product. */
MF_HD float mf_lineal_sharp(float product) { return product / (product + MF_LINEAL_EDGE); }
/** Derivative of mf_lineal_sharp() by the sum of a run's pixels, without the factors a and s / n. */
MF_HD float mf_lineal_slope(float sharp) { return sharp * (1.0f - sharp); }

/** Is a run of n pixels with this sum in the phase? */
MF_HD float mf_lineal_whole(float n, float sum) { return sum > n - 0.5f ? 1.0f : 0.0f; }

#endif
