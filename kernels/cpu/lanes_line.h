/* One-dimensional transforms of W lines at once for lanes_text.c: passes of the self-sorting kind, each reading with a
 * constant distance and leaving its results in order, so that no pass of its own sorts. */
#ifndef MF_KERNELS_CPU_LANES_LINE_H
#define MF_KERNELS_CPU_LANES_LINE_H

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/lanes_vec.h"

AI void butterfly(size_t r, cell *a)
{
    if (r == 2) dft2(a);
    if (r == 3) dft3(a);
    if (r == 4) dft4(a);
    if (r == 5) dft5(a);
    if (r == 8) dft8(a);
    if (r == 16) dft16(a);
}

/* x [r][m][s] -> y [m][r][s], times w^(pk). Where m is 1 there are no twiddles. */
AI void pass_of(size_t r, const cell *x, cell *y, size_t m, size_t s, const float *w)
{
    for (size_t p = 0; p < m; ++p)
        for (size_t q = 0; q < s; ++q) {
            const cell *in = x + q + s * p;
            cell *out = y + q + s * r * p, a[16];

#pragma GCC unroll 16
            for (size_t j = 0; j < r; ++j) a[j] = in[s * m * j];
            butterfly(r, a);
            out[0] = a[0];
#pragma GCC unroll 16
            for (size_t k = 1; k < r; ++k) {
                const float *t = w + 2 * (p * (r - 1) + k - 1);

                out[s * k] = m == 1 ? a[k] : times(a[k], t[0], t[1]);
            }
        }
}

/* The three kinds of pass apart, so that each is compiled with what it knows. */
#define PASS(r)                                                                                                \
    static __attribute__((noinline)) void pass_##r(const cell *x, cell *y, size_t m, size_t s, const float *w) \
    {                                                                                                          \
        if (m == 1)                                                                                            \
            pass_of(r, x, y, 1, s, w);                                                                         \
        else if (s == 1)                                                                                       \
            pass_of(r, x, y, m, 1, w);                                                                         \
        else                                                                                                   \
            pass_of(r, x, y, m, s, w);                                                                         \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
PASS(16)

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
    case 8: pass_8(x, y, m, s, w); break;
    case 16: pass_16(x, y, m, s, w); break;
    default: pass_odd(l->radix[i], x, y, m, s, w, l->roots[i], sums);
    }
}

/** x [n] -> y [n], may be the same; work: two lines and one of the longest radix, apart from x and y. */
static void line_fft(const struct mf_line *l, const cell *x, cell *y, cell *const work[3])
{
    size_t m = l->n, s = 1;

    if (l->passes == 0) y[0] = x[0];
    for (size_t i = 0; i < l->passes; ++i) {
        const cell *from = i == 0 ? x : work[(i - 1) & 1];
        cell *to = i + 1 == l->passes ? y : work[i & 1];

        m /= l->radix[i];
        pass(l, i, from, to, m, s, work[2]);
        s *= l->radix[i];
    }
}

#endif
