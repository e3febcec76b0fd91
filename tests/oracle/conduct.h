/* The conductivity of a small volume by a direct solve in double. The matrix has a row for every voxel.
 * Written from the definitions, without levels, colours or plates in layers of cells. */
#ifndef MF_TESTS_ORACLE_CONDUCT_H
#define MF_TESTS_ORACLE_CONDUCT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { ORACLE_PLATES, ORACLE_PERIODIC, ORACLE_CENTRES };

struct oracle_system {
    size_t n;
    double *a, *b; /* a [n][n] */
    double energy; /* of x = 0 */
};

/* Adds c (x_i - x_j + jump)^2 to the energy; j < 0: x_j is 0. */
static void oracle_face(struct oracle_system *s, double c, size_t i, ptrdiff_t j, double jump)
{
    s->a[i * s->n + i] += c;
    s->b[i] -= c * jump;
    s->energy += c * jump * jump;
    if (j < 0) return;
    s->a[(size_t)j * s->n + (size_t)j] += c;
    s->a[i * s->n + (size_t)j] -= c;
    s->a[(size_t)j * s->n + i] -= c;
    s->b[j] += c * jump;
}

/* The same where places 0 and @p end along the axis may be held at 0 and 1. */
static void oracle_between(struct oracle_system *s, double c, size_t i, size_t j, double jump, int holds, size_t pi,
                           size_t pj, size_t end)
{
    const int held_i = holds && (pi == 0 || pi == end), held_j = holds && (pj == 0 || pj == end);
    const double vi = pi == end, vj = pj == end;

    if (held_i && held_j)
        s->energy += c * (vi - vj) * (vi - vj);
    else if (held_i)
        oracle_face(s, c, j, -1, -vi);
    else if (held_j)
        oracle_face(s, c, i, -1, -vj);
    else
        oracle_face(s, c, i, (ptrdiff_t)j, jump);
}

/* Cholesky; the least energy. */
static double oracle_least(struct oracle_system *s)
{
    const size_t n = s->n;
    double *a = s->a, *b = s->b, less = 0;

    for (size_t i = 0; i < n; ++i) a[i * n + i] += 1e-11; /* what nothing holds */
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];

            for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
        less += b[i] * b[i];
    }
    return s->energy - less;
}

/* dims {z, y, x}; spacing along them; k [voxels]. */
static double oracle_conduct(const size_t dims[3], const double h[3], const double *k, int axis, int boundary,
                             int sides_periodic)
{
    const size_t n = dims[0] * dims[1] * dims[2], stride[3] = {dims[1] * dims[2], dims[2], 1};
    struct oracle_system s = {n, calloc(n * n, sizeof(double)), calloc(n, sizeof(double)), 0};
    const double length = (double)(dims[axis] - (boundary == ORACLE_CENTRES)) * h[axis];
    double energy, area = h[0] * h[1] * h[2] / h[axis] * (double)n / (double)dims[axis];

    for (size_t i = 0; i < n; ++i)
        for (int a = 0; a < 3; ++a) {
            const size_t p = i / stride[a] % dims[a], last = p + 1 == dims[a];
            const double w = h[0] * h[1] * h[2] / (h[a] * h[a]);
            const int joined = boundary == ORACLE_PERIODIC || (a != axis && sides_periodic);
            const size_t j = last ? i - p * stride[a] : i + stride[a];

            if (k[i] <= 0) continue;
            if (a == axis && boundary == ORACLE_PLATES && p == 0) oracle_face(&s, 2 * k[i] * w, i, -1, 0);
            if (a == axis && boundary == ORACLE_PLATES && last) oracle_face(&s, 2 * k[i] * w, i, -1, -1);
            if ((last && !joined) || k[j] <= 0) continue;
            oracle_between(&s, 2 * k[i] * k[j] / (k[i] + k[j]) * w, j, i, last && a == axis ? 1 : 0,
                           boundary == ORACLE_CENTRES, j / stride[axis] % dims[axis], i / stride[axis] % dims[axis],
                           dims[axis] - 1);
        }
    energy = oracle_least(&s);
    free(s.a);
    free(s.b);
    return energy * length / area;
}

#endif
