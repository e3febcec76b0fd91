/* For lanes_text.c: one-dimensional transforms of W lines at once. The passes are self-sorting (Stockham): each reads
 * with a constant stride and writes in order. So no separate sorting pass is needed. */
#ifndef MF_KERNELS_CPU_LANES_LINE_H
#define MF_KERNELS_CPU_LANES_LINE_H

#include "kernels/cpu/slices/lanes.h"
#include "kernels/cpu/slices/lanes_vec.h"

AI void butterfly(size_t r, cell *a)
{
    if (r == 2) dft2(a);
    if (r == 3) dft3(a);
    if (r == 4) dft4(a);
    if (r == 5) dft5(a);
    if (r == 6) dft6(a);
    if (r == 8) dft8(a);
    if (r == 9) dft9(a);
    if (r == 10) dft10(a);
    if (r == 16) dft16(a);
}

/* x [r][m][s] -> y [m][r][s], times w^(pk). If m is 1, there are no twiddle factors. Only the first and the last `in`
 * of the r parts of x are read, because the others are zeros. Only the first and the last `out` parts of y are
 * written. */
AI void pass_of(size_t r, const cell *x, cell *y, size_t m, size_t s, const float *w, size_t in, size_t out)
{
    for (size_t p = 0; p < m; ++p)
        for (size_t q = 0; q < s; ++q) {
            const cell *from = x + q + s * p;
            cell *to = y + q + s * r * p, a[16];

#pragma GCC unroll 16
            for (size_t j = 0; j < r; ++j) a[j] = j < in || j + in >= r ? from[s * m * j] : (cell){(vec){0}, (vec){0}};
            butterfly(r, a);
            to[0] = a[0];
#pragma GCC unroll 16
            for (size_t k = 1; k < r; ++k) {
                const float *t = w + 2 * (p * (r - 1) + k - 1);

                if (k < out || k + out >= r) to[s * k] = m == 1 ? a[k] : times(a[k], t[0], t[1]);
            }
        }
}

/* Three kinds of pass, so that each is compiled for its special case. */
#define PASS(r)                                                                                                \
    static __attribute__((noinline)) void pass_##r(const cell *x, cell *y, size_t m, size_t s, const float *w) \
    {                                                                                                          \
        if (m == 1)                                                                                            \
            pass_of(r, x, y, 1, s, w, r, r);                                                                   \
        else if (s == 1)                                                                                       \
            pass_of(r, x, y, m, 1, w, r, r);                                                                   \
        else                                                                                                   \
            pass_of(r, x, y, m, s, w, r, r);                                                                   \
    }

/* First pass of a line whose elements are 0 except for n / r * k at either end. It is the last pass if only those are
 * wanted. */
#define PRUNED(r, k)                                                                                        \
    static __attribute__((noinline)) void first_##r##_##k(const cell *x, cell *y, size_t m, const float *w) \
    {                                                                                                       \
        pass_of(r, x, y, m, 1, w, k, r);                                                                    \
    }                                                                                                       \
    static __attribute__((noinline)) void last_##r##_##k(const cell *x, cell *y, size_t s)                  \
    {                                                                                                       \
        pass_of(r, x, y, 1, s, NULL, r, k);                                                                 \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(6)
PASS(8)
PASS(9)
PASS(10)
PASS(16)
#pragma GCC push_options
#pragma GCC optimize("no-signed-zeros") /* so that adding a zero part costs nothing */
PRUNED(4, 1)
PRUNED(5, 1)
PRUNED(6, 1)
PRUNED(8, 1)
PRUNED(8, 2)
PRUNED(9, 1)
PRUNED(10, 1)
PRUNED(10, 2)
PRUNED(16, 1)
PRUNED(16, 2)
PRUNED(16, 4)
#pragma GCC pop_options

/* Any odd radix, by pairs of mirrored terms. sums: [r] cells; root: w^j, j < r. */
static void pass_odd(size_t r, const cell *x, cell *y, size_t m, size_t s, const float *w, const float *root,
                     cell *sums)
{
    const size_t half = r / 2;

    for (size_t p = 0; p < m; ++p)
        for (size_t q = 0; q < s; ++q) {
            const cell *in = x + q + s * p, first = in[0];
            cell *out = y + q + s * r * p, all = first;

            for (size_t j = 1; j <= half; ++j) {
                sums[2 * j - 1] = add(in[s * m * j], in[s * m * (r - j)]);
                sums[2 * j] = sub(in[s * m * j], in[s * m * (r - j)]);
                all = add(all, sums[2 * j - 1]);
            }
            out[0] = all;
            for (size_t k = 1; k <= half; ++k) {
                const float *t = w + 2 * (p * (r - 1) + k - 1), *u = w + 2 * (p * (r - 1) + r - k - 1);
                cell a = first, d = {(vec){0}, (vec){0}};

                for (size_t j = 1, jk = k; j <= half; ++j, jk = jk + k < r ? jk + k : jk + k - r) {
                    const float c = root[2 * jk], z = -root[2 * jk + 1];

                    a.r += c * sums[2 * j - 1].r;
                    a.i += c * sums[2 * j - 1].i;
                    d.r += z * sums[2 * j].r;
                    d.i += z * sums[2 * j].i;
                }
                out[s * k] = times((cell){a.r + d.i, a.i - d.r}, t[0], t[1]);
                out[s * (r - k)] = times((cell){a.r - d.i, a.i + d.r}, u[0], u[1]);
            }
        }
}

static void pass(const struct mf_line *l, size_t i, const cell *x, cell *y, size_t m, size_t s, cell *sums)
{
    const float *w = l->twiddle[i];

    switch (l->roots[i] ? 0 : l->radix[i]) {
    case 2: pass_2(x, y, m, s, w); break;
    case 3: pass_3(x, y, m, s, w); break;
    case 4: pass_4(x, y, m, s, w); break;
    case 5: pass_5(x, y, m, s, w); break;
    case 6: pass_6(x, y, m, s, w); break;
    case 8: pass_8(x, y, m, s, w); break;
    case 9: pass_9(x, y, m, s, w); break;
    case 10: pass_10(x, y, m, s, w); break;
    case 16: pass_16(x, y, m, s, w); break;
    default: pass_odd(l->radix[i], x, y, m, s, w, l->roots[i], sums);
    }
}

static void first(const struct mf_line *l, const cell *x, cell *y, size_t m)
{
    const float *w = l->twiddle[0];

    switch (100 * l->radix[0] + l->in) {
    case 401: first_4_1(x, y, m, w); break;
    case 501: first_5_1(x, y, m, w); break;
    case 601: first_6_1(x, y, m, w); break;
    case 801: first_8_1(x, y, m, w); break;
    case 802: first_8_2(x, y, m, w); break;
    case 901: first_9_1(x, y, m, w); break;
    case 1001: first_10_1(x, y, m, w); break;
    case 1002: first_10_2(x, y, m, w); break;
    case 1601: first_16_1(x, y, m, w); break;
    case 1602: first_16_2(x, y, m, w); break;
    case 1604: first_16_4(x, y, m, w); break;
    default: break; /* the plan has no other */
    }
}

static void last(const struct mf_line *l, const cell *x, cell *y, size_t s)
{
    switch (100 * l->radix[l->passes - 1] + l->out) {
    case 401: last_4_1(x, y, s); break;
    case 501: last_5_1(x, y, s); break;
    case 601: last_6_1(x, y, s); break;
    case 801: last_8_1(x, y, s); break;
    case 802: last_8_2(x, y, s); break;
    case 901: last_9_1(x, y, s); break;
    case 1001: last_10_1(x, y, s); break;
    case 1002: last_10_2(x, y, s); break;
    case 1601: last_16_1(x, y, s); break;
    case 1602: last_16_2(x, y, s); break;
    case 1604: last_16_4(x, y, s); break;
    default: break; /* the plan has no other */
    }
}

enum { ALL = 0, LAGS_IN = 1, LAGS_OUT = 2 };

/** x [n] -> y [n]; they may be the same. Two lines and one of the longest radix are in work, apart from x and y.
 * LAGS_IN: x is 0 except for the lags (line_clear()). LAGS_OUT: only the lags of y are wanted. */
static void line_fft(const struct mf_line *l, const cell *x, cell *y, cell *const work[3], int which)
{
    size_t m = l->n, s = 1;

    if (l->passes == 0) y[0] = x[0];
    for (size_t i = 0; i < l->passes; ++i) {
        const cell *from = i == 0 ? x : work[(i - 1) & 1];
        cell *to = i + 1 == l->passes ? y : work[i & 1];

        m /= l->radix[i];
        if (i == 0 && which == LAGS_IN && l->in)
            first(l, from, to, m);
        else if (i + 1 == l->passes && which == LAGS_OUT && l->out)
            last(l, from, to, s);
        else
            pass(l, i, from, to, m, s, work[2]);
        s *= l->radix[i];
    }
}

/** Zeroes those elements beyond the lags that a transform with LAGS_IN reads. */
static void line_clear(const struct mf_line *l, size_t lag, cell *x)
{
    const size_t end = l->in ? l->n / l->radix[0] * l->in : l->n;
    const cell zero = {(vec){0}, (vec){0}};

    for (size_t i = lag; i < end && i + lag <= l->n; ++i) x[i] = zero;
    for (size_t i = l->n - end; l->in && i + lag <= l->n; ++i) x[i] = zero;
}

#endif
