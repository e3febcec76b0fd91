/* See tile.h. */
#include "kernels/cpu/slices/tile.h"

enum { LANES = 16, GROUP = MF_TILE_GROUP, WIDTH = MF_TILE_COLUMNS, NARROW = 6 /* rows in 16 registers */ };

#define ALWAYS static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float half __attribute__((vector_size(2 * LANES)));
typedef float half_any __attribute__((vector_size(2 * LANES), aligned(4), may_alias));

/* Where 32 registers hold 16 numbers each. @p groups is known to the compiler. */
ALWAYS void wide(size_t groups, size_t depth, const float *const *a, size_t row, size_t step, const float *b,
                 size_t width, float *c)
{
    const size_t rows = groups * GROUP;
    vec sum[MF_TILE_ROWS][2];

#pragma GCC unroll 12
    for (size_t m = 0; m < rows; ++m) sum[m][0] = sum[m][1] = (vec){0};
    for (size_t k = 0; k < depth; ++k) {
        const vec b0 = *(const vec_any *)(b + k * width), b1 = *(const vec_any *)(b + k * width + LANES);

#pragma GCC unroll 12
        for (size_t m = 0; m < rows; ++m) {
            const float f = a[m / GROUP][m % GROUP * row + k * step];

            sum[m][0] += f * b0;
            sum[m][1] += f * b1;
        }
    }
#pragma GCC unroll 12
    for (size_t m = 0; m < rows; ++m) {
        *(vec_any *)(c + m * WIDTH) += sum[m][0];
        *(vec_any *)(c + m * WIDTH + LANES) += sum[m][1];
    }
}

/* For registers that are half as many or half as wide: half of the columns at a time. Rows @p from .. @p to - 1 are
 * compile-time constants. */
ALWAYS void narrow(size_t from, size_t to, size_t depth, const float *const *a, size_t row, size_t step, const float *b,
                   size_t width, float *c)
{
    for (size_t part = 0; part < WIDTH; part += LANES) {
        const float *q = b + part;
        half sum[NARROW][2];

#pragma GCC unroll 6
        for (size_t m = from; m < to; ++m) sum[m - from][0] = sum[m - from][1] = (half){0};
        for (size_t k = 0; k < depth; ++k) {
            const half b0 = *(const half_any *)(q + k * width), b1 = *(const half_any *)(q + k * width + LANES / 2);

#pragma GCC unroll 6
            for (size_t m = from; m < to; ++m) {
                const float f = a[m / GROUP][m % GROUP * row + k * step];

                sum[m - from][0] += f * b0;
                sum[m - from][1] += f * b1;
            }
        }
#pragma GCC unroll 6
        for (size_t m = from; m < to; ++m) {
            *(half_any *)(c + m * WIDTH + part) += sum[m - from][0];
            *(half_any *)(c + m * WIDTH + part + LANES / 2) += sum[m - from][1];
        }
    }
}

/* Rows of mf_cpu_rows, known to the compiler. */
ALWAYS void wide_rows(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                      const float *ahead)
{
    const float *const group[] = {a, a + GROUP * row, a + 2 * GROUP * row};
    vec sum[MF_TILE_ROWS][2];

#pragma GCC unroll 12
    for (size_t m = 0; m < rows; ++m) sum[m][0] = sum[m][1] = (vec){0};
    for (size_t k = 0; k < depth; ++k) {
        const vec b0 = *(const vec_any *)(b + k * WIDTH), b1 = *(const vec_any *)(b + k * WIDTH + LANES);

        __builtin_prefetch(ahead + k * LANES, 0, 2);
#pragma GCC unroll 12
        for (size_t m = 0; m < rows; ++m) {
            const float f = group[m / GROUP][m % GROUP * row + k];

            sum[m][0] += f * b0;
            sum[m][1] += f * b1;
        }
    }
#pragma GCC unroll 12
    for (size_t m = 0; m < rows; ++m) {
        vec_any *const to = (vec_any *)(c + m * WIDTH);

        if (add) {
            sum[m][0] += to[0];
            sum[m][1] += to[1];
        }
        to[0] = sum[m][0];
        to[1] = sum[m][1];
    }
}

/* The same of half of the columns. */
ALWAYS void narrow_rows(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                        const float *ahead)
{
    half sum[NARROW][2];

#pragma GCC unroll 6
    for (size_t m = 0; m < rows; ++m) sum[m][0] = sum[m][1] = (half){0};
    for (size_t k = 0; k < depth; ++k) {
        const half b0 = *(const half_any *)(b + k * WIDTH), b1 = *(const half_any *)(b + k * WIDTH + LANES / 2);

        __builtin_prefetch(ahead + k * LANES, 0, 2);
#pragma GCC unroll 6
        for (size_t m = 0; m < rows; ++m) {
            const float f = a[m * row + k];

            sum[m][0] += f * b0;
            sum[m][1] += f * b1;
        }
    }
#pragma GCC unroll 6
    for (size_t m = 0; m < rows; ++m) {
        half_any *const to = (half_any *)(c + m * WIDTH);

        if (add) {
            sum[m][0] += to[0];
            sum[m][1] += to[1];
        }
        to[0] = sum[m][0];
        to[1] = sum[m][1];
    }
}

/* In parts of at most six rows; lines are asked for once. */
ALWAYS void narrow_some(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                        const float *ahead)
{
    switch (rows) {
    case 1: narrow_rows(1, depth, a, row, b, add, c, ahead); return;
    case 2: narrow_rows(2, depth, a, row, b, add, c, ahead); return;
    case 3: narrow_rows(3, depth, a, row, b, add, c, ahead); return;
    case 4: narrow_rows(4, depth, a, row, b, add, c, ahead); return;
    case 5: narrow_rows(5, depth, a, row, b, add, c, ahead); return;
    default: narrow_rows(6, depth, a, row, b, add, c, ahead);
    }
}

ALWAYS void narrow_all(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                       const float *ahead)
{
    const size_t parts = (rows + NARROW - 1) / NARROW;

    for (size_t i = 0, m = 0, some; i < parts; ++i, m += some) {
        some = (rows - m) / (parts - i);
        for (size_t j = 0; j < WIDTH; j += LANES)
            narrow_some(some, depth, a + m * row, row, b + j, add, c + m * WIDTH + j, i + j == 0 ? ahead : b);
    }
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void rows_avx512(size_t rows, size_t depth, const float *a, size_t row,
                                                           const float *b, int add, float *c, const float *ahead)
{
    switch (rows) {
    case 1: wide_rows(1, depth, a, row, b, add, c, ahead); return;
    case 2: wide_rows(2, depth, a, row, b, add, c, ahead); return;
    case 3: wide_rows(3, depth, a, row, b, add, c, ahead); return;
    case 4: wide_rows(4, depth, a, row, b, add, c, ahead); return;
    case 5: wide_rows(5, depth, a, row, b, add, c, ahead); return;
    case 6: wide_rows(6, depth, a, row, b, add, c, ahead); return;
    case 7: wide_rows(7, depth, a, row, b, add, c, ahead); return;
    case 8: wide_rows(8, depth, a, row, b, add, c, ahead); return;
    case 9: wide_rows(9, depth, a, row, b, add, c, ahead); return;
    case 10: wide_rows(10, depth, a, row, b, add, c, ahead); return;
    case 11: wide_rows(11, depth, a, row, b, add, c, ahead); return;
    default: wide_rows(12, depth, a, row, b, add, c, ahead);
    }
}

__attribute__((target("avx2,fma"))) static void rows_avx2(size_t rows, size_t depth, const float *a, size_t row,
                                                          const float *b, int add, float *c, const float *ahead)
{
    narrow_all(rows, depth, a, row, b, add, c, ahead);
}

__attribute__((target("avx512f"))) static void tile_avx512(size_t groups, size_t depth, const float *const *a,
                                                           size_t row, size_t step, const float *b, size_t width,
                                                           float *c)
{
    switch (groups) {
    case 1: wide(1, depth, a, row, step, b, width, c); return;
    case 2: wide(2, depth, a, row, step, b, width, c); return;
    default: wide(MF_TILE_GROUPS, depth, a, row, step, b, width, c);
    }
}

__attribute__((target("avx2,fma"))) static void tile_avx2(size_t groups, size_t depth, const float *const *a,
                                                          size_t row, size_t step, const float *b, size_t width,
                                                          float *c)
{
    if (groups == MF_TILE_GROUPS) {
        narrow(0, NARROW, depth, a, row, step, b, width, c);
        narrow(NARROW, MF_TILE_ROWS, depth, a, row, step, b, width, c);
        return;
    }
    for (size_t g = 0; g < groups; ++g) narrow(0, GROUP, depth, a + g, row, step, b, width, c + g * GROUP * WIDTH);
}
#endif

static void tile_plain(size_t groups, size_t depth, const float *const *a, size_t row, size_t step, const float *b,
                       size_t width, float *c)
{
    for (size_t g = 0; g < groups; ++g) narrow(0, GROUP, depth, a + g, row, step, b, width, c + g * GROUP * WIDTH);
}

static void rows_plain(size_t rows, size_t depth, const float *a, size_t row, const float *b, int add, float *c,
                       const float *ahead)
{
    narrow_all(rows, depth, a, row, b, add, c, ahead);
}

mf_cpu_rows *mf_cpu_rows_of(size_t i)
{
    mf_cpu_rows *rows[3] = {NULL, NULL, NULL};
    size_t n = 0;

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) rows[n++] = rows_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) rows[n++] = rows_avx2;
#endif
    rows[n++] = rows_plain;
    return i < n ? rows[i] : NULL;
}

mf_cpu_tile *mf_cpu_tile_of(size_t i)
{
    mf_cpu_tile *tile[3] = {NULL, NULL, NULL};
    size_t n = 0;

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) tile[n++] = tile_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tile[n++] = tile_avx2;
#endif
    tile[n++] = tile_plain;
    return i < n ? tile[i] : NULL;
}
