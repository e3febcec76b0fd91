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
    m->voxel = take(m, m->voxels * sizeof *m->voxel);
    m->place = take(m, m->voxels * sizeof *m->place);
    return m->whole && m->voxel && m->place ? MF_OK : MF_MEMORY;
}

void mf_mutable_close(struct mf_mutable *m)
{
    mf_arena_give(m->arena, m->place);
    mf_arena_give(m->arena, m->voxel);
    mf_arena_give(m->arena, m->whole);
    mf_arena_give(m->arena, m->along[1]);
    mf_arena_give(m->arena, m->along[0]);
}

void mf_mutable_at(const struct mf_mutable *m, size_t voxel, uint32_t at[3])
{
    at[2] = (uint32_t)(voxel % m->dims[2]);
    at[1] = (uint32_t)(voxel / m->dims[2] % m->dims[1]);
    at[0] = (uint32_t)(voxel / m->dims[2] / m->dims[1]);
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

/* Neighbours of a voxel; returns their number. */
static size_t around(const struct mf_mutable *m, size_t voxel, size_t near[6])
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

int mf_mutable_foreign(const struct mf_mutable *m, size_t voxel, int of)
{
    const uint8_t own = mf_mutable_label(m, voxel);
    size_t near[6], n = around(m, voxel, near);
    int count = 0;

    for (size_t i = 0; i < n; ++i) {
        const uint8_t label = mf_mutable_label(m, near[i]);

        count += label != own && (of < 0 || label == of);
    }
    return count;
}

/* -- lists -- */

static size_t list_of(const struct mf_mutable *m, size_t voxel)
{
    return (size_t)mf_mutable_label(m, voxel) * MF_CLASSES + (size_t)mf_mutable_foreign(m, voxel, -1);
}

static void put(struct mf_mutable *m, size_t place, uint32_t voxel)
{
    m->voxel[place] = voxel;
    m->place[voxel] = (uint32_t)place;
}

/* Voxels of lists in between make room: one of each goes from one end of its list to the other. */
static void move(struct mf_mutable *m, size_t voxel, size_t from, size_t to)
{
    size_t hole = m->place[voxel];

    for (; from < to; ++from) {
        const size_t end = m->first[from + 1] - 1;

        if (hole != end) put(m, hole, m->voxel[end]);
        hole = end;
        --m->first[from + 1];
    }
    for (; from > to; --from) {
        const size_t begin = m->first[from];

        if (hole != begin) put(m, hole, m->voxel[begin]);
        hole = begin;
        ++m->first[from];
    }
    put(m, hole, (uint32_t)voxel);
}

static void make_lists(struct mf_mutable *m)
{
    const size_t lists = (size_t)m->phases * MF_CLASSES;
    size_t next[MF_PHASES_MAX * MF_CLASSES];

    memset(m->first, 0, sizeof m->first);
    for (size_t i = 0; i < m->voxels; ++i) ++m->first[list_of(m, i) + 1];
    for (size_t l = 0; l < lists; ++l) {
        next[l] = m->first[l];
        m->first[l + 1] += m->first[l];
    }
    for (size_t i = 0; i < m->voxels; ++i) put(m, next[list_of(m, i)]++, (uint32_t)i);
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

static void write_voxel(struct mf_mutable *m, size_t voxel, uint8_t phase)
{
    uint32_t at[3];

    mf_mutable_at(m, voxel, at);
    for (int k = 0; k < 1 + is_volume(m); ++k) write_label(m, k, at, phase);
}

void mf_mutable_begin(struct mf_mutable *m)
{
    for (int k = 0; k < 1 + is_volume(m); ++k) memset(m->along[k], MF_LABEL_NONE, rows_of(m, k) * m->stride[k]);
    for (size_t i = 0; i < m->voxels; ++i) write_voxel(m, i, m->whole[i]);
    make_lists(m);
}

void mf_mutable_end(struct mf_mutable *m)
{
    for (size_t i = 0; i < m->voxels; ++i) m->whole[i] = mf_mutable_label(m, i);
}

void mf_mutable_set(struct mf_mutable *m, size_t voxel, uint8_t phase)
{
    size_t near[7], list[7], n = around(m, voxel, near);

    near[n++] = voxel;
    for (size_t i = 0; i < n; ++i) list[i] = list_of(m, near[i]);
    write_voxel(m, voxel, phase);
    for (size_t i = 0; i < n; ++i) {
        size_t now = list_of(m, near[i]);

        if (now != list[i]) move(m, near[i], list[i], now);
    }
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

/* -- drawing -- */

size_t mf_mutable_draw(const struct mf_mutable *m, uint8_t phase, const double weight[MF_CLASSES], double list,
                       double place)
{
    const size_t *first = m->first + (size_t)phase * MF_CLASSES;
    double sum = 0;
    size_t chosen = MF_CLASSES;

    for (size_t c = 0; c < MF_CLASSES; ++c) sum += weight[c] * (double)(first[c + 1] - first[c]);
    list *= sum;
    for (size_t c = 0; c < MF_CLASSES; ++c) {
        const double share = weight[c] * (double)(first[c + 1] - first[c]);

        if (!(share > 0)) continue;
        chosen = c;
        if (list < share) break;
        list -= share;
    }
    if (chosen == MF_CLASSES) return m->voxels;
    return m->voxel[first[chosen] + (size_t)(place * (double)(first[chosen + 1] - first[chosen]))];
}

size_t mf_mutable_other(const struct mf_mutable *m, uint8_t phase, double place)
{
    const size_t begin = m->first[(size_t)phase * MF_CLASSES], end = m->first[((size_t)phase + 1) * MF_CLASSES];
    const size_t others = m->voxels - (end - begin), i = (size_t)(place * (double)others);

    if (others == 0) return m->voxels;
    return m->voxel[i < begin ? i : i + (end - begin)];
}
