/* See distance.h. */
#include "src/desc/distance.h"

#include <math.h>

double mf_window_rms(const double *a, size_t lag_a, const double *b, size_t lag_b)
{
    long n = (long)(lag_a < lag_b ? lag_a : lag_b) - 1, ca = (long)lag_a - 1, cb = (long)lag_b - 1;
    double sum = 0;

    for (long u = -n; u <= n; ++u)
        for (long v = -n; v <= n; ++v) {
            double d = a[(ca + u) * (2 * ca + 1) + ca + v] - b[(cb + u) * (2 * cb + 1) + cb + v];

            sum += d * d;
        }
    return sqrt(sum / (double)((2 * n + 1) * (2 * n + 1)));
}

/* The plane of lag @p d of a part. */
static const double *lag_plane(enum mf_whole which, const double *part, size_t lag, long d)
{
    const size_t width = 2 * lag - 1, first = which == MF_WHOLE_S2 ? 0 : lag - 1;

    return part + (size_t)((long)first + d) * width * width;
}

double mf_whole_rms(enum mf_whole which, const double *a, size_t lag_a, const double *b, size_t lag_b)
{
    const long n = (long)(lag_a < lag_b ? lag_a : lag_b), half = which == MF_WHOLE_S2;
    double sum = 0;

    for (long d = half ? 0 : 1 - n; d < n; ++d) {
        const double rms = mf_window_rms(lag_plane(which, a, lag_a, d), lag_a, lag_plane(which, b, lag_b, d), lag_b);

        sum += (half && d > 0 ? 2 : 1) * rms * rms;
    }
    return sqrt(sum / (double)(2 * n - 1));
}
