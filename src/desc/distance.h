/* The distance of two descriptors, over the lags that both have. */
#ifndef MF_DESC_DISTANCE_H
#define MF_DESC_DISTANCE_H

#include "io/target.h"

/** Root mean square of the difference of two windows of (2 L - 1)^2 lags, over those that both have. */
double mf_window_rms(const double *a, size_t lag_a, const double *b, size_t lag_b);

/** The same of one part of a descriptor of whole volumes, over all lags, mirror images too. */
double mf_whole_rms(enum mf_whole which, const double *a, size_t lag_a, const double *b, size_t lag_b);

#endif
