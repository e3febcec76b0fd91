/* The stiffness of a small periodic volume by a direct solve in double. The energy is a sum of squares of strains.
 * Written from the definitions, without stresses, waves or planes. Order zz, yy, xx, yx, zx, zy. */
#ifndef MF_TESTS_ORACLE_ELASTIC_H
#define MF_TESTS_ORACLE_ELASTIC_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct oracle_solid {
    size_t n[3];
    double h[3];
    int rotated;
    const uint8_t *label;
    double c11[4], c12[4], c44[4];
    double *a, *b, e[6][6]; /* a [dofs][dofs], b [dofs][6] */
};

/* A strain: displacements times weights, and mean strains times weights. */
struct oracle_strain {
    size_t terms, dof[48];
    double by[48], mean[6];
};

static size_t oracle_place(const struct oracle_solid *s, int axis, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    const ptrdiff_t nz = (ptrdiff_t)s->n[0], ny = (ptrdiff_t)s->n[1], nx = (ptrdiff_t)s->n[2];

    return (size_t)((((z + nz) % nz) * ny + (y + ny) % ny) * nx + (x + nx) % nx) * 3 + (size_t)axis;
}

static void oracle_term(struct oracle_strain *e, size_t dof, double by)
{
    e->dof[e->terms] = dof;
    e->by[e->terms++] = by;
}

/* Adds du_a / dx_b to a strain. Staggered: in a voxel (a == b), or on its lower edge. Rotated: the mean of four edges.
 */
static void oracle_derive(const struct oracle_solid *s, int a, int b, const ptrdiff_t at[3], struct oracle_strain *e)
{
    ptrdiff_t p[3], q[3];

    if (!s->rotated) {
        memcpy(p, at, sizeof p);
        memcpy(q, at, sizeof q);
        *(a == b ? &p[b] : &q[b]) += a == b ? 1 : -1;
        oracle_term(e, oracle_place(s, a, p[0], p[1], p[2]), 1 / s->h[b]);
        oracle_term(e, oracle_place(s, a, q[0], q[1], q[2]), -1 / s->h[b]);
        return;
    }
    for (int i = 0; i < 8; ++i) {
        const int o[3] = {i >> 2, (i >> 1) & 1, i & 1};

        oracle_term(e, oracle_place(s, a, at[0] + o[0], at[1] + o[1], at[2] + o[2]), (o[b] ? 0.25 : -0.25) / s->h[b]);
    }
}

/* Adds c e^2 / 2 to the energy. */
static void oracle_square(struct oracle_solid *s, double c, const struct oracle_strain *e)
{
    const size_t n = 3 * s->n[0] * s->n[1] * s->n[2];

    for (size_t i = 0; i < e->terms; ++i) {
        for (size_t j = 0; j < e->terms; ++j) s->a[e->dof[i] * n + e->dof[j]] += c * e->by[i] * e->by[j];
        for (size_t k = 0; k < 6; ++k) s->b[e->dof[i] * 6 + k] += c * e->by[i] * e->mean[k];
    }
    for (size_t k = 0; k < 6; ++k)
        for (size_t l = 0; l < 6; ++l) s->e[k][l] += c * e->mean[k] * e->mean[l];
}

static uint8_t oracle_label(const struct oracle_solid *s, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return s->label[oracle_place(s, 0, z, y, x) / 3];
}

/* The shear modulus of a voxel, or of the lower edge of a voxel normal to both axes. */
static double oracle_shear(const struct oracle_solid *s, int a, int b, const ptrdiff_t at[3])
{
    double sum = 0;

    if (s->rotated) return s->c44[oracle_label(s, at[0], at[1], at[2])];
    for (int i = 0; i < 4; ++i) {
        ptrdiff_t p[3] = {at[0], at[1], at[2]};
        double c;

        p[a] -= i & 1;
        p[b] -= i >> 1;
        c = s->c44[oracle_label(s, p[0], p[1], p[2])];
        if (!(c > 0)) return 0;
        sum += 1 / c;
    }
    return 4 / sum;
}

static void oracle_voxel(struct oracle_solid *s, const ptrdiff_t at[3])
{
    static const int pair[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    const uint8_t p = oracle_label(s, at[0], at[1], at[2]);
    struct oracle_strain all = {.terms = 0};

    for (int a = 0; a < 3; ++a) {
        struct oracle_strain e = {.terms = 0};

        e.mean[a] = all.mean[a] = 1;
        oracle_derive(s, a, a, at, &e);
        oracle_derive(s, a, a, at, &all);
        oracle_square(s, s->c11[p] - s->c12[p], &e);
    }
    oracle_square(s, s->c12[p], &all);
    for (int k = 0; k < 3; ++k) {
        struct oracle_strain e = {.terms = 0};

        e.mean[3 + k] = 1;
        oracle_derive(s, pair[k][0], pair[k][1], at, &e);
        oracle_derive(s, pair[k][1], pair[k][0], at, &e);
        oracle_square(s, oracle_shear(s, pair[k][0], pair[k][1], at), &e);
    }
}

/* Cholesky; b = L^-1 b. */
static void oracle_factor(size_t n, double *a, double *b)
{
    for (size_t i = 0; i < n; ++i) {
        a[i * n + i] += 1e-10; /* what nothing holds */
        for (size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];

            for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
        for (size_t c = 0; c < 6; ++c) {
            double sum = b[i * 6 + c];

            for (size_t k = 0; k < i; ++k) sum -= a[i * n + k] * b[k * 6 + c];
            b[i * 6 + c] = sum / a[i * n + i];
        }
    }
}

static void oracle_stiffness(struct oracle_solid *s, double c[6][6])
{
    const size_t voxels = s->n[0] * s->n[1] * s->n[2], n = 3 * voxels;

    s->a = calloc(n * n, sizeof *s->a);
    s->b = calloc(n * 6, sizeof *s->b);
    memset(s->e, 0, sizeof s->e);
    for (size_t i = 0; i < voxels; ++i)
        oracle_voxel(s, (ptrdiff_t[3]){(ptrdiff_t)(i / (s->n[1] * s->n[2])), (ptrdiff_t)(i / s->n[2] % s->n[1]),
                                       (ptrdiff_t)(i % s->n[2])});
    oracle_factor(n, s->a, s->b);
    for (size_t k = 0; k < 6; ++k)
        for (size_t l = 0; l < 6; ++l) {
            double sum = s->e[k][l];

            for (size_t i = 0; i < n; ++i) sum -= s->b[i * 6 + k] * s->b[i * 6 + l];
            c[k][l] = sum / (double)voxels;
        }
    free(s->a);
    free(s->b);
}

#endif
