/* Two-point correlations of one slice by plain loops in double: kernels/slices/slices.h. */
#ifndef MF_TESTS_ORACLE_CORR_H
#define MF_TESTS_ORACLE_CORR_H

#include <math.h>
#include <stdlib.h>

struct oracle_corr {
    size_t nu, nv, lag;
    int periodic;
};

static double oracle_pairs(const struct oracle_corr *o, long du, long dv)
{
    if (o->periodic) return (double)o->nu * (double)o->nv;
    return (double)((long)o->nu - labs(du)) * (double)((long)o->nv - labs(dv));
}

/* Index of pixel (u, v) + r, or -1 outside. */
static long oracle_at(const struct oracle_corr *o, long u, long v)
{
    const long nu = (long)o->nu, nv = (long)o->nv;

    if (o->periodic) return (u + nu) % nu * nv + (v + nv) % nv;
    return u < 0 || v < 0 || u >= nu || v >= nv ? -1 : u * nv + v;
}

/* values [2L-1][2L-1]: mean of a_p b_{p+r}. */
static void oracle_corr(const struct oracle_corr *o, const double *a, const double *b, double *values)
{
    const long reach = (long)o->lag - 1;

    for (long du = -reach; du <= reach; ++du)
        for (long dv = -reach; dv <= reach; ++dv) {
            double sum = 0;

            for (long u = 0; u < (long)o->nu; ++u)
                for (long v = 0; v < (long)o->nv; ++v) {
                    const long at = oracle_at(o, u + du, v + dv);

                    if (at >= 0) sum += a[u * (long)o->nv + v] * b[at];
                }
            *values++ = sum / oracle_pairs(o, du, dv);
        }
}

/* g [nu][nv]: gradient of sum over r of slope(r) S2(r). */
static void oracle_corr_adjoint(const struct oracle_corr *o, const double *x, const double *slope, double *g)
{
    const long reach = (long)o->lag - 1;

    for (size_t i = 0; i < o->nu * o->nv; ++i) g[i] = 0;
    for (long du = -reach; du <= reach; ++du)
        for (long dv = -reach; dv <= reach; ++dv) {
            const double s = *slope++ / oracle_pairs(o, du, dv);

            for (long u = 0; u < (long)o->nu; ++u)
                for (long v = 0; v < (long)o->nv; ++v) {
                    const long here = u * (long)o->nv + v, at = oracle_at(o, u + du, v + dv);

                    if (at < 0) continue;
                    g[here] += s * x[at];
                    g[at] += s * x[here];
                }
        }
}

/* Level @p level of the dense slice x [nu][nv]: p [nu >> level][nv >> level]. */
static void oracle_pool(size_t nu, size_t nv, size_t level, const double *x, double *p)
{
    const size_t b = (size_t)1 << level, mu = nu >> level, mv = nv >> level;

    for (size_t i = 0; i < mu * mv; ++i) p[i] = 0;
    for (size_t u = 0; u < mu * b; ++u)
        for (size_t v = 0; v < mv * b; ++v) p[u / b * mv + v / b] += x[u * nv + v] / (double)(b * b);
}

/* g [nu][nv] += the adjoint of oracle_pool() on p. */
static void oracle_pool_adjoint(size_t nu, size_t nv, size_t level, const double *p, double *g)
{
    const size_t b = (size_t)1 << level, mu = nu >> level, mv = nv >> level;

    for (size_t u = 0; u < mu * b; ++u)
        for (size_t v = 0; v < mv * b; ++v) g[u * nv + v] += p[u / b * mv + v / b] / (double)(b * b);
}

#endif
