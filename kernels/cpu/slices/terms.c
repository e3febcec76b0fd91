/* See terms.h. The function at Chebyshev's points is a symmetric matrix, whose eigenvectors give the psi. */
#include "kernels/cpu/slices/terms.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

enum { N = MF_TERMS_DEGREE, SWEEPS = 30, GRID = 2 * N, WAYS = 32 };

static const double PI = 3.14159265358979323846, CLOSE = 3e-7, CLOSE_SLOPE = 1e-6;

static double function(struct mf_soft f, double u, double v)
{
    const double sigma = 1 / (1 + exp(-(double)f.s * ((u + v) / 2 - (double)f.t))),
                 y = (double)f.a * sigma + (double)f.b;

    return y * y;
}

/* Its derivative by u. */
static double function_slope(struct mf_soft f, double u, double v)
{
    const double sigma = 1 / (1 + exp(-(double)f.s * ((u + v) / 2 - (double)f.t)));

    return ((double)f.a * sigma + (double)f.b) * (double)f.a * (double)f.s * sigma * (1 - sigma);
}

/* Jacobi's rotation that makes a[p][q] zero; v: eigenvectors so far, in columns. */
static void rotate(double a[N][N], double v[N][N], int p, int q)
{
    const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;

    for (int i = 0; i < N; ++i) {
        const double x = a[i][p], y = a[i][q];

        a[i][p] = c * x - s * y;
        a[i][q] = s * x + c * y;
    }
    for (int i = 0; i < N; ++i) {
        const double x = a[p][i], y = a[q][i], z = v[i][p], w = v[i][q];

        a[p][i] = c * x - s * y;
        a[q][i] = s * x + c * y;
        v[i][p] = c * z - s * w;
        v[i][q] = s * z + c * w;
    }
}

static void diagonal(double a[N][N], double v[N][N])
{
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) v[i][j] = i == j;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        double most = 0;

        for (int p = 0; p < N; ++p)
            for (int q = p + 1; q < N; ++q) {
                if (fabs(a[p][q]) > most) most = fabs(a[p][q]);
                if (fabs(a[p][q]) > 1e-17) rotate(a, v, p, q);
            }
        if (most < 1e-15) return;
    }
}

/* A term of an eigenvector; its derivative's coefficients come from the last to the first, of t = 2 u - 1. */
static void add_term(struct mf_terms *terms, double weight, double v[N][N], int column)
{
    double *c = terms->value[terms->count], *d = terms->slope[terms->count];

    terms->weight[terms->count++] = weight;
    for (int k = 0; k < N; ++k) {
        c[k] = 0;
        for (int i = 0; i < N; ++i) c[k] += v[i][column] * cos(PI * k * (i + 0.5) / N) * (k ? 2.0 : 1.0) / N;
    }
    d[N - 1] = 0;
    for (int k = N - 1; k > 0; --k) d[k - 1] = (k + 1 < N ? d[k + 1] : 0) + 2.0 * k * c[k];
    d[0] /= 2;
    for (int k = 0; k < N; ++k) d[k] *= 2;
}

/* The degree from which no coefficient matters. */
static int degree_of(const struct mf_terms *terms)
{
    for (int k = N - 1; k > 0; --k)
        for (int m = 0; m < terms->count; ++m)
            if (fabs(terms->weight[m] * terms->value[m][k]) > 1e-10) return k + 1;
    return 1;
}

/* Clenshaw's sum for WAYS values at a time. */
MF_CPU_FAST static void sums(int degree, const double *of, size_t n, const float *x, float *y)
{
    for (size_t at = 0; at < n; at += WAYS) {
        const size_t ways = n - at < WAYS ? n - at : WAYS;
        double t[WAYS] = {0}, b[WAYS] = {0}, c[WAYS] = {0};

        for (size_t i = 0; i < ways; ++i) t[i] = 2 * (2 * (double)x[at + i] - 1);
        for (int k = degree - 1; k > 0; --k)
#pragma omp simd
            for (size_t i = 0; i < WAYS; ++i) {
                const double next = of[k] + t[i] * b[i] - c[i];

                c[i] = b[i];
                b[i] = next;
            }
        for (size_t i = 0; i < ways; ++i) y[at + i] = (float)(of[0] + t[i] / 2 * b[i] - c[i]);
    }
}

void mf_terms_values(const struct mf_terms *terms, const double *of, size_t n, const float *x, float *y)
{
    sums(terms->degree, of, n, x, y);
}

static double sum_at(const struct mf_terms *terms, float left[][GRID + 1], int i, float right[][GRID + 1], int j)
{
    double sum = 0;

    for (int m = 0; m < terms->count; ++m) sum += terms->weight[m] * (double)left[m][i] * (double)right[m][j];
    return sum;
}

/* At the extremes of a polynomial of twice the degree: dense near 0 and 1, where a polynomial swings. */
static int is_close(struct mf_soft f, const struct mf_terms *terms)
{
    float x[GRID + 1], y[MF_TERMS_MAX][GRID + 1], d[MF_TERMS_MAX][GRID + 1];
    double off = 0, steep = 0, most = 0;

    for (int i = 0; i <= GRID; ++i) x[i] = (float)((1 - cos(PI * i / GRID)) / 2);
    for (int m = 0; m < terms->count; ++m) {
        mf_terms_values(terms, terms->value[m], GRID + 1, x, y[m]);
        mf_terms_values(terms, terms->slope[m], GRID + 1, x, d[m]);
    }
    for (int i = 0; i <= GRID; ++i)
        for (int j = 0; j <= GRID; ++j) {
            const double u = (double)x[i], v = (double)x[j], slope = function_slope(f, u, v);

            off = fmax(off, fabs(sum_at(terms, y, i, y, j) - function(f, u, v)));
            steep = fmax(steep, fabs(sum_at(terms, d, i, y, j) - slope));
            most = fmax(most, fabs(slope));
        }
    return off < CLOSE && steep < CLOSE_SLOPE * most;
}

int mf_terms_make(struct mf_soft f, struct mf_terms *terms)
{
    double a[N][N], v[N][N], at[N];

    memset(terms, 0, sizeof *terms);
    for (int i = 0; i < N; ++i) at[i] = (1 + cos(PI * (i + 0.5) / N)) / 2;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) a[i][j] = function(f, at[i], at[j]);
    diagonal(a, v);
    while (terms->count < MF_TERMS_MAX) {
        int next = 0;

        for (int i = 1; i < N; ++i)
            if (fabs(a[i][i]) > fabs(a[next][next])) next = i;
        if (fabs(a[next][next]) < 1e-8) break;
        add_term(terms, a[next][next], v, next);
        a[next][next] = 0;
    }
    terms->degree = degree_of(terms);
    return is_close(f, terms);
}
