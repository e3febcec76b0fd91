/* Interface density and volume fraction of one slice by plain loops in double: kernels/slices/slices.h. */
#ifndef MF_TESTS_ORACLE_VARI_H
#define MF_TESTS_ORACLE_VARI_H

#include <math.h>
#include <stdlib.h>

struct oracle_vari {
    size_t nu, nv;
    int periodic, seam;
    double smooth;
};

static double oracle_jump(const struct oracle_vari *o, double d)
{
    const double e = o->smooth, a = fabs(d);

    return e > 0 ? (a < e ? a * a / (2 * e) : a - e / 2) / (1 - e / 2) : a;
}

/* D of level @p level of the dense slice x [nu][nv]. fraction: the mean instead of the interface density. */
static double oracle_vari(const struct oracle_vari *o, int fraction, size_t level, const double *x)
{
    const size_t b = (size_t)1 << level, nu = o->nu >> level, nv = o->nv >> level;
    double *p = calloc(nu * nv, sizeof *p), down = 0, across = 0, mean = 0;

    for (size_t u = 0; u < nu * b; ++u)
        for (size_t v = 0; v < nv * b; ++v) p[u / b * nv + v / b] += x[u * o->nv + v] / (double)(b * b);
    for (size_t u = 0; u < nu; ++u)
        for (size_t v = 0; v < nv; ++v) {
            const double here = p[u * nv + v];

            mean += here / (double)(nu * nv);
            if (u + 1 < nu || o->periodic)
                down += (o->seam && v == 0 ? 2 : 1) * oracle_jump(o, p[(u + 1) % nu * nv + v] - here);
            if (v + 1 < nv || o->periodic)
                across += (o->seam && u == 0 ? 2 : 1) * oracle_jump(o, p[u * nv + (v + 1) % nv] - here);
        }
    free(p);
    if (fraction) return mean;
    if (o->periodic) return (down + across) / (double)(nu * nv);
    return (nu > 1 ? down / (double)((nu - 1) * nv) : 0) + (nv > 1 ? across / (double)(nu * (nv - 1)) : 0);
}

#endif
