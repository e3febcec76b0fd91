/* Prepares the one-dimensional transforms of lanes.h: radices, and the roots of unity of their passes. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/slices/lanes.h"
#include "src/base/err.h"

/* Radices with a butterfly, and what a pass of one costs per element, measured: with 16 registers, with 32. */
static const struct {
    size_t r;
    double cost[2];
} own[] = {{16, {1.68, 1.25}}, {10, {1.3, 1.2}},  {9, {1.3, 1.15}},  {8, {1, 1}},    {6, {0.95, 0.95}},
           {5, {0.95, 0.95}},  {4, {0.78, 0.78}}, {3, {0.75, 0.75}}, {2, {0.6, 0.6}}};

enum { OWN = sizeof own / sizeof *own };

/* Cheapest radices of n among own[from ..]; returns the cost. The remaining primes go by the general rule. */
static double radices(size_t n, int wide, size_t from, struct mf_line *line)
{
    struct mf_line rest = {.passes = 0};
    double best = -1;

    line->passes = 0;
    for (size_t i = from; i < OWN; ++i) {
        double cost;

        if (n % own[i].r) continue;
        cost = own[i].cost[wide] + radices(n / own[i].r, wide, i, &rest);
        if (best >= 0 && cost >= best) continue;
        best = cost;
        *line = rest;
        line->radix[line->passes++] = own[i].r;
    }
    if (best >= 0) return best;
    best = 0;
    for (size_t r = 2; n > 1; ++r)
        for (; n % r == 0; n /= r) {
            line->radix[line->passes++] = r;
            best += 0.5 * (double)r;
        }
    return best;
}

static int has_butterfly(size_t r)
{
    for (size_t i = 0; i < OWN; ++i)
        if (own[i].r == r) return 1;
    return 0;
}

static void root(float *to, size_t k, size_t n)
{
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;

    to[0] = (float)cos(angle);
    to[1] = (float)-sin(angle);
}

/* A large radix first and last: those passes are the ones that can be cut short. */
static void swap_ends(struct mf_line *line)
{
    const size_t n = line->passes, large = line->radix[n - 1];

    line->radix[n - 1] = line->radix[0];
    line->radix[0] = large;
    if (line->radix[n - 2] > line->radix[n - 1]) {
        const size_t t = line->radix[n - 2];

        line->radix[n - 2] = line->radix[n - 1];
        line->radix[n - 1] = t;
    }
}

/* How many of the r parts of n elements at either end hold `lag` of them, if a pass can use that. */
static size_t parts(size_t r, size_t n, size_t lag)
{
    static const size_t known[][2] = {{4, 1},  {5, 1},  {6, 1},  {8, 1},  {8, 2}, {9, 1},
                                      {10, 1}, {10, 2}, {16, 1}, {16, 2}, {16, 4}};
    const size_t k = (lag * r + n - 1) / n;

    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (known[i][0] == r && known[i][1] >= k) return known[i][1];
    return 0;
}

int mf_line_open(struct mf_line *line, size_t n, size_t lag, int registers)
{
    size_t m = n;

    radices(n, registers, 0, line);
    line->n = n;
    if (line->passes > 2) swap_ends(line);
    if (line->passes > 1) {
        line->in = parts(line->radix[0], n, lag);
        line->out = parts(line->radix[line->passes - 1], n, lag);
    }
    for (size_t i = 0; i < line->passes; ++i) {
        const size_t r = line->radix[i], all = m;

        m /= r;
        line->twiddle[i] = malloc(m * (r - 1) * 2 * sizeof(float));
        if (!has_butterfly(r)) line->roots[i] = malloc(2 * r * sizeof(float));
        if (!line->twiddle[i] || (!has_butterfly(r) && !line->roots[i]))
            return mf_fail(MF_MEMORY, "S2: no memory for a table of %zu roots of unity", n);
        for (size_t p = 0; p < m; ++p)
            for (size_t k = 1; k < r; ++k) root(line->twiddle[i] + 2 * (p * (r - 1) + k - 1), p * k, all);
        for (size_t j = 0; j < r && line->roots[i]; ++j) root(line->roots[i] + 2 * j, j, r);
    }
    return MF_OK;
}

void mf_line_close(struct mf_line *line)
{
    for (size_t i = 0; i < line->passes; ++i) {
        free(line->twiddle[i]);
        free(line->roots[i]);
    }
}
