/* The distance of a value D from its target T: |w (D - T)|^p, p = 1 or 2.
 * Rule: sums of values rounded by mf_compare_grain() are exact, so their order does not matter. */
#ifndef MF_KERNELS_FORM_COMPARE_H
#define MF_KERNELS_FORM_COMPARE_H

#include <math.h>
#include <stdint.h>

#include "kernels/form/hd.h"

/** |e|^p of e = w (D - T). */
MF_HD double mf_compare_loss(int power, double e) { return power == 1 ? fabs(e) : e * e; }

/** Its derivative by e; 0 at 0. */
MF_HD double mf_compare_slope(int power, double e) { return power == 1 ? (double)((e > 0) - (e < 0)) : 2.0 * e; }

#define MF_COMPARE_GRAINS 274877906944.0 /* 2^38: so many grains are 1 */

/**
 * Rounds the value of a slice so that sums over less than 2^15 slices are exact. Then a sum does not depend on the
 * distribution of slices over threads and ranks. The error is at most 2e-12, far below that of float arithmetic.
 */
MF_HD double mf_compare_grain(double value) { return nearbyint(value * MF_COMPARE_GRAINS) / MF_COMPARE_GRAINS; }

/** The same as a number of grains, and back. */
MF_HD int64_t mf_compare_grains(double value) { return (int64_t)nearbyint(value * MF_COMPARE_GRAINS); }
MF_HD double mf_compare_of(int64_t grains) { return (double)grains / MF_COMPARE_GRAINS; }

#endif
