/* A smooth function of two values as a sum of products: f((u+v)/2)^2 = sum over m of weight_m psi_m(u) psi_m(v). The
 * values u, v are in [0, 1], and f is that of form/soft.h. The psi are polynomials, given by Chebyshev coefficients. */
#ifndef MF_KERNELS_CPU_TERMS_H
#define MF_KERNELS_CPU_TERMS_H

#include "kernels/form/soft.h"

enum { MF_TERMS_MAX = 16, MF_TERMS_DEGREE = 48 };

struct mf_terms {
    int count, degree;
    double weight[MF_TERMS_MAX];
    double value[MF_TERMS_MAX][MF_TERMS_DEGREE], slope[MF_TERMS_MAX][MF_TERMS_DEGREE]; /* of psi and its derivative */
};

/** The error is 3e-7 (1e-7 of it from float), and 1e-6 of the largest slope for slopes. It is checked where polynomials
 * oscillate most. 0: the threshold is too steep for so many terms. */
int mf_terms_make(struct mf_soft f, struct mf_terms *terms);

/** y = psi_m(x), or with @p of = terms->slope[m] its derivative. x, y: [n] */
void mf_terms_values(const struct mf_terms *terms, const double *of, size_t n, const float *x, float *y);

#endif
