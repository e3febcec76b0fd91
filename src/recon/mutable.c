/* See mutable.h. */
#include "src/recon/mutable.h"

#include <string.h>

#include "kernels/form/near.h"
#include "src/base/err.h"

enum { SLACK = 32 }; /* a window's row is read in words */

static int is_volume(const struct mf_mutable *m) { return m->dims[0] > 1; }

static size_t sides_of(const struct mf_mutable *m) { return is_volume(m) ? MF_SIDES : 1; }

/* Planes have rows along x; volumes have rows along y too. */
static int kinds_of(const struct mf_mutable *m) { return is_volume(m) ? 2 : 1; }
static size_t rows_of(const struct mf_mutable *m, int k) { return m->dims[0] * m->dims[k ? 2 : 1]; }

static void *take(struct mf_mutable *m, size_t bytes) { return mf_arena_take(m->arena, bytes, "annealing"); }

int mf_mutable_open(struct mf_mutable *m, struct mf_arena *arena, const size_t dims[3], int phases, int periodic,
                    size_t lag)
{
    *m = (struct mf_mutable){.arena = arena, .phases = phases, .periodic = periodic, .pad = lag - 1};
    memcpy(m->dims, dims, sizeof m->dims);
    m->voxels = dims[0] * dims[1] * dims[2];
    m->shape = mf_window_shape_of(lag);
    for (int k = 0; k < kinds_of(m); ++k) {
        m->stride[k] = dims[k ? 1 : 2] + 2 * m->pad + SLACK;
        m->rows[k] = take(m, rows_of(m, k) * m->stride[k]);
        if (!m->rows[k]) return MF_MEMORY;
    }
    m->step[MF_Z] = m->stride[0];
    m->step[MF_Y] = dims[1] * m->stride[0];
    m->step[MF_X] = dims[2] * m->stride[1];
    for (size_t d = 0; d < sides_of(m); ++d) {
        m->slice[d] = take(m, dims[d] * sizeof *m->slice[d]);
        if (!m->slice[d]) return MF_MEMORY;
    }
    return MF_OK;
}

void mf_mutable_close(struct mf_mutable *m)
{
    for (size_t d = MF_SIDES; d-- > 0;) mf_arena_give(m->arena, m->slice[d]);
    for (int k = 2; k-- > 0;) mf_arena_give(m->arena, m->rows[k]);
}

void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3])
{
    if (m->voxels <= UINT32_MAX) { /* short divisions are quicker */
        const uint32_t v = (uint32_t)voxel, nx = (uint32_t)m->dims[2], ny = (uint32_t)m->dims[1], row = v / nx;

        at[2] = v - row * nx;
        at[0] = row / ny;
        at[1] = row - at[0] * ny;
    } else {
        const size_t row = voxel / m->dims[2];

        at[2] = (uint32_t)(voxel - row * m->dims[2]);
        at[0] = (uint32_t)(row / m->dims[1]);
        at[1] = (uint32_t)(row - at[0] * m->dims[1]);
    }
}

/* A voxel in its slice. */
static uint8_t *place_of(const struct mf_mutable *m, size_t d, const uint32_t at[3])
{
    return m->slice[d][at[d]] + at[mf_slice_u(d)] * m->step[d] + at[mf_slice_v(d)];
}

uint8_t mf_mutable_label(const struct mf_mutable *m, size_t voxel)
{
    uint32_t at[3];

    mf_mutable_at(m, voxel, at);
    return *place_of(m, MF_Z, at);
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

/* Labels before and after a voxel along an axis, in a slice that contains the axis. Those along x are in its row,
 * including the padding at its ends. */
static void pair_at(const struct mf_mutable *m, const uint32_t at[3], int axis, uint8_t pair[2])
{
    const size_t d = axis == 0 ? MF_Y : MF_Z, last = m->dims[axis] - 1, step = axis == 2 ? 1 : m->step[d];
    const uint8_t *label = place_of(m, d, at);

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
    own = *place_of(m, MF_Z, at);
    for (int a = is_volume(m) ? 0 : 1; a < 3; ++a) {
        pair_at(m, at, a, pair);
        for (int k = 0; k < 2; ++k) count += pair[k] != own && (of < 0 ? pair[k] != MF_LABEL_NONE : pair[k] == of);
    }
    return count;
}

/* -- labels -- */

/* What stands before and behind a row of a field that is periodic is the row itself. */
static void write_label(struct mf_mutable *m, size_t d, const uint32_t at[3], uint8_t phase)
{
    const size_t n = m->dims[mf_slice_v(d)], i = at[mf_slice_v(d)];
    uint8_t *row = place_of(m, d, at) - i;

    row[i] = phase;
    if (!m->periodic) return;
    if (i < m->pad) row[n + i] = phase;
    if (i + m->pad >= n) *(row + i - n) = phase;
}

void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase)
{
    uint32_t at[3];

    mf_mutable_at(m, voxel, at);
    write_label(m, MF_Z, at, phase);
    if (is_volume(m)) write_label(m, MF_X, at, phase);
}

/* The first label of slice @p i. */
static uint8_t *begin_of(const struct mf_mutable *m, size_t d, size_t i)
{
    const size_t row = d == MF_Z ? i * m->dims[1] : i;

    return m->rows[d == MF_X] + row * m->stride[d == MF_X] + m->pad;
}

void mf_mutable_begin(struct mf_mutable *m)
{
    for (int k = 0; k < kinds_of(m); ++k) memset(m->rows[k], MF_LABEL_NONE, rows_of(m, k) * m->stride[k]);
    for (size_t d = 0; d < sides_of(m); ++d)
        for (size_t i = 0; i < m->dims[d]; ++i) m->slice[d][i] = begin_of(m, d, i);
}

/* A row along x, and its periodic copies on both sides. */
static void write_row(struct mf_mutable *m, size_t z, size_t y, const uint8_t *label)
{
    const size_t n = m->dims[2], pad = m->pad < n ? m->pad : n;
    uint8_t *to = m->slice[MF_Z][z] + y * m->step[MF_Z];

    memcpy(to, label, n);
    if (!m->periodic) return;
    memcpy(to + n, label, pad);
    memcpy(to - pad, label + n - pad, pad);
}

void mf_mutable_put(struct mf_mutable *m, size_t z, const uint8_t *label)
{
    uint32_t at[3] = {(uint32_t)z, 0, 0};

    for (at[1] = 0; at[1] < m->dims[1]; ++at[1]) {
        write_row(m, z, at[1], label + at[1] * m->dims[2]);
        if (!is_volume(m)) continue;
        for (at[2] = 0; at[2] < m->dims[2]; ++at[2]) write_label(m, MF_X, at, label[at[1] * m->dims[2] + at[2]]);
    }
}

void mf_mutable_get(const struct mf_mutable *m, size_t z, uint8_t *label)
{
    for (size_t y = 0; y < m->dims[1]; ++y)
        memcpy(label + y * m->dims[2], m->slice[MF_Z][z] + y * m->step[MF_Z], m->dims[2]);
}

void mf_mutable_window(const struct mf_mutable *m, const uint32_t at[3], size_t side, uint8_t phase, uint32_t *window)
{
    const size_t u = mf_slice_u(side), v = mf_slice_v(side), words = m->shape.words;
    const ptrdiff_t reach = (ptrdiff_t)m->pad;
    const uint8_t *slice = m->slice[side][at[side]] + at[v] - reach;

    for (ptrdiff_t i = -reach; i <= reach; ++i, window += words) {
        const size_t j = mf_near_index((ptrdiff_t)at[u] + i, m->dims[u], m->periodic);

        if (j == m->dims[u]) {
            memset(window, 0, words * sizeof *window);
            continue;
        }
        mf_flip_cpu.row(&m->shape, slice + j * m->step[side], phase, window);
        if (i == 0) window[m->pad / 32] &= ~(1u << (m->pad % 32));
    }
}
