/* See mutable.h. */
#include "src/recon/mutable.h"

#include <string.h>

#include "kernels/form/near.h"
#include "src/base/err.h"

enum { SLACK = 32 }; /* a window's row is read in words */

static int is_volume(const struct mf_mutable *m) { return m->dims[0] > 1; }

static size_t rows_of(const struct mf_mutable *m, int k) { return m->dims[0] * m->dims[k ? 2 : 1]; }

static size_t length_of(const struct mf_mutable *m, int k) { return m->dims[k ? 1 : 2]; }

static void *take(struct mf_mutable *m, size_t bytes) { return mf_arena_take(m->arena, bytes, "annealing"); }

int mf_mutable_open(struct mf_mutable *m, struct mf_arena *arena, const size_t dims[3], int phases, int periodic,
                    size_t lag)
{
    *m = (struct mf_mutable){.arena = arena, .phases = phases, .periodic = periodic, .pad = lag - 1};
    memcpy(m->dims, dims, sizeof m->dims);
    m->voxels = dims[0] * dims[1] * dims[2];
    m->shape = (struct mf_window_shape){.rows = 2 * lag - 1, .words = (2 * lag - 1 + 31) / 32};
    m->shape.n = m->shape.rows * m->shape.words;
    if (m->voxels >= UINT32_MAX) return mf_fail(MF_USAGE, "annealing knows fields of less than 2^32 voxels");
    for (int k = 0; k < 1 + is_volume(m); ++k) {
        m->stride[k] = length_of(m, k) + 2 * m->pad + SLACK;
        m->along[k] = take(m, rows_of(m, k) * m->stride[k]);
        if (!m->along[k]) return MF_MEMORY;
    }
    m->whole = take(m, m->voxels);
    return m->whole ? MF_OK : MF_MEMORY;
}

void mf_mutable_close(struct mf_mutable *m)
{
    mf_arena_give(m->arena, m->whole);
    mf_arena_give(m->arena, m->along[1]);
    mf_arena_give(m->arena, m->along[0]);
}

void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3])
{
    const uint32_t v = (uint32_t)voxel, nx = (uint32_t)m->dims[2], ny = (uint32_t)m->dims[1], row = v / nx;

    at[2] = v - row * nx;
    at[0] = row / ny;
    at[1] = row - at[0] * ny;
}

/* The row of a voxel, from its first label on. */
static uint8_t *row_of(const struct mf_mutable *m, int k, const uint32_t at[3])
{
    return m->along[k] + ((size_t)at[0] * m->dims[k ? 2 : 1] + at[k ? 2 : 1]) * m->stride[k] + m->pad;
}

uint8_t mf_mutable_label(const struct mf_mutable *m, size_t voxel)
{
    uint32_t at[3];

    mf_mutable_at(m, voxel, at);
    return row_of(m, 0, at)[at[2]];
}

/* -- neighbours -- */

size_t mf_mutable_around(const struct mf_mutable *m, size_t voxel, size_t near[6])
{
    const size_t step[3] = {m->dims[1] * m->dims[2], m->dims[2], 1};
    uint32_t at[3];
    size_t n = 0;

    mf_mutable_at(m, voxel, at);
    for (int a = is_volume(m) ? 0 : 1; a < 3; ++a) {
        const size_t last = m->dims[a] - 1;

        if (at[a] > 0 || m->periodic) near[n++] = at[a] > 0 ? voxel - step[a] : voxel + last * step[a];
        if (at[a] < last || m->periodic) near[n++] = at[a] < last ? voxel + step[a] : voxel - last * step[a];
    }
    return n;
}

/* Labels before and behind a voxel along an axis; those along x stand in its row, whatever lies beyond its ends. */
static void pair_at(const struct mf_mutable *m, const uint32_t at[3], int axis, uint8_t pair[2])
{
    const uint8_t *label = row_of(m, 0, at) + at[2];
    const size_t last = m->dims[axis] - 1, step = axis == 2 ? 1 : axis == 1 ? m->stride[0] : m->dims[1] * m->stride[0];

    if (axis == 2 || (at[axis] > 0 && at[axis] < last)) {
        pair[0] = *(label - step);
        pair[1] = label[step];
        return;
    }
    pair[0] = at[axis] > 0 ? *(label - step) : m->periodic ? label[last * step] : (uint8_t)MF_LABEL_NONE;
    pair[1] = at[axis] < last ? label[step] : m->periodic ? *(label - last * step) : (uint8_t)MF_LABEL_NONE;
}

int mf_mutable_foreign(const struct mf_mutable *m, size_t voxel, int of)
{
    uint32_t at[3];
    uint8_t own, pair[2];
    int count = 0;

    mf_mutable_at(m, voxel, at);
    own = row_of(m, 0, at)[at[2]];
    for (int a = is_volume(m) ? 0 : 1; a < 3; ++a) {
        pair_at(m, at, a, pair);
        for (int k = 0; k < 2; ++k) count += pair[k] != own && (of < 0 ? pair[k] != MF_LABEL_NONE : pair[k] == of);
    }
    return count;
}

/* -- labels -- */

/* What stands before and behind a row of a field that is periodic is the row itself. */
static void write_label(struct mf_mutable *m, int k, const uint32_t at[3], uint8_t phase)
{
    const size_t n = length_of(m, k), i = at[k ? 1 : 2];
    uint8_t *row = row_of(m, k, at);

    row[i] = phase;
    if (!m->periodic) return;
    if (i < m->pad) row[n + i] = phase;
    if (i + m->pad >= n) *(row + i - n) = phase;
}

void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase)
{
    uint32_t at[3];

    mf_mutable_at(m, voxel, at);
    for (int k = 0; k < 1 + is_volume(m); ++k) write_label(m, k, at, phase);
}

void mf_mutable_begin(struct mf_mutable *m)
{
    for (int k = 0; k < 1 + is_volume(m); ++k) memset(m->along[k], MF_LABEL_NONE, rows_of(m, k) * m->stride[k]);
    for (size_t i = 0; i < m->voxels; ++i) mf_mutable_set(m, i, m->whole[i]);
}

void mf_mutable_end(struct mf_mutable *m)
{
    for (size_t i = 0; i < m->voxels; ++i) m->whole[i] = mf_mutable_label(m, i);
}

void mf_mutable_window(const struct mf_mutable *m, const uint32_t at[3], size_t side, uint8_t phase, uint32_t *window)
{
    const int k = side == MF_X;
    const size_t u = side == MF_Z ? 1 : 0, v = side == MF_X ? 1 : 2, words = m->shape.words;
    const ptrdiff_t reach = (ptrdiff_t)m->pad;
    uint32_t row[3] = {at[0], at[1], at[2]};

    for (ptrdiff_t i = -reach; i <= reach; ++i, window += words) {
        const size_t j = mf_near_index((ptrdiff_t)at[u] + i, m->dims[u], m->periodic);

        if (j == m->dims[u]) {
            memset(window, 0, words * sizeof *window);
            continue;
        }
        row[u] = (uint32_t)j;
        mf_flip_cpu.row(&m->shape, row_of(m, k, row) + at[v] - reach, phase, window);
        if (i == 0) window[m->pad / 32] &= ~(1u << (m->pad % 32));
    }
}
