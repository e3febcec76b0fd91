/* See pairs.h. */
#include "src/recon/pairs.h"

/* A pivot below this share of the diagonal is the zero of a group whose other members are known. */
static const double ZERO = 1e-9;

void mf_pairs_solve(size_t phases, const double *pair, const double *b, double *x)
{
    double a[MF_MEANFIELD_PHASES][MF_MEANFIELD_PHASES];

    for (size_t p = 0; p < phases; ++p) {
        x[p] = b[p];
        for (size_t q = 0; q < phases; ++q) a[p][q] = pair[mf_pair(phases, p, q)];
    }
    for (size_t k = 0; k < phases; ++k) {
        const double pivot = a[k][k] > ZERO * pair[mf_pair(phases, k, k)] ? a[k][k] : 0;

        if (pivot == 0) x[k] = 0;
        for (size_t p = 0; p < phases; ++p) {
            const double factor = pivot > 0 && p != k ? a[p][k] / pivot : 0;

            if (pivot == 0) a[p][k] = a[k][p] = 0;
            for (size_t q = k; factor != 0 && q < phases; ++q) a[p][q] -= factor * a[k][q];
            x[p] -= factor * x[k];
        }
        a[k][k] = pivot;
    }
    for (size_t k = 0; k < phases; ++k) x[k] = a[k][k] > 0 ? x[k] / a[k][k] : 0;
}
