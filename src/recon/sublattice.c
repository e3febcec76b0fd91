/* See sublattice.h. */
#include "src/recon/sublattice.h"

#include <string.h>

#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"

enum { LEAST = 8 /* indices of an axis in a sublattice */, FIXED = MF_PHASES_MAX * MF_CLASSES };

/* -- partition of the axes -- */

/* The number of sublattices of a field of these extents. An image has one slice and so one sublattice. */
static size_t sublattices_of(const size_t dims[3])
{
    size_t least = dims[0] < dims[1] ? dims[0] : dims[1], sublattices;

    if (dims[2] < least) least = dims[2];
    sublattices = least / LEAST;
    return sublattices < 1 ? 1 : sublattices > MF_SUBLATTICES_MAX ? MF_SUBLATTICES_MAX : sublattices;
}

int mf_partition_open(struct mf_partition *p, struct mf_arena *arena, const size_t dims[3])
{
    *p = (struct mf_partition){.arena = arena, .count = sublattices_of(dims)};
    memcpy(p->dims, dims, sizeof p->dims);
    for (int a = 0; a < 3; ++a) {
        for (size_t n = 0; n < p->count; ++n) p->span[a][n] = mf_cut(dims[a], p->count, n);
        p->part[a] = mf_arena_take(arena, dims[a], "annealing");
        p->index[a] = mf_arena_take(arena, dims[a] * sizeof *p->index[a], "annealing");
        p->order[a] = mf_arena_take(arena, dims[a] * sizeof *p->order[a], "annealing");
        if (!p->part[a] || !p->index[a] || !p->order[a]) return MF_MEMORY;
    }
    if (mf_sublattice_room(p) >= UINT32_MAX)
        return mf_fail(MF_USAGE, "annealing knows chains of less than 2^32 voxels");
    return MF_OK;
}

void mf_partition_close(struct mf_partition *p)
{
    for (int a = 0; a < 3; ++a) {
        mf_arena_give(p->arena, p->order[a]);
        mf_arena_give(p->arena, p->index[a]);
        mf_arena_give(p->arena, p->part[a]);
    }
}

static void shuffle(const struct mf_partition *p, int a, uint64_t seed, uint64_t number)
{
    uint32_t *index = p->index[a];

    for (size_t i = p->dims[a]; i > 1; --i) {
        const double u = mf_random_uniform(seed, (uint32_t)(MF_STREAM_SUBLATTICE + a), number * UINT32_MAX + i);
        const size_t j = (size_t)(u * (double)i);
        const uint32_t other = index[j];

        index[j] = index[i - 1];
        index[i - 1] = other;
    }
}

void mf_partition_shuffle(struct mf_partition *p, uint64_t seed, uint64_t number)
{
    for (int a = 0; a < 3; ++a) {
        for (size_t i = 0; i < p->dims[a]; ++i) p->index[a][i] = (uint32_t)i;
        if (p->count > 1) shuffle(p, a, seed, number);
        for (size_t n = 0; n < p->count; ++n) {
            const struct mf_span span = p->span[a][n];

            for (size_t i = 0; i < span.count; ++i) {
                p->part[a][p->index[a][span.first + i]] = (uint8_t)n;
                p->order[a][p->index[a][span.first + i]] = (uint32_t)i;
            }
        }
    }
}

int mf_partition_has(const struct mf_partition *p, size_t number, const uint32_t at[3])
{
    return p->part[0][at[0]] == number && p->part[1][at[1]] == number && p->part[2][at[2]] == number;
}

static uint32_t count_of(const struct mf_partition *p, size_t number, int a)
{
    return (uint32_t)p->span[a][number].count;
}

uint32_t mf_partition_local(const struct mf_partition *p, size_t number, const uint32_t at[3])
{
    const uint32_t row = p->order[0][at[0]] * count_of(p, number, 1) + p->order[1][at[1]];

    return row * count_of(p, number, 2) + p->order[2][at[2]];
}

size_t mf_sublattice_room(const struct mf_partition *p)
{
    size_t room = 1;

    for (int a = 0; a < 3; ++a) room *= p->span[a][0].count; /* none is longer than the first */
    return room;
}

/* -- voxels -- */

size_t mf_sublattice_at(const struct mf_sublattice *s, uint32_t local)
{
    const struct mf_partition *p = s->partition;
    const struct mf_span span[3] = {p->span[0][s->number], p->span[1][s->number], p->span[2][s->number]};
    const uint32_t ny = (uint32_t)span[1].count, nx = (uint32_t)span[2].count, row = local / nx, plane = row / ny;
    const size_t z = p->index[0][span[0].first + plane], y = p->index[1][span[1].first + row - plane * ny];

    if (p->count == 1) return local;
    return (z * p->dims[1] + y) * p->dims[2] + p->index[2][span[2].first + local - row * nx];
}

static int is_fixed(const struct mf_sublattice *s, size_t voxel)
{
    return s->fixed && s->fixed[voxel] != MF_LABEL_OPEN;
}

/* Is it one of the lists'? Its number in the sublattice. */
static int holds(const struct mf_sublattice *s, size_t voxel, uint32_t *local)
{
    uint32_t at[3];

    *local = (uint32_t)voxel;
    if (s->partition->count > 1) {
        mf_mutable_at(s->field, voxel, at);
        if (!mf_partition_has(s->partition, s->number, at)) return 0;
        *local = mf_partition_local(s->partition, s->number, at);
    }
    return !is_fixed(s, voxel);
}

/* -- lists -- */

static size_t list_of(const struct mf_sublattice *s, size_t voxel)
{
    return (size_t)mf_mutable_label(s->field, voxel) * MF_CLASSES + (size_t)mf_mutable_foreign(s->field, voxel, -1);
}

static void put(struct mf_sublattice *s, size_t place, uint32_t local)
{
    s->voxel[place] = local;
    s->place[local] = (uint32_t)place;
}

/* The lists in between make space: one voxel of each moves from one end of its list to the other. */
static void move(struct mf_sublattice *s, uint32_t local, size_t from, size_t to)
{
    size_t hole = s->place[local];

    for (; from < to; ++from) {
        const size_t end = s->first[from + 1] - 1;

        if (hole != end) put(s, hole, s->voxel[end]);
        hole = end;
        --s->first[from + 1];
    }
    for (; from > to; --from) {
        const size_t begin = s->first[from];

        if (hole != begin) put(s, hole, s->voxel[begin]);
        hole = begin;
        ++s->first[from];
    }
    put(s, hole, local);
}

static uint32_t voxels_of(const struct mf_sublattice *s)
{
    uint32_t n = 1;

    for (int a = 0; a < 3; ++a) n *= count_of(s->partition, s->number, a);
    return n;
}

void mf_sublattice_fill(struct mf_sublattice *s)
{
    const uint32_t n = voxels_of(s);
    size_t next[MF_PHASES_MAX * MF_CLASSES] = {0}, at = 0;

    for (uint32_t i = 0; i < n; ++i) {
        const size_t voxel = mf_sublattice_at(s, i);

        s->place[i] = is_fixed(s, voxel) ? FIXED : (uint32_t)list_of(s, voxel);
        if (s->place[i] != FIXED) ++next[s->place[i]];
    }
    for (size_t l = 0; l < MF_PHASES_MAX * MF_CLASSES; ++l) {
        s->first[l] = at;
        at += next[l];
        next[l] = s->first[l];
    }
    s->first[MF_PHASES_MAX * MF_CLASSES] = s->voxels = at;
    for (uint32_t i = 0; i < n; ++i)
        if (s->place[i] != FIXED) put(s, next[s->place[i]]++, i);
}

void mf_sublattice_set(struct mf_sublattice *s, size_t voxel, uint8_t phase)
{
    size_t near[7], list[7], n = 0, all = mf_mutable_around(s->field, voxel, near);
    uint32_t local[7] = {0};

    near[all++] = voxel;
    for (size_t i = 0; i < all; ++i) {
        near[n] = near[i];
        n += (size_t)holds(s, near[i], &local[n]);
    }
    for (size_t i = 0; i < n; ++i) list[i] = list_of(s, near[i]);
    mf_mutable_set(s->field, voxel, phase);
    for (size_t i = 0; i < n; ++i) {
        const size_t now = list_of(s, near[i]);

        if (now != list[i]) move(s, local[i], list[i], now);
    }
}

/* -- drawing -- */

size_t mf_sublattice_draw(const struct mf_sublattice *s, uint8_t phase, const double weight[MF_CLASSES], double list,
                          double place)
{
    const size_t *first = s->first + (size_t)phase * MF_CLASSES;
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
    if (chosen == MF_CLASSES) return s->field->voxels;
    return mf_sublattice_at(s, s->voxel[first[chosen] + (size_t)(place * (double)(first[chosen + 1] - first[chosen]))]);
}

size_t mf_sublattice_any(const struct mf_sublattice *s, double place)
{
    return s->voxels ? mf_sublattice_at(s, s->voxel[(size_t)(place * (double)s->voxels)]) : s->field->voxels;
}

size_t mf_sublattice_other(const struct mf_sublattice *s, uint8_t phase, double place)
{
    const size_t begin = s->first[(size_t)phase * MF_CLASSES], end = s->first[((size_t)phase + 1) * MF_CLASSES];
    const size_t others = s->voxels - (end - begin), i = (size_t)(place * (double)others);

    if (others == 0) return s->field->voxels;
    return mf_sublattice_at(s, s->voxel[i < begin ? i : i + (end - begin)]);
}
