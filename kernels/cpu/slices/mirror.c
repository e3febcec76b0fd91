/* See mirror.h. */
#include "kernels/cpu/slices/mirror.h"

#include "kernels/cpu/fast.h"
#include "src/base/bounds.h"

enum { SIDE = 8 };

#define ALWAYS static inline __attribute__((always_inline))

typedef double row __attribute__((vector_size(8 * SIDE)));
typedef double row_any __attribute__((vector_size(8 * SIDE), aligned(8), may_alias));
typedef float floats __attribute__((vector_size(4 * SIDE)));
typedef float floats_any __attribute__((vector_size(4 * SIDE), aligned(4), may_alias));
typedef long long places __attribute__((vector_size(8 * SIDE)));

/* Parts of one row change places with parts of another: single elements, pairs, fours. */
ALWAYS void trade(row *a, row *b, places low, places high)
{
    const row x = *a, y = *b;

    *a = __builtin_shuffle(x, y, low);
    *b = __builtin_shuffle(x, y, high);
}

ALWAYS void transpose(row x[SIDE])
{
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2)
        trade(x + i, x + i + 1, (places){0, 8, 2, 10, 4, 12, 6, 14}, (places){1, 9, 3, 11, 5, 13, 7, 15});
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        row *const at = x + i / 2 * 4 + i % 2;

        trade(at, at + 2, (places){0, 1, 8, 9, 4, 5, 12, 13}, (places){2, 3, 10, 11, 6, 7, 14, 15});
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        trade(x + i, x + i + 4, (places){0, 1, 2, 3, 8, 9, 10, 11}, (places){4, 5, 6, 7, 12, 13, 14, 15});
}

ALWAYS void out_block(size_t n, double each, const double *from, double *to, double *mirror)
{
    row x[SIDE];

#pragma GCC unroll 8
    for (size_t k = 0; k < SIDE; ++k) *(row_any *)(to + k * n) = x[k] = each * *(const row_any *)(from + k * n);
    transpose(x);
#pragma GCC unroll 8
    for (size_t k = 0; k < SIDE; ++k) *(row_any *)(mirror + k * n) = x[k];
}

MF_CPU_FAST static void out_blocks(size_t n, size_t end, double each, const double *sum, size_t k, double *to)
{
    for (size_t j = k; j + SIDE <= end; j += SIDE) out_block(n, each, sum + k * n + j, to + k * n + j, to + j * n + k);
}

void mf_cpu_mirror_out(size_t n, size_t end, double each, const double *sum, size_t i, double *to)
{
    const size_t last = mf_min(i + MF_MIRROR, n);

    for (size_t k = i; k < last; k += SIDE) {
        const size_t whole = k + SIDE <= end ? end / SIDE * SIDE : k, bottom = mf_min(k + SIDE, n);

        out_blocks(n, whole, each, sum, k, to);
        for (size_t j = whole; j < n; ++j)
            for (size_t r = k; r < bottom; ++r)
                to[r * n + j] = to[j * n + r] = each * (j < end ? sum[r * n + j] : sum[j * n + r]);
    }
}

ALWAYS void add_block(size_t n, size_t width, double each, const double *at, const double *mirrored, float *to,
                      float *mirror)
{
    row x[SIDE];

#pragma GCC unroll 8
    for (size_t k = 0; k < SIDE; ++k) x[k] = *(const row_any *)(mirrored + k * n);
    transpose(x);
#pragma GCC unroll 8
    for (size_t k = 0; k < SIDE; ++k) {
        x[k] = each * (*(const row_any *)(at + k * n) + x[k]);
        *(floats_any *)(to + k * width) = __builtin_convertvector(x[k], floats);
    }
    transpose(x);
#pragma GCC unroll 8
    for (size_t k = 0; k < SIDE; ++k) *(floats_any *)(mirror + k * width) = __builtin_convertvector(x[k], floats);
}

MF_CPU_FAST static void add_blocks(size_t n, size_t width, double each, const double *from, size_t k, float *to)
{
    for (size_t j = k; j + SIDE <= n; j += SIDE)
        add_block(n, width, each, from + k * n + j, from + j * n + k, to + k * width + j, to + j * width + k);
}

void mf_cpu_mirror_add(size_t n, size_t width, double each, const double *from, size_t i, float *to)
{
    const size_t last = mf_min(i + MF_MIRROR, n), whole = n / SIDE * SIDE;

    for (size_t k = i; k < last; k += SIDE) {
        const size_t first = k < whole ? whole : k, bottom = mf_min(k + SIDE, n);

        if (k < whole) add_blocks(n, width, each, from, k, to);
        for (size_t j = first; j < n; ++j)
            for (size_t r = k; r < bottom; ++r)
                to[r * width + j] = to[j * width + r] = (float)(each * (from[r * n + j] + from[j * n + r]));
        for (size_t r = k; r < bottom; ++r)
            for (size_t j = n; j < width; ++j) to[r * width + j] = 0;
    }
}
