/* See elastic.h: what moduli may be, the nearest isotropic ones, and bounds. */
#include <math.h>

#include "src/base/err.h"
#include "src/prop/elastic.h"
#include "src/prop/flow.h"

static const double MOST_CONTRAST = 1e7;                /* single precision */
static const double SMALLEST = 1e-100, LARGEST = 1e100; /* of the largest modulus: products of three are in range */

struct mf_elastic_phase mf_elastic_isotropic(double young, double poisson)
{
    const double shear = young / (2 * (1 + poisson)), lateral = 2 * shear * poisson / (1 - 2 * poisson);

    return (struct mf_elastic_phase){lateral + 2 * shear, lateral, shear};
}

static int is_void(const struct mf_elastic_phase *p) { return p->c11 == 0 && p->c12 == 0 && p->c44 == 0; }

int mf_elastic_check(size_t n, const struct mf_elastic_phase *phase)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < n; ++i) {
        const struct mf_elastic_phase *p = &phase[i];

        if (is_void(p)) continue;
        if (!(p->c44 > 0 && p->c11 > p->c12 && p->c11 + 2 * p->c12 > 0 && isfinite(p->c11 + p->c44)))
            return mf_fail(MF_USAGE,
                           "stiffness of phase %zu (C11 %g, C12 %g, C44 %g) is not stable: it needs C11 > C12, C11 + 2 "
                           "C12 > 0 and C44 > 0, or 0 0 0",
                           i, p->c11, p->c12, p->c44);
        least = fmin(least, fmin(p->c11 - p->c12, p->c44));
        most = fmax(most, fmax(p->c11, p->c44));
    }
    if (!(most > 0)) return mf_fail(MF_USAGE, "stiffness: all phases are voids; one must be solid");
    if (most > MOST_CONTRAST * least)
        return mf_fail(
            MF_USAGE,
            "stiffness: the contrast %g is above %g, which single precision does not resolve; try: 0 for the "
            "smallest",
            most / least, MOST_CONTRAST);
    if (most < SMALLEST || most > LARGEST)
        return mf_fail(MF_USAGE, "stiffness: the largest modulus is %g, and %g to %g is possible; try: another unit",
                       most, SMALLEST, LARGEST);
    return MF_OK;
}

/* -- isotropic moduli -- */

static struct mf_elastic_moduli of_bulk_and_shear(int ndim, double bulk, double shear)
{
    struct mf_elastic_moduli m = {.bulk = bulk, .shear = shear};

    if (!(bulk > 0 && shear > 0)) return m;
    m.young = ndim == 3 ? 9 * bulk * shear / (3 * bulk + shear) : 4 * bulk * shear / (bulk + shear);
    m.poisson = ndim == 3 ? (3 * bulk - 2 * shear) / (2 * (3 * bulk + shear)) : (bulk - shear) / (bulk + shear);
    return m;
}

/* Components in the plane of an image: xx, yy, xy. */
static int is_of(int ndim, size_t k) { return ndim == 3 || k < 2 || k == 5; }

/* The squares over all directions count a shear component twice. */
static double weight(size_t i, size_t j) { return (i < 3 ? 1 : 2) * (j < 3 ? 1 : 2); }

struct mf_elastic_moduli mf_elastic_nearest(int ndim, const double c[6][6], double *distance)
{
    const double d = ndim;
    double normal = 0, all = 0, shear = 0, lateral, bulk, rest = 0, square = 0;

    for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) {
            if (!is_of(ndim, i) || !is_of(ndim, j)) continue;
            if (i < 3 && j < 3) all += c[i][j];
            if (i == j) *(i < 3 ? &normal : &shear) += c[i][j];
        }
    bulk = all / (d * d);
    shear = ((normal - d * bulk) / 2 + shear) * 2 / (d * (d + 1) - 2);
    lateral = bulk - 2 * shear / d;
    for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) {
            const double near = (i < 3 && j < 3 ? lateral : 0) + (i == j ? (i < 3 ? 2 : 1) * shear : 0);

            if (!is_of(ndim, i) || !is_of(ndim, j)) continue;
            rest += weight(i, j) * (c[i][j] - near) * (c[i][j] - near);
            square += weight(i, j) * c[i][j] * c[i][j];
        }
    *distance = square > 0 ? sqrt(rest / square) : 0;
    return of_bulk_and_shear(ndim, bulk, shear);
}

/* -- bounds -- */

/* The three moduli of a cubic phase: of a change of volume, and of two shears. */
static void moduli_of(int ndim, size_t n, const struct mf_elastic_phase *p, double bulk[], double slant[],
                      double shear[])
{
    for (size_t i = 0; i < n; ++i) {
        bulk[i] = (p[i].c11 + (ndim - 1) * p[i].c12) / ndim;
        slant[i] = (p[i].c11 - p[i].c12) / 2;
        shear[i] = p[i].c44;
    }
}

static struct mf_elastic_moduli mean_of(int ndim, double bulk, double slant, double shear)
{
    return of_bulk_and_shear(ndim, bulk, ndim == 3 ? (2 * slant + 3 * shear) / 5 : (slant + shear) / 2);
}

static double voigt(size_t n, const double *fraction, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < n; ++i) sum += fraction[i] * x[i];
    return sum;
}

/* Hashin and Shtrikman with a reference medium; Walpole's form in @p d dimensions. */
static struct mf_elastic_moduli hashin(int ndim, size_t n, const double *fraction, const double *bulk,
                                       const double *shear, double k, double g)
{
    const double d = ndim, z = 2 * (d - 1) / d * g;
    const double w = g > 0 ? g * (d * k / 2 + (d + 1) * (d - 2) / d * g) / (k + 2 * g) : 0;

    return of_bulk_and_shear(ndim, mf_flow_mean(n, fraction, bulk, z), mf_flow_mean(n, fraction, shear, w));
}

struct mf_elastic_bounds mf_elastic_bounds(int ndim, size_t n, const double *fraction,
                                           const struct mf_elastic_phase *phase)
{
    double bulk[MF_PHASES_MAX], slant[MF_PHASES_MAX], shear[MF_PHASES_MAX];
    double low_k = INFINITY, high_k = 0, low_g = INFINITY, high_g = 0;
    struct mf_elastic_bounds b;
    int cubic = 0;

    moduli_of(ndim, n, phase, bulk, slant, shear);
    b.voigt = mean_of(ndim, voigt(n, fraction, bulk), voigt(n, fraction, slant), voigt(n, fraction, shear));
    b.reuss = mean_of(ndim, mf_flow_mean(n, fraction, bulk, 0), mf_flow_mean(n, fraction, slant, 0),
                      mf_flow_mean(n, fraction, shear, 0));
    for (size_t i = 0; i < n; ++i) {
        if (!(fraction[i] > 0)) continue;
        cubic |= fabs(slant[i] - shear[i]) > 1e-6 * shear[i];
        low_k = fmin(low_k, bulk[i]), high_k = fmax(high_k, bulk[i]);
        low_g = fmin(low_g, shear[i]), high_g = fmax(high_g, shear[i]);
    }
    b.hashin_low = hashin(ndim, n, fraction, bulk, shear, low_k, low_g);
    b.hashin_high = hashin(ndim, n, fraction, bulk, shear, high_k, high_g);
    if (cubic) b.hashin_low = b.hashin_high = (struct mf_elastic_moduli){NAN, NAN, NAN, NAN};
    return b;
}
