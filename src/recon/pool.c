/* See pool.h. */
#include "src/recon/pool.h"

#include <string.h>

#include "kernels/labels.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/rng.h"

enum { LEAST = 8 /* indices of an axis in a pool */, STREAM = 0x5e };

/* -- the deal -- */

/* How many pools a field of these extents has: an image, whose slice is one, has one. */
static size_t pools_of(const size_t dims[3])
{
    size_t least = dims[0] < dims[1] ? dims[0] : dims[1], pools;

    if (dims[2] < least) least = dims[2];
    pools = least / LEAST;
    return pools < 1 ? 1 : pools > MF_POOLS_MAX ? MF_POOLS_MAX : pools;
}

int mf_deal_open(struct mf_deal *d, struct mf_arena *arena, const size_t dims[3])
{
    *d = (struct mf_deal){.arena = arena, .pools = pools_of(dims)};
    memcpy(d->dims, dims, sizeof d->dims);
    for (int a = 0; a < 3; ++a) {
        d->part[a] = mf_arena_take(arena, dims[a], "annealing");
        d->index[a] = mf_arena_take(arena, dims[a] * sizeof *d->index[a], "annealing");
        if (!d->part[a] || !d->index[a]) return MF_MEMORY;
    }
    return MF_OK;
}

void mf_deal_close(struct mf_deal *d)
{
    for (int a = 0; a < 3; ++a) {
        mf_arena_give(d->arena, d->index[a]);
        mf_arena_give(d->arena, d->part[a]);
    }
}

static void shuffle(const struct mf_deal *d, int a, uint64_t seed, uint64_t number)
{
    uint32_t *index = d->index[a];

    for (size_t i = d->dims[a]; i > 1; --i) {
        const double u = mf_random_uniform(seed, (uint32_t)(STREAM + a), number * UINT32_MAX + i);
        const size_t j = (size_t)(u * (double)i);
        const uint32_t other = index[j];

        index[j] = index[i - 1];
        index[i - 1] = other;
    }
}

void mf_deal_shuffle(struct mf_deal *d, uint64_t seed, uint64_t number)
{
    for (int a = 0; a < 3; ++a) {
        for (size_t i = 0; i < d->dims[a]; ++i) d->index[a][i] = (uint32_t)i;
        if (d->pools > 1) shuffle(d, a, seed, number);
        for (size_t p = 0; p < d->pools; ++p) {
            const struct mf_span span = mf_cut(d->dims[a], d->pools, p);

            for (size_t i = 0; i < span.count; ++i) d->part[a][d->index[a][span.first + i]] = (uint8_t)p;
        }
    }
}

static int is_fixed(const struct mf_pool *p, size_t voxel)
{
    return p->field->fixed && p->field->fixed[voxel] != MF_LABEL_OPEN;
}

static int holds(const struct mf_pool *p, size_t voxel)
{
    uint32_t at[3];

    if (is_fixed(p, voxel)) return 0;
    if (p->deal->pools == 1) return 1;
    mf_mutable_at(p->field, voxel, at);
    return p->deal->part[0][at[0]] == p->number && p->deal->part[1][at[1]] == p->number &&
           p->deal->part[2][at[2]] == p->number;
}

size_t mf_pool_room(const struct mf_deal *d)
{
    size_t room = 1;

    for (int a = 0; a < 3; ++a) room *= mf_cut(d->dims[a], d->pools, 0).count; /* none is longer than the first */
    return room;
}

/* -- lists -- */

static size_t list_of(const struct mf_pool *p, size_t voxel)
{
    return (size_t)mf_mutable_label(p->field, voxel) * MF_CLASSES + (size_t)mf_mutable_foreign(p->field, voxel, -1);
}

static void put(struct mf_pool *p, size_t place, uint32_t voxel)
{
    p->voxel[place] = voxel;
    p->place[voxel] = (uint32_t)place;
}

/* Voxels of lists in between make room: one of each goes from one end of its list to the other. */
static void move(struct mf_pool *p, size_t voxel, size_t from, size_t to)
{
    size_t hole = p->place[voxel];

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
    put(p, hole, (uint32_t)voxel);
}

/* The voxels of a pool, one after the other. */
struct walk {
    struct mf_span span[3];
    size_t voxels;
};

static struct walk walk_of(const struct mf_pool *p)
{
    struct walk w = {.voxels = 1};

    for (int a = 0; a < 3; ++a) {
        w.span[a] = mf_cut(p->deal->dims[a], p->deal->pools, p->number);
        w.voxels *= w.span[a].count;
    }
    return w;
}

static size_t voxel_of(const struct mf_pool *p, const struct walk *w, size_t i)
{
    const struct mf_deal *d = p->deal;
    const size_t x = i % w->span[2].count, y = i / w->span[2].count % w->span[1].count,
                 z = i / w->span[2].count / w->span[1].count;

    return ((size_t)d->index[0][w->span[0].first + z] * d->dims[1] + d->index[1][w->span[1].first + y]) * d->dims[2] +
           d->index[2][w->span[2].first + x];
}

void mf_pool_fill(struct mf_pool *p)
{
    const struct walk w = walk_of(p);
    size_t next[MF_PHASES_MAX * MF_CLASSES] = {0}, at = 0;

    for (size_t i = 0; i < w.voxels; ++i) {
        const size_t voxel = voxel_of(p, &w, i), list = list_of(p, voxel);

        if (is_fixed(p, voxel)) continue;
        ++next[list];
        p->place[voxel] = (uint32_t)list;
    }
    for (size_t l = 0; l < MF_PHASES_MAX * MF_CLASSES; ++l) {
        p->first[l] = at;
        at += next[l];
        next[l] = p->first[l];
    }
    p->first[MF_PHASES_MAX * MF_CLASSES] = p->voxels = at;
    for (size_t i = 0; i < w.voxels; ++i) {
        const size_t voxel = voxel_of(p, &w, i);

        if (is_fixed(p, voxel)) continue;
        put(p, next[p->place[voxel]]++, (uint32_t)voxel);
    }
}

void mf_pool_set(struct mf_pool *p, size_t voxel, uint8_t phase)
{
    size_t near[7], list[7], n = 0, all = mf_mutable_around(p->field, voxel, near);

    near[all++] = voxel;
    for (size_t i = 0; i < all; ++i)
        if (holds(p, near[i])) near[n++] = near[i];
    for (size_t i = 0; i < n; ++i) list[i] = list_of(p, near[i]);
    mf_mutable_set(p->field, voxel, phase);
    for (size_t i = 0; i < n; ++i) {
        const size_t now = list_of(p, near[i]);

        if (now != list[i]) move(p, near[i], list[i], now);
    }
}

/* -- drawing -- */

size_t mf_pool_draw(const struct mf_pool *p, uint8_t phase, const double weight[MF_CLASSES], double list, double place)
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
    return p->voxel[first[chosen] + (size_t)(place * (double)(first[chosen + 1] - first[chosen]))];
}

size_t mf_pool_any(const struct mf_pool *p, double place)
{
    return p->voxels ? p->voxel[(size_t)(place * (double)p->voxels)] : p->field->voxels;
}

size_t mf_pool_other(const struct mf_pool *p, uint8_t phase, double place)
{
    const size_t begin = p->first[(size_t)phase * MF_CLASSES], end = p->first[((size_t)phase + 1) * MF_CLASSES];
    const size_t others = p->voxels - (end - begin), i = (size_t)(place * (double)others);

    if (others == 0) return p->field->voxels;
    return p->voxel[i < begin ? i : i + (end - begin)];
}
