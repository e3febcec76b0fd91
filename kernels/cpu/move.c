/* Blocks of rows on the cpu: see kernels/move.h. */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/pulse.h"

enum { LINE = 16, SHORT = 8 * LINE, AHEAD = 16, FEW = 1 << 16 }; /* floats, floats, rows, floats */

/* The calling thread tells its host behind so many rows, a power of two: about FEW floats. */
static size_t often(const struct mf_block *b)
{
    size_t rows = 1;

    while (b->run && 2 * rows * b->run <= FEW) rows *= 2; /* a rank without planes has empty rows */
    return rows;
}

/* Short rows far apart defeat the processor's own prefetching: ask for the lines of a row some rows ahead. */
static void look_ahead(const struct mf_block *b, size_t row, const float *slab)
{
    const float *next = slab + b->first + (row + AHEAD) * b->pitch;

    if (b->run > SHORT || row + AHEAD >= b->rows) return;
    for (size_t i = 0; i < b->run; i += LINE) __builtin_prefetch(next + i);
}

static void pack(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed)
{
    const struct mf_block b = *block;
    const size_t mask = often(block) - 1;

#pragma omp parallel for num_threads(q->threads) schedule(static) if (b.rows * b.run > FEW)
    for (size_t row = 0; row < b.rows; ++row) {
        if ((row & mask) == 0) mf_pulse_tell("slices");
        look_ahead(&b, row, slab);
        memcpy(packed + row * b.run, slab + b.first + row * b.pitch, b.run * sizeof *packed);
    }
}

static void add_row(size_t n, const float *restrict from, float *restrict to)
{
    for (size_t i = 0; i < n; ++i) to[i] += from[i];
}

static void add(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab)
{
    const struct mf_block b = *block;
    const size_t mask = often(block) - 1;

#pragma omp parallel for num_threads(q->threads) schedule(static) if (b.rows * b.run > FEW)
    for (size_t row = 0; row < b.rows; ++row) {
        if ((row & mask) == 0) mf_pulse_tell("slices");
        look_ahead(&b, row, slab);
        add_row(b.run, packed + row * b.run, slab + b.first + row * b.pitch);
    }
}

const struct mf_move_ops mf_move_cpu = {.pack = pack, .add = add, .pack_device = pack, .add_device = add};
