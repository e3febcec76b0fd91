/* How a value D is compared with its target T: |w (D - T)|^p, p 1 or 2. */
#ifndef MF_KERNELS_FORM_COMPARE_H
#define MF_KERNELS_FORM_COMPARE_H

#include <math.h>

#include "kernels/form/hd.h"

/** |e|^p of e = w (D - T). */
MF_HD double mf_compare_loss(int power, double e) { return power == 1 ? fabs(e) : e * e; }

/** Its derivative by e; 0 at 0. */
MF_HD double mf_compare_slope(int power, double e) { return power == 1 ? (double)((e > 0) - (e < 0)) : 2.0 * e; }

/**
 * A slice's value with so few digits that sums over less than 2^15 slices are exact: the sum then is the same however
 * slices lie over threads and ranks. Off by 2e-12 at most, far below the float arithmetic that the value comes from.
 */
MF_HD double mf_compare_grain(double value) { return nearbyint(value * 274877906944.0) / 274877906944.0; /* 2^38 */ }

#endif
