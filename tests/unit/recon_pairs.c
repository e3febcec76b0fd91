/* Equations of phases that meet in pairs. All phases meet, few do in a chain, groups never meet, a phase is alone. */
#include "src/recon/pairs.h"

#include <math.h>
#include <string.h>

#include "src/base/rng.h"
#include "tests/check.h"

enum { MOST = MF_MEANFIELD_PHASES };

/* Adds @p voxels voxels in which phases p and q meet: half of each follows a push. */
static void meet(size_t phases, size_t p, size_t q, double voxels, double *pair)
{
    pair[mf_pair(phases, p, p)] += voxels / 2;
    pair[mf_pair(phases, q, q)] += voxels / 2;
    pair[mf_pair(phases, p, q)] -= voxels / 2;
}

static void multiply(size_t phases, const double *pair, const double *x, double *b)
{
    for (size_t p = 0; p < phases; ++p) {
        b[p] = 0;
        for (size_t q = 0; q < phases; ++q) b[p] += pair[mf_pair(phases, p, q)] * x[q];
    }
}

static void check(const char *name, size_t phases, const double *pair)
{
    double want[MOST] = {0}, x[MOST], b[MOST], again[MOST];

    for (size_t p = 0; p < phases; ++p) want[p] = mf_random_normal(1, 1, p);
    multiply(phases, pair, want, b);
    mf_pairs_solve(phases, pair, b, x);
    multiply(phases, pair, x, again);
    for (size_t p = 0; p < phases; ++p)
        CHECK_SAYS(isfinite(x[p]) && fabs(x[p]) < 100 && fabs(again[p] - b[p]) < 1e-6 * (1 + fabs(b[p])),
                   "%s, %zu phases: %g gives %g, not %g", name, phases, x[p], again[p], b[p]);
}

int main(void)
{
    const double one = 7;
    double pair[MF_MEANFIELD_PAIRS];

    check("one", 1, &one);
    for (size_t phases = 2; phases <= MOST; ++phases) {
        memset(pair, 0, sizeof pair);
        for (size_t p = 0; p < phases; ++p)
            for (size_t q = 0; q < p; ++q) meet(phases, p, q, 100 + 1e4 * mf_random_uniform(1, 2, 6 * p + q), pair);
        check("all meet", phases, pair);
        memset(pair, 0, sizeof pair);
        for (size_t p = 0; p + 1 < phases; ++p) meet(phases, p, p + 1, p % 2 ? 10 : 1000, pair);
        check("a chain", phases, pair);
        memset(pair, 0, sizeof pair);
        for (size_t p = 0; p + 2 < phases; ++p) meet(phases, p, p + 2, 50, pair);
        check("two groups", phases, pair);
        memset(pair, 0, sizeof pair);
        meet(phases, 0, 1, 3, pair);
        check("others are alone", phases, pair);
    }
    return failures != 0;
}
