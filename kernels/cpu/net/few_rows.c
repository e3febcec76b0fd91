/* See few_rows.h. A block has some rows of a and some of the weights, with a vector of partial sums for each pair.
 * While a row of blocks is computed, the weights of the next one come into the caches. */
#include "kernels/cpu/net/few_rows.h"

enum { FEW = 128, ROWS = 6, WEIGHTS = 4, LANES = 16 };

#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define INNER static inline __attribute__((always_inline, target("avx512f")))

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef float half __attribute__((vector_size(LANES * 2)));
typedef float quarter __attribute__((vector_size(LANES)));

INNER float sum_of(vec x)
{
    half h[2];
    quarter q[2];

    memcpy(h, &x, sizeof h);
    h[0] += h[1];
    memcpy(q, &h[0], sizeof q);
    q[0] += q[1];
    return (q[0][0] + q[0][2]) + (q[0][1] + q[0][3]);
}

/* @p n numbers, and zeros behind them. */
INNER vec load(const float *x, size_t n)
{
    vec all = {0};

    memcpy(&all, x, n * sizeof *x);
    return all;
}

/* Terms [at, at + n) of all sums. */
INNER void add_terms(const struct mf_gemm *g, const float *a, const float *b, int rows, size_t at, size_t n,
                     vec sum[ROWS][WEIGHTS])
{
    vec w[WEIGHTS];

#pragma GCC unroll 4
    for (int j = 0; j < WEIGHTS; ++j) w[j] = load(b + (size_t)j * g->ldb + at, n);
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
        const vec x = load(a + (size_t)i * g->lda + at, n);

#pragma GCC unroll 4
        for (int j = 0; j < WEIGHTS; ++j) sum[i][j] += x * w[j];
    }
}

/* @p rows: a constant. */
INNER void block(const struct mf_gemm *g, const float *a, const float *b, float *c, int rows)
{
    vec sum[ROWS][WEIGHTS] = {{{0}}};
    size_t at = 0;

    for (; at + LANES <= g->k; at += LANES) add_terms(g, a, b, rows, at, LANES, sum);
    if (at < g->k) add_terms(g, a, b, rows, at, g->k - at, sum);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < WEIGHTS; ++j) c[(size_t)i * g->ldc + (size_t)j] = sum_of(sum[i][j]);
}

/* The last rows of a, fewer than ROWS. */
INNER void last_block(const struct mf_gemm *g, const float *a, const float *b, float *c, size_t rows)
{
    switch (rows) {
    case 1: block(g, a, b, c, 1); break;
    case 2: block(g, a, b, c, 2); break;
    case 3: block(g, a, b, c, 3); break;
    case 4: block(g, a, b, c, 4); break;
    case 5: block(g, a, b, c, 5); break;
    default: break;
    }
}

/* Weights from row @p column on, for all rows of a. */
__attribute__((target("avx512f"))) static void columns_at(const struct mf_gemm *g, size_t column)
{
    const size_t blocks = g->m / ROWS + 1, lines = WEIGHTS * g->ldb * sizeof(float) / 64 / blocks + 1;
    const float *b = g->b + column * g->ldb;
    const char *next = (const char *)(b + WEIGHTS * g->ldb);
    size_t r = 0;

    for (; r + ROWS <= g->m; r += ROWS, next += lines * 64) {
        for (size_t i = 0; i < lines; ++i) __builtin_prefetch(next + i * 64, 0, 2);
        block(g, g->a + r * g->lda, b, g->c + r * g->ldc + column, ROWS);
    }
    last_block(g, g->a + r * g->lda, b, g->c + r * g->ldc + column, g->m - r);
}

int mf_few_rows(const struct mf_gemm *g)
{
    if (g->ta || !g->tb || g->add || g->m > FEW || g->n < WEIGHTS || !__builtin_cpu_supports("avx512f")) return 0;
    for (size_t column = 0; column < g->n; column += WEIGHTS) /* the last ones may be computed twice */
        columns_at(g, column + WEIGHTS <= g->n ? column : g->n - WEIGHTS);
    return 1;
}
#else
int mf_few_rows(const struct mf_gemm *gemm)
{
    (void)gemm;
    return 0;
}
#endif
