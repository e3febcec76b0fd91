/* See conduct.h: what conductivities may be. */
#include <math.h>

#include "src/base/err.h"
#include "src/prop/conduct.h"

static const double MOST_CONTRAST = 1e7;           /* single precision */
static const double LEAST = 1e-30, LARGEST = 1e30; /* squares are numbers, and fields are in single precision */

int mf_conduct_check(size_t n, const double *k)
{
    double least = INFINITY, most = 0;

    if (n > MF_PHASES_MAX) return mf_fail(MF_USAGE, "--conductivity: at most %d values", MF_PHASES_MAX);
    for (size_t i = 0; i < n; ++i) {
        if (!(k[i] >= 0) || !isfinite(k[i])) return mf_fail(MF_USAGE, "--conductivity %g: 0 or more", k[i]);
        if (k[i] > most) most = k[i];
        if (k[i] > 0 && k[i] < least) least = k[i];
    }
    if (!(most > 0)) return mf_fail(MF_USAGE, "--conductivity: all are 0; one must conduct");
    if (most > LARGEST || least < LEAST)
        return mf_fail(MF_USAGE, "--conductivity %g: 0, or %g to %g; try: another unit", most > LARGEST ? most : least,
                       LEAST, LARGEST);
    if (most > MOST_CONTRAST * least)
        return mf_fail(MF_USAGE,
                       "--conductivity: the contrast %g is above %g, which single precision does not resolve; try: 0 "
                       "for the smallest",
                       most / least, MOST_CONTRAST);
    return MF_OK;
}
