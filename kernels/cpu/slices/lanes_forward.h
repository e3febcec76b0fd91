/* For lanes_text.c: from the plane of a pair over its spectrum to the window of lags. It works pair by pair, or for the
 * sum of many pairs. Then |spectrum|^2 ("energy") are added before a single inverse transform. */
#ifndef MF_KERNELS_CPU_LANES_FORWARD_H
#define MF_KERNELS_CPU_LANES_FORWARD_H

#include "kernels/cpu/slices/lanes.h"
#include "kernels/cpu/slices/lanes_line.h"
#include "kernels/cpu/slices/lanes_vec.h"
#include "src/base/cut.h"

/* A pair of slices on one level on its way through the transforms. */
struct run {
    const struct mf_lanes_level *l;
    cell *plane, *spectrum, *window, *work[3], *line, *more;
    vec *energy;
    int power, gradient, cross;
    double weight, middle, scale[2], *sums; /* middle: subtracted from correlations (lag.h); sums [wb][2] */
    size_t part, parts;
    float *values[2]; /* [2L-1][2L-1] or NULL */
};

/* This thread's share of n items, among the threads that work on the run. */
static struct mf_span share(const struct run *r, size_t n) { return mf_cut(n, r->parts, r->part); }

static void meet(size_t parts)
{
    if (parts > 1) {
#pragma omp barrier
    }
}

static size_t mirror(size_t u, size_t n) { return u ? n - u : 0; }

/* W rows of the spectrum's block pair k: lane j of block 2k (mirrored = 0) and 2k+1 (1) is this row; mu: none. */
static size_t row_of(const struct mf_lanes_level *l, size_t k, size_t j, int mirrored)
{
    const size_t u = k * W + j;

    if (u >= l->slots) return l->mu;
    if (!mirrored) return u;
    if (u > 0) return l->mu - u;
    return l->mu % 2 ? l->mu : l->mu / 2;
}

/* Rows of `line` (lanes: columns of block vb) <-> blocks of the spectrum (lanes: rows). */
static void rows_to_spectrum(const struct run *r, const cell *line, size_t vb)
{
    const struct mf_lanes_level *l = r->l;

    for (size_t k = 0; k < 2 * l->blocks; ++k) {
        cell *to = r->spectrum + k * l->xs + vb * W;
        vec re[W], im[W];

        for (size_t j = 0; j < W; ++j) {
            const size_t u = row_of(l, k / 2, j, k % 2);
            const cell zero = {(vec){0}, (vec){0}}, c = u < l->mu ? line[u] : zero;

            re[j] = c.r;
            im[j] = c.i;
        }
        transpose(re);
        transpose(im);
        for (size_t j = 0; j < W; ++j) to[j] = (cell){re[j], im[j]};
    }
}

static void columns_forward(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->vb);

    for (size_t vb = mine.first; vb < mine.first + mine.count; ++vb) {
        line_fft(l->along_u, r->plane + vb * l->zs, r->line, r->work, ALL);
        rows_to_spectrum(r, r->line, vb);
    }
}

/* From p = Z(k), q = Z(-k) of Z = A + iB, times 4, with real and imaginary parts exchanged: |A|^2 + i |B|^2. */
AI cell power(cell p, cell q)
{
    const vec s = p.r * p.r + p.i * p.i + q.r * q.r + q.i * q.i, c = 2 * (p.r * q.r - p.i * q.i);

    return (cell){s - c, s + c};
}

/* The same of conj(A) B. */
AI cell product(cell p, cell q)
{
    const cell a = {p.r + q.r, p.i - q.i}, b = {p.i + q.i, q.r - p.r};

    return (cell){a.r * b.i - a.i * b.r, a.r * b.r + a.i * b.i};
}

AI cell choose(cell a, cell b) { return (cell){first_of(a.r, b.r), first_of(a.i, b.i)}; }

/* Power along v: to[v] from block p and its mirror image q. In block 0 the first lane of p mirrors itself. */
static void powers(const struct run *r, const cell *p, const cell *q, int own, cell *to)
{
    const size_t n = r->l->mv;

    for (size_t v = 0; v < n; ++v) {
        const size_t m = mirror(v, n);
        const cell other = own ? choose(q[m], p[m]) : q[m];

        to[v] = r->cross ? product(p[v], other) : power(p[v], other);
    }
}

/* Writes frequency 0 of the pair's powers to the first lane. It comes from the first block of rows before their
 * transform, minus the contribution of the target's middle. It is computed in double, as it is as large as all others
 * together. to: of a, of b. */
static void power_of_means(const struct run *r, const cell *rows, double *to)
{
    const size_t n = r->l->vb * W;
    const double pixels = (double)r->l->nu * (double)r->l->nv, less = pixels * pixels * r->middle;
    double a = 0, b = 0;

    for (size_t v = 0; v < n; ++v) {
        a += (double)rows[v].r[0];
        b += (double)rows[v].i[0];
    }
    to[0] = 4 * (a * a - less);
    to[1] = 4 * (b * b - less);
}

/* W columns of lags, lanes rows, into the window, lanes lags. first: one lane only, row mu/2. */
static void rows_to_window(const struct run *r, const cell *line, size_t k, int first)
{
    const struct mf_lanes_level *l = r->l;

    for (size_t b = 0; b < l->wb; ++b) {
        cell *to = r->window + b * l->mu;
        vec pr[W], pi[W], mr[W], mi[W];

        for (size_t j = 0; j < W; ++j) {
            const size_t v = (b * W + j) % l->mv;

            pr[j] = line[v].r;
            pi[j] = line[v].i;
            mr[j] = line[mirror(v, l->mv)].r;
            mi[j] = line[mirror(v, l->mv)].i;
        }
        transpose(pr);
        transpose(pi);
        transpose(mr);
        transpose(mi);
        for (size_t j = 0; j < (first ? 1 : W); ++j) {
            const size_t u = first ? l->mu / 2 : row_of(l, k, j, 0);

            if (u >= l->mu) continue;
            if (r->cross) { /* T(dv) + i T(-dv), of row u and, conjugate, of row -u */
                to[mirror(u, l->mu)] = (cell){mi[j] - pr[j], pi[j] + mr[j]};
                to[u] = (cell){pr[j] + mi[j], pi[j] - mr[j]};
            } else {
                to[mirror(u, l->mu)] = (cell){mr[j], mi[j]};
                to[u] = (cell){pr[j], pi[j]};
            }
        }
    }
}

static void rows_forward(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->blocks);

    for (size_t k = mine.first; k < mine.first + mine.count; ++k) {
        cell *p = r->spectrum + 2 * k * l->xs, *q = p + l->xs;
        double means[2];

        for (size_t v = l->vb * W; v < l->mv; ++v) p[v] = q[v] = (cell){(vec){0}, (vec){0}};
        if (k == 0) power_of_means(r, p, means);
        line_fft(l->along_v, p, p, r->work, ALL);
        line_fft(l->along_v, q, q, r->work, ALL);
        powers(r, p, q, k == 0, r->line);
        if (k == 0 && !r->cross) {
            r->line->i[0] = (float)means[0];
            r->line->r[0] = (float)means[1];
        }
        line_fft(l->along_v, r->line, r->line, r->work, LAGS_OUT);
        rows_to_window(r, r->line, k, 0);
        if (k > 0 || l->mu % 2) continue;
        powers(r, q, q, 0, r->line);
        line_fft(l->along_v, r->line, r->line, r->work, LAGS_OUT);
        rows_to_window(r, r->line, k, 1);
    }
}

/* Adds |Z|^2 of the pair to the level's energy. */
static void rows_energy(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, 2 * l->blocks);

    for (size_t k = mine.first; k < mine.first + mine.count; ++k) {
        cell *row = r->spectrum + k * l->xs;
        vec *to = r->energy + l->energy + k * l->xs;

        for (size_t v = l->vb * W; v < l->mv; ++v) row[v] = (cell){(vec){0}, (vec){0}};
        line_fft(l->along_v, row, r->line, r->work, ALL);
        for (size_t v = 0; v < l->mv; ++v) to[v] += r->line[v].r * r->line[v].r + r->line[v].i * r->line[v].i;
    }
}

/* powers() of the sum over all pairs: |A|^2 + |B|^2 instead of a slice's own. */
static void energies(const struct run *r, const vec *p, const vec *q, int own)
{
    const size_t n = r->l->mv;

    for (size_t v = 0; v < n; ++v) {
        const size_t m = mirror(v, n);

        r->line[v] = (cell){(vec){0}, 2 * (p[v] + (own ? first_of(q[m], p[m]) : q[m]))};
    }
}

/* rows_forward(), beginning with the energies. */
static void rows_of_energy(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->blocks);

    for (size_t k = mine.first; k < mine.first + mine.count; ++k) {
        const vec *p = r->energy + l->energy + 2 * k * l->xs, *q = p + l->xs;

        energies(r, p, q, k == 0);
        line_fft(l->along_v, r->line, r->line, r->work, LAGS_OUT);
        rows_to_window(r, r->line, k, 0);
        if (k > 0 || l->mu % 2) continue;
        energies(r, q, q, 0);
        line_fft(l->along_v, r->line, r->line, r->work, LAGS_OUT);
        rows_to_window(r, r->line, k, 1);
    }
}

#endif
