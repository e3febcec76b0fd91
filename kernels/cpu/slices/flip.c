/* See kernels/slices/flip.h. Vectors of eight floats; a word's bits become lane masks by comparing with one bit per
 * lane. */
#include "kernels/slices/flip.h"

#include <string.h>

#include "kernels/cpu/slices/pack.h"

#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

typedef float vf __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(32)));

static const vi LANE = {1, 2, 4, 8, 16, 32, 64, 128};

/* Eight floats where the low eight bits of @p bits are set, else 0. */
static inline __attribute__((always_inline)) vf masked(const float *x, uint32_t bits)
{
    vi word = LANE & (int32_t)bits, mask = word == LANE;

    return (vf)((vi) * (const vf *)x & mask);
}

static inline __attribute__((always_inline)) float added(vf v)
{
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

static inline __attribute__((always_inline)) float masked_sum(size_t n, const float *x, const uint32_t *a)
{
    vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};

    for (size_t i = 0; i < n; ++i) {
        s0 += masked(x + 32 * i, a[i]);
        s1 += masked(x + 32 * i + 8, a[i] >> 8);
        s2 += masked(x + 32 * i + 16, a[i] >> 16);
        s3 += masked(x + 32 * i + 24, a[i] >> 24);
    }
    return added((s0 + s1) + (s2 + s3));
}

WIDE static float weighted(size_t n, const float *x, const uint32_t *a) { return masked_sum(n, x, a); }

WIDE static float weighted_both(size_t n, const float *x, const uint32_t *a, const uint32_t *b)
{
    vf sum = {0};

    for (size_t i = 0; i < n; ++i)
        for (int k = 0; k < 4; ++k) sum += masked(x + 32 * i + 8 * k, (a[i] & b[i]) >> (8 * k));
    return added(sum);
}

/* The common case: all weights 1, so counts are population counts. */
WIDE static void plain(size_t n, const float *residual, const uint32_t *a, const uint32_t *b, struct mf_flip_sums *out)
{
    int count = 0, both = 0;

    for (size_t i = 0; i < n; ++i) {
        count += __builtin_popcount(a[i]);
        both += __builtin_popcount(a[i] & b[i]);
    }
    *out = (struct mf_flip_sums){masked_sum(n, residual, a), (float)count, (float)both};
}

static void sums(const struct mf_window_shape *shape, const float *residual, const float *a2, const uint32_t *window,
                 const uint32_t *mirror, struct mf_flip_sums *out)
{
    if (!a2)
        plain(shape->n, residual, window, mirror, out);
    else
        *out = (struct mf_flip_sums){weighted(shape->n, residual, window), weighted(shape->n, a2, window),
                                     weighted_both(shape->n, a2, window, mirror)};
}

WIDE static float common(size_t n, const uint32_t *a, const uint32_t *b)
{
    int count = 0;

    for (size_t i = 0; i < n; ++i) count += __builtin_popcount(a[i] & b[i]);
    return (float)count;
}

static float overlap(const struct mf_window_shape *shape, const float *a2, const uint32_t *a, const uint32_t *b)
{
    return a2 ? weighted_both(shape->n, a2, a, b) : common(shape->n, a, b);
}

/* Eight lanes of delta (times weights) where bits are set. */
WIDE static void spread(size_t n, float delta, const float *a2, const uint32_t *a, float *residual)
{
    for (size_t i = 0; i < n; ++i)
        for (int k = 0; k < 4; ++k) {
            vf *to = (vf *)(residual + 32 * i + 8 * k);
            vi word = LANE & (int32_t)(a[i] >> (8 * k)), mask = word == LANE;
            vf one = {1, 1, 1, 1, 1, 1, 1, 1}, w = a2 ? *(const vf *)(a2 + 32 * i + 8 * k) : one;

            *to += (vf)((vi)(delta * w) & mask);
        }
}

static void apply(const struct mf_window_shape *shape, float delta, const float *a2, const uint32_t *window,
                  const uint32_t *mirror, float *residual)
{
    spread(shape->n, delta, a2, window, residual);
    spread(shape->n, delta, a2, mirror, residual);
}

static uint32_t reversed(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

static void turn(const struct mf_window_shape *shape, const uint32_t *window, uint32_t *mirror)
{
    size_t words = shape->words, spare = 32 * words - shape->rows; /* a window is as wide as it is high */

    for (size_t k = 0; k < shape->rows; ++k) {
        const uint32_t *from = window + (shape->rows - 1 - k) * words;
        uint32_t *to = mirror + k * words;

        for (size_t j = 0; j < words; ++j) to[j] = reversed(from[words - 1 - j]);
        for (size_t j = 0; spare && j < words; ++j)
            to[j] = to[j] >> spare | (j + 1 < words ? to[j + 1] << (32 - spare) : 0);
    }
}

static void row(const struct mf_window_shape *shape, const uint8_t *label, uint8_t phase, uint32_t *to)
{
    const size_t spare = 32 * shape->words - shape->rows;

    for (size_t w = 0; w < shape->words; ++w, label += 32)
        to[w] = mf_pack16(label, phase) | mf_pack16(label + 16, phase) << 16;
    to[shape->words - 1] &= ~0u >> spare;
}

const struct mf_flip_ops mf_flip_cpu = {.sums = sums, .overlap = overlap, .apply = apply, .turn = turn, .row = row};
