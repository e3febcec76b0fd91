/* One voxel of several phases by plain loops in double. */
#ifndef MF_TESTS_ORACLE_FIELD_H
#define MF_TESTS_ORACLE_FIELD_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int oracle_descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Nearest point of the simplex by sorting (M. Held, P. Wolfe, H. P. Crowder, "Validation of subgradient optimization",
 * 1974); one phase: of [0,1]. */
static void oracle_project(size_t phases, double *v)
{
    double sorted[64], sum = 0, tau = 0;

    if (phases == 1) {
        v[0] = fmin(fmax(v[0], 0), 1);
        return;
    }
    memcpy(sorted, v, phases * sizeof *v);
    qsort(sorted, phases, sizeof *sorted, oracle_descending);
    for (size_t k = 0; k < phases; ++k) {
        sum += sorted[k];
        if (sorted[k] - (sum - 1) / (double)(k + 1) > 0) tau = (sum - 1) / (double)(k + 1);
    }
    for (size_t p = 0; p < phases; ++p) v[p] = fmax(v[p] - tau, 0);
}

/* The free gradient: tries every number of dropped phases among those at zero, largest gradient first. */
static inline void oracle_free(size_t phases, const double *x, const double *g, double *r, int *keep)
{
    if (phases == 1) {
        keep[0] = !((x[0] <= 0 && g[0] > 0) || (x[0] >= 1 && g[0] < 0));
        r[0] = keep[0] ? g[0] : 0;
        return;
    }
    for (size_t p = 0; p < phases; ++p) keep[p] = 1;
    for (;;) {
        double mean = 0, count = 0;
        size_t worst = phases;

        for (size_t p = 0; p < phases; ++p) {
            mean += keep[p] ? g[p] : 0;
            count += keep[p];
        }
        mean /= count;
        for (size_t p = 0; p < phases; ++p)
            if (keep[p] && x[p] <= 0 && g[p] > mean && (worst == phases || g[p] > g[worst])) worst = p;
        if (worst < phases) {
            keep[worst] = 0;
            continue;
        }
        for (size_t p = 0; p < phases; ++p) r[p] = keep[p] ? g[p] - mean : 0;
        return;
    }
}

#endif
