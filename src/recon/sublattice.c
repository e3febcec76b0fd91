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

int mf_partition_open(struct mf_partition *d, struct mf_arena *arena, const size_t dims[3])
{
    *d = (struct mf_partition){.arena = arena, .count = sublattices_of(dims)};
    memcpy(d->dims, dims, sizeof d->dims);
    for (int a = 0; a < 3; ++a) {
        for (size_t p = 0; p < d->count; ++p) d->span[a][p] = mf_cut(dims[a], d->count, p);
        d->part[a] = mf_arena_take(arena, dims[a], "annealing");
        d->index[a] = mf_arena_take(arena, dims[a] * sizeof *d->index[a], "annealing");
        d->order[a] = mf_arena_take(arena, dims[a] * sizeof *d->order[a], "annealing");
        if (!d->part[a] || !d->index[a] || !d->order[a]) return MF_MEMORY;
    }
    if (mf_sublattice_room(d) >= UINT32_MAX)
        return mf_fail(MF_USAGE, "annealing knows chains of less than 2^32 voxels");
    return MF_OK;
}

void mf_partition_close(struct mf_partition *d)
{
    for (int a = 0; a < 3; ++a) {
        mf_arena_give(d->arena, d->order[a]);
        mf_arena_give(d->arena, d->index[a]);
        mf_arena_give(d->arena, d->part[a]);
    }
}

static void shuffle(const struct mf_partition *d, int a, uint64_t seed, uint64_t number)
{
    uint32_t *index = d->index[a];

    for (size_t i = d->dims[a]; i > 1; --i) {
        const double u = mf_random_uniform(seed, (uint32_t)(MF_STREAM_SUBLATTICE + a), number * UINT32_MAX + i);
        const size_t j = (size_t)(u * (double)i);
        const uint32_t other = index[j];

        index[j] = index[i - 1];
        index[i - 1] = other;
    }
}

void mf_partition_shuffle(struct mf_partition *d, uint64_t seed, uint64_t number)
{
    for (int a = 0; a < 3; ++a) {
        for (size_t i = 0; i < d->dims[a]; ++i) d->index[a][i] = (uint32_t)i;
        if (d->count > 1) shuffle(d, a, seed, number);
        for (size_t p = 0; p < d->count; ++p) {
            const struct mf_span span = d->span[a][p];

            for (size_t i = 0; i < span.count; ++i) {
                d->part[a][d->index[a][span.first + i]] = (uint8_t)p;
                d->order[a][d->index[a][span.first + i]] = (uint32_t)i;
            }
        }
    }
}

int mf_partition_has(const struct mf_partition *d, size_t number, const uint32_t at[3])
{
    return d->part[0][at[0]] == number && d->part[1][at[1]] == number && d->part[2][at[2]] == number;
}

static uint32_t count_of(const struct mf_partition *d, size_t number, int a)
{
    return (uint32_t)d->span[a][number].count;
}

uint32_t mf_partition_local(const struct mf_partition *d, size_t number, const uint32_t at[3])
{
    const uint32_t row = d->order[0][at[0]] * count_of(d, number, 1) + d->order[1][at[1]];

    return row * count_of(d, number, 2) + d->order[2][at[2]];
}

size_t mf_sublattice_room(const struct mf_partition *d)
{
    size_t room = 1;

    for (int a = 0; a < 3; ++a) room *= d->span[a][0].count; /* none is longer than the first */
    return room;
}

/* -- voxels -- */

size_t mf_sublattice_at(const struct mf_sublattice *p, uint32_t local)
{
    const struct mf_partition *d = p->partition;
    const struct mf_span span[3] = {d->span[0][p->number], d->span[1][p->number], d->span[2][p->number]};
    const uint32_t ny = (uint32_t)span[1].count, nx = (uint32_t)span[2].count, row = local / nx, plane = row / ny;
    const size_t z = d->index[0][span[0].first + plane], y = d->index[1][span[1].first + row - plane * ny];

    if (d->count == 1) return local;
    return (z * d->dims[1] + y) * d->dims[2] + d->index[2][span[2].first + local - row * nx];
}

static int is_fixed(const struct mf_sublattice *p, size_t voxel)
{
    return p->fixed && p->fixed[voxel] != MF_LABEL_OPEN;
}

/* Is it one of the lists'? Its number in the sublattice. */
static int holds(const struct mf_sublattice *p, size_t voxel, uint32_t *local)
{
    uint32_t at[3];

    *local = (uint32_t)voxel;
    if (p->partition->count > 1) {
        mf_mutable_at(p->field, voxel, at);
        if (!mf_partition_has(p->partition, p->number, at)) return 0;
        *local = mf_partition_local(p->partition, p->number, at);
    }
    return !is_fixed(p, voxel);
}

/* -- lists -- */

static size_t list_of(const struct mf_sublattice *p, size_t voxel)
{
    return (size_t)mf_mutable_label(p->field, voxel) * MF_CLASSES + (size_t)mf_mutable_foreign(p->field, voxel, -1);
}

static void put(struct mf_sublattice *p, size_t place, uint32_t local)
{
    p->voxel[place] = local;
    p->place[local] = (uint32_t)place;
}

/* The lists in between make space: one voxel of each moves from one end of its list to the other. */
static void move(struct mf_sublattice *p, uint32_t local, size_t from, size_t to)
{
    size_t hole = p->place[local];

    for (; from < to; ++from) {
        const size_t end = p->first[from + 1] - 1;

        if (hole != end) put(p, hole, p->voxel[end]);
        hole = end;
        --p->first[from + 1];
    }
    for (; from > to; --from) {
        const size_t begin = p->first[from];

        if (hole != begin) put(p, hole, p->voxel[begin]);
        hole = begin;
        ++p->first[from];
    }
    put(p, hole, local);
}

static uint32_t voxels_of(const struct mf_sublattice *p)
{
    uint32_t n = 1;

    for (int a = 0; a < 3; ++a) n *= count_of(p->partition, p->number, a);
    return n;
}

void mf_sublattice_fill(struct mf_sublattice *p)
{
    const uint32_t n = voxels_of(p);
    size_t next[MF_PHASES_MAX * MF_CLASSES] = {0}, at = 0;

    for (uint32_t i = 0; i < n; ++i) {
        const size_t voxel = mf_sublattice_at(p, i);

        p->place[i] = is_fixed(p, voxel) ? FIXED : (uint32_t)list_of(p, voxel);
        if (p->place[i] != FIXED) ++next[p->place[i]];
    }
    for (size_t l = 0; l < MF_PHASES_MAX * MF_CLASSES; ++l) {
        p->first[l] = at;
        at += next[l];
        next[l] = p->first[l];
    }
    p->first[MF_PHASES_MAX * MF_CLASSES] = p->voxels = at;
    for (uint32_t i = 0; i < n; ++i)
        if (p->place[i] != FIXED) put(p, next[p->place[i]]++, i);
}

void mf_sublattice_set(struct mf_sublattice *p, size_t voxel, uint8_t phase)
{
    size_t near[7], list[7], n = 0, all = mf_mutable_around(p->field, voxel, near);
    uint32_t local[7] = {0};

    near[all++] = voxel;
    for (size_t i = 0; i < all; ++i) {
        near[n] = near[i];
        n += (size_t)holds(p, near[i], &local[n]);
    }
    for (size_t i = 0; i < n; ++i) list[i] = list_of(p, near[i]);
    mf_mutable_set(p->field, voxel, phase);
    for (size_t i = 0; i < n; ++i) {
        const size_t now = list_of(p, near[i]);

        if (now != list[i]) move(p, local[i], list[i], now);
    }
}

/* -- drawing -- */

size_t mf_sublattice_draw(const struct mf_sublattice *p, uint8_t phase, const double weight[MF_CLASSES], double list,
                          double place)
{
    const size_t *first = p->first + (size_t)phase * MF_CLASSES;
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
    if (chosen == MF_CLASSES) return p->field->voxels;
    return mf_sublattice_at(p, p->voxel[first[chosen] + (size_t)(place * (double)(first[chosen + 1] - first[chosen]))]);
}

size_t mf_sublattice_any(const struct mf_sublattice *p, double place)
{
    return p->voxels ? mf_sublattice_at(p, p->voxel[(size_t)(place * (double)p->voxels)]) : p->field->voxels;
}

size_t mf_sublattice_other(const struct mf_sublattice *p, uint8_t phase, double place)
{
    const size_t begin = p->first[(size_t)phase * MF_CLASSES], end = p->first[((size_t)phase + 1) * MF_CLASSES];
    const size_t others = p->voxels - (end - begin), i = (size_t)(place * (double)others);

    if (others == 0) return p->field->voxels;
    return mf_sublattice_at(p, p->voxel[i < begin ? i : i + (end - begin)]);
}
