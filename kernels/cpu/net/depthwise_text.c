/* Windows of single channels: see depthwise.h. Compiled with MF_LANES = 4, 8, 16 and the flags of an instruction set
 * that has such vectors; MF_DEPTHWISE_TEXT names the result. A tile is some outputs side by side. A pixel is loaded
 * once for all of them that see it. Their sums and a row of the window stay in registers. */
#include "kernels/cpu/net/depthwise.h"

#include <string.h>

enum { L = MF_LANES, WIDE = 8, NARROW = 4, MOST = 7 /* pixels of a part of a row of the window */ };
enum { SPAN = 16 }; /* rows of y whose pixels of a vector stay in the nearest cache */

typedef float vec __attribute__((vector_size(L * 4), aligned(4), may_alias));

#define INNER static inline __attribute__((always_inline))

/* The first @p n numbers, and zeros. */
INNER vec load(const float *from, size_t n)
{
    vec x = {0};

    if (n == L) return *(const vec *)from;
    memcpy(&x, from, n * sizeof *from);
    return x;
}

INNER void store(vec x, float *to, size_t n)
{
    if (n == L)
        *(vec *)to = x;
    else
        memcpy(to, &x, n * sizeof *to);
}

/* Rows of the window [from, to) that lie on rows of x, for row @p y. */
struct span {
    size_t from, to;
};

INNER struct span window_of(const struct mf_depthwise *d, size_t y)
{
    struct span s = {y < d->up ? d->up - y : 0, d->kh};

    if (s.to > d->rows + d->up - y) s.to = d->rows + d->up - y;
    return s;
}

/* -- y -- */

/* Adds to @p tile sums what @p part pixels of a row of the window give. The first of them lies on column @p first.
 * @p part, @p tile: constants. */
INNER void add_row(const struct mf_depthwise *d, const float *row, const float *w, ptrdiff_t first, size_t n,
                   const int part, const int tile, vec sum[WIDE])
{
    vec weight[MOST];

#pragma GCC unroll 7
    for (int s = 0; s < part; ++s) weight[s] = load(w + (size_t)s * d->c, n);
#pragma GCC unroll 16
    for (int j = 0; j < tile + part - 1; ++j) {
        const size_t column = (size_t)(first + j);
        vec x;

        if (column >= d->columns) continue;
        x = load(row + column * d->c, n);
#pragma GCC unroll 7
        for (int s = 0; s < part; ++s)
            if (j >= s && j - s < tile) sum[j - s] += x * weight[s];
    }
}

/* Computes outputs [column, column + tile) of row @p y of an image. The image is @p x, and its row @p to. Both begin at
 * channel @p k. */
INNER void tile_of(const struct mf_depthwise *d, const float *x, size_t k, size_t n, size_t y, size_t column, float *to,
                   const int part, const int tile)
{
    const struct span window = window_of(d, y);
    const vec zero = {0}, bias = d->bias ? load(d->bias + k, n) : zero;
    const int count = d->y_columns - column < (size_t)tile ? (int)(d->y_columns - column) : tile;
    vec sum[WIDE];

#pragma GCC unroll 8
    for (int t = 0; t < tile; ++t) sum[t] = bias;
    for (size_t r = window.from; r < window.to; ++r)
        for (size_t s = 0; s < d->kw; s += (size_t)part)
            add_row(d, x + (y + r - d->up) * d->columns * d->c, d->w + (r * d->kw + s) * d->c + k,
                    (ptrdiff_t)(column + s) - (ptrdiff_t)d->left, n, part, tile, sum);
#pragma GCC unroll 8
    for (int t = 0; t < tile; ++t) {
        float *at = to + (column + (size_t)t) * d->c;

        if (t >= count) break;
        if (d->add) sum[t] += load(at, n);
        store(sum[t], at, n);
    }
}

/* Rows [from, to) of image @p image, @p n channels from @p k on. */
INNER void rows_of(const struct mf_depthwise *d, size_t image, size_t from, size_t to, size_t k, size_t n,
                   const int part, const int tile)
{
    const float *x = d->x + image * d->rows * d->columns * d->c + k;

    for (size_t y = from; y < to; ++y)
        for (size_t column = 0; column < d->y_columns; column += (size_t)tile)
            tile_of(d, x, k, n, y, column, d->y + (image * d->y_rows + y) * d->y_columns * d->c + k, part, tile);
}

/* -- weights -- */

/* Adds products of a row of x and a tile of dy. There is a sum for each of @p part pixels of the window. */
INNER void add_products(const struct mf_depthwise *d, const float *row, const float *dy, size_t column, ptrdiff_t first,
                        size_t n, const int part, const int tile, vec sum[MOST])
{
    const vec zero = {0};
    vec slope[WIDE];

#pragma GCC unroll 8
    for (int t = 0; t < tile; ++t)
        slope[t] = column + (size_t)t < d->y_columns ? load(dy + (column + (size_t)t) * d->c, n) : zero;
#pragma GCC unroll 16
    for (int j = 0; j < tile + part - 1; ++j) {
        const size_t at = (size_t)(first + j);
        vec x;

        if (at >= d->columns) continue;
        x = load(row + at * d->c, n);
#pragma GCC unroll 7
        for (int s = 0; s < part; ++s)
            if (j >= s && j - s < tile) sum[s] += x * slope[j - s];
    }
}

/* Sums over image @p image for @p part pixels of the window, from (r, s) on. */
INNER void sums_of(const struct mf_depthwise *d, size_t image, size_t r, size_t s, size_t k, size_t n, const int part,
                   const int tile)
{
    const float *x = d->x + image * d->rows * d->columns * d->c + k;
    const float *dy = d->dy + image * d->y_rows * d->y_columns * d->c + k;
    float *to = d->sums + (r * d->kw + s) * d->c + k;
    vec sum[MOST] = {{0}};

    for (size_t y = r < d->up ? d->up - r : 0; y < d->y_rows && y + r < d->rows + d->up; ++y)
        for (size_t column = 0; column < d->y_columns; column += (size_t)tile)
            add_products(d, x + (y + r - d->up) * d->columns * d->c, dy + y * d->y_columns * d->c, column,
                         (ptrdiff_t)(column + s) - (ptrdiff_t)d->left, n, part, tile, sum);
#pragma GCC unroll 7
    for (int i = 0; i < part; ++i) store(load(to + (size_t)i * d->c, n) + sum[i], to + (size_t)i * d->c, n);
}

INNER void weights_of(const struct mf_depthwise *d, size_t image, size_t k, size_t n, const int part, const int tile)
{
    for (size_t r = 0; r < d->kh; ++r)
        for (size_t s = 0; s < d->kw; s += (size_t)part) sums_of(d, image, r, s, k, n, part, tile);
}

/* -- constants -- */

/* CALL(part, tile, n). The part is the largest known one that divides a row of the window. The tile is wide where y is.
 * Channels that are no whole vector are few. */
#define BY_SIZES(CALL)               \
    if (n < L)                       \
        CALL(1, NARROW, n);          \
    else if (d->kw % 7 == 0 && wide) \
        CALL(7, WIDE, L);            \
    else if (d->kw % 7 == 0)         \
        CALL(7, NARROW, L);          \
    else if (d->kw % 5 == 0)         \
        CALL(5, NARROW, L);          \
    else if (d->kw % 3 == 0)         \
        CALL(3, NARROW, L);          \
    else                             \
        CALL(1, NARROW, L)

static void rows_by_sizes(const struct mf_depthwise *d, size_t image, size_t from, size_t to, size_t k, size_t n)
{
    const int wide = d->y_columns > NARROW;

#define ROWS(part, tile, n) rows_of(d, image, from, to, k, n, part, tile)
    BY_SIZES(ROWS);
#undef ROWS
}

static void weights_by_sizes(const struct mf_depthwise *d, size_t image, size_t k, size_t n)
{
    const int wide = d->y_columns > NARROW;

#define WEIGHTS(part, tile, n) weights_of(d, image, k, n, part, tile)
    BY_SIZES(WEIGHTS);
#undef WEIGHTS
}

/* -- the text -- */

static void rows(const struct mf_depthwise *d, size_t from, size_t to)
{
    size_t end;

    for (size_t r = from; r < to; r = end) {
        const size_t image = r / d->y_rows, y = r % d->y_rows;

        end = (image + 1) * d->y_rows;
        if (end > r + SPAN) end = r + SPAN;
        if (end > to) end = to;
        for (size_t k = 0; k < d->c; k += L)
            rows_by_sizes(d, image, y, y + end - r, k, d->c - k < L ? d->c - k : (size_t)L);
    }
}

static void weights(const struct mf_depthwise *d, size_t from, size_t to)
{
    for (size_t image = 0; image < d->images; ++image)
        for (size_t k = from; k < to; k += L) weights_by_sizes(d, image, k, to - k < L ? to - k : (size_t)L);
}

const struct mf_depthwise_text MF_DEPTHWISE_TEXT = {rows, weights};
