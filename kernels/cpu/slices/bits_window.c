/* See bits_window.h. */
#include "kernels/cpu/slices/bits_window.h"

#include <string.h>

#include "kernels/cpu/cpu.h"

typedef uint64_t loose_half __attribute__((vector_size(32), aligned(4), may_alias));

#define INLINE __attribute__((always_inline)) static inline

MF_CPU_FAST void mf_windows_spread(struct mf_windows *w)
{
    uint32_t low[MF_WIN_STRIDE], high[MF_WIN_STRIDE];

    for (size_t r = 0; r < MF_WIN_STRIDE; ++r) {
        low[r] = (uint32_t)w->bits[r];
        high[r] = (uint32_t)(w->bits[r] >> 32) << 1;
    }
    for (unsigned x = 0; x < MF_WIN_BITS; ++x) {
        uint32_t *restrict to = w->row + x * MF_WIN_STRIDE;

        for (size_t r = 0; r < MF_WIN_STRIDE; ++r) to[r] = low[r] >> x | high[r] << (31 - x);
    }
}

void mf_windows_open(struct mf_windows *w)
{
    memset(w, 0, sizeof *w);
    for (unsigned byte = 0; byte < 256; ++byte)
        for (unsigned k = 0; k < 8; ++k)
            if (byte >> k & 1) w->columns[byte][w->count[byte]++] = (uint16_t)(k * MF_WIN_STRIDE);
}

/* Writes eight entries for every byte and keeps as many as it has bits. So no branch depends on the field. */
MF_CPU_FAST size_t mf_windows_list(struct mf_windows *w, size_t rows, const uint32_t *mask)
{
    const uint16_t none = MF_WIN_BITS * MF_WIN_STRIDE;
    size_t n = 0;

    for (size_t r = 0; r < rows; ++r)
        for (unsigned k = 0; k < 4; ++k) {
            const uint8_t byte = (uint8_t)(mask[r] >> 8 * k);
            const uint16_t start = (uint16_t)(k * 8 * MF_WIN_STRIDE + r), *columns = w->columns[byte];
            uint16_t *list = w->list + n;

#pragma omp simd
            for (size_t i = 0; i < 8; ++i) list[i] = (uint16_t)(columns[i] + start);
            n += w->count[byte];
        }
    while (n % 16) w->list[n++] = none;
    return n;
}

/** A row of full adders: *sum + *b + *c is *sum + 2 *carry afterwards. */
INLINE void add3(mf_half *carry, mf_half *sum, const mf_half *b, const mf_half *c)
{
    mf_half half = *b ^ *c, over = (*b & *c) | (*sum & half);

    *sum ^= half;
    *carry = over;
}

INLINE void load(mf_half *half, const uint32_t *at) { *half = *(const loose_half *)at; }

/** Adds four windows to the digits 1 and 2; *four: carries of weight 4. */
INLINE void add_four(mf_half *four, mf_half low[4], const uint32_t *base, const uint16_t *list)
{
    mf_half a, b, two[2];

    load(&a, base + list[0]);
    load(&b, base + list[1]);
    add3(&two[0], &low[0], &a, &b);
    load(&a, base + list[2]);
    load(&b, base + list[3]);
    add3(&two[1], &low[0], &a, &b);
    add3(four, &low[1], &two[0], &two[1]);
}

/** Adds sixteen windows to the digits 1 to 8; *sixteen: carries of weight 16. */
INLINE void add_sixteen(mf_half *sixteen, mf_half low[4], const uint32_t *base, const uint16_t *list)
{
    mf_half four[2], eight[2];

    add_four(&four[0], low, base, list);
    add_four(&four[1], low, base, list + 4);
    add3(&eight[0], &low[2], &four[0], &four[1]);
    add_four(&four[0], low, base, list + 8);
    add_four(&four[1], low, base, list + 12);
    add3(&eight[1], &low[2], &four[0], &four[1]);
    add3(sixteen, &low[3], &eight[0], &eight[1]);
}

MF_CPU_FAST static void add_half(struct mf_counters *c, const struct mf_windows *w, size_t count, int h)
{
    const uint32_t *base = w->row + 8 * h;
    uint64_t group = c->groups;
    mf_half low[4], carry;

    memcpy(low, c->low[h], sizeof low);
    for (size_t i = 0; i < count; i += 16, ++group) {
        size_t digit = 0;

        add_sixteen(&carry, low, base, w->list + i);
        for (; group >> digit & 1; ++digit) add3(&carry, &c->sum[h][digit], &c->carry[h][digit], &carry);
        c->carry[h][digit] = carry;
    }
    memcpy(c->low[h], low, sizeof low);
}

void mf_windows_add(struct mf_counters *c, const struct mf_windows *w, size_t count, int halves)
{
    for (int h = 0; h < halves; ++h) add_half(c, w, count, h);
    c->groups += count / 16;
}

/** Adds the bits of half a window, each @p weight. */
static void flush_half(const mf_half *half, int64_t weight, int64_t *count)
{
    uint32_t row[8];

    memcpy(row, half, sizeof row);
    for (size_t k = 0; k < 8; ++k)
        for (size_t j = 0; j < MF_WIN_BITS; ++j) count[k * MF_WIN_BITS + j] += weight * (int64_t)(row[k] >> j & 1);
}

void mf_counters_flush(struct mf_counters *c, int64_t *count)
{
    for (int h = 0; h < 2; ++h, count += 8 * MF_WIN_BITS) {
        for (int digit = 0; digit < 4; ++digit) flush_half(&c->low[h][digit], (int64_t)1 << digit, count);
        for (int digit = 0; digit < MF_WIN_DIGITS; ++digit) {
            flush_half(&c->sum[h][digit], (int64_t)16 << digit, count);
            if (c->groups >> digit & 1) flush_half(&c->carry[h][digit], (int64_t)16 << digit, count);
        }
    }
    memset(c, 0, sizeof *c);
}
