/* See connect.h. */
#include "src/recon/connect_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/forest.h"
#include "src/base/log.h"

enum {
    CLUSTERS_MOST = 4096, /* of a phase, and parts of them, that are looked at: the largest; few of a small volume */
    CLUSTERS_LEAST = 16,
    VOXELS_PER_CLUSTER = 64,
    WAY = 2 * MF_REACH + 2, /* most voxels of one, with those that it begins and ends at */
    ORDER_BITS = 57,        /* of where it is; its length in the six above */
    VOXELS_PER_PIN = 16,    /* of the volume: the most pins */
    PINS_LEAST = 256
};

static const double NEAR_ENOUGH = 0.01;

/* The shortest way between two clusters, by their places in the list. */
struct mf_way {
    uint32_t from, to; /* from > to; both 0: there is none */
    uint32_t steps;    /* voxels between them */
    uint32_t taken;
    uint64_t order; /* 3 * global voxel + axis of the face where its halves meet */
};

/* -- pins -- */

size_t mf_connect_pins_most(const struct mf_connect *c)
{
    const size_t *n = c->slab.dims;

    return n[0] * n[1] * n[2] / VOXELS_PER_PIN + PINS_LEAST;
}

static uint64_t less(uint64_t most, uint64_t used) { return most > used ? most - used : 0; }

uint64_t mf_connect_room(const struct mf_connect *c, uint8_t to)
{
    const uint64_t half = less(c->open[to] / 2, c->pinned[to]);
    uint64_t used = 0, room;

    for (int p = 0; p < c->phases; ++p) used += c->pinned[p];
    room = less(mf_connect_pins_most(c), used);
    return room < half ? room : half;
}

static int by_voxel(const void *a, const void *b)
{
    const struct mf_change *p = a, *q = b;

    return (p->voxel > q->voxel) - (p->voxel < q->voxel);
}

int mf_connect_holds(const struct mf_connect *c, uint64_t voxel)
{
    const struct mf_change at = {.voxel = voxel};

    if (c->fixed && c->fixed[voxel] != MF_LABEL_OPEN) return 1;
    return c->sorted && bsearch(&at, c->pin, c->sorted, sizeof at, by_voxel);
}

void mf_connect_pin(struct mf_connect *c, struct mf_change new)
{
    if (mf_connect_holds(c, new.voxel)) return;
    MF_ASSERT(c->pins < mf_connect_pins_most(c));
    c->pin[c->pins++] = new;
}

uint64_t mf_connect_pinned(struct mf_connect *c, uint8_t phase)
{
    int64_t pinned = (int64_t)(c->pins - c->sorted);

    if (pinned) qsort(c->pin, c->pins, sizeof *c->pin, by_voxel);
    c->sorted = c->pins;
    mf_comm_sum_int(c->comm, 1, &pinned);
    c->pinned[phase] += (uint64_t)pinned;
    return (uint64_t)pinned;
}

/* -- memory -- */

int mf_connect_open(struct mf_connect *c)
{
    const size_t own = mf_slab_voxels(&c->slab), most = mf_connect_pins_most(c), *n = c->slab.dims;

    c->most = n[0] * n[1] * n[2] / VOXELS_PER_CLUSTER + CLUSTERS_LEAST;
    if (c->most > CLUSTERS_MOST) c->most = CLUSTERS_MOST;
    c->pin = mf_arena_take(c->arena, (own < most ? own : most) * sizeof *c->pin, "pins");
    c->list = mf_arena_take(c->arena, c->most * sizeof *c->list, "clusters");
    c->way = mf_arena_take(c->arena, c->most * sizeof *c->way, "clusters");
    c->parent = mf_arena_take(c->arena, c->most * sizeof *c->parent, "clusters");
    c->body = mf_arena_take(c->arena, 2 * own, "parts of clusters");
    c->cut = mf_arena_take(c->arena, c->most, "parts of clusters");
    c->known = mf_arena_take(c->arena, c->most * MF_PART_NUMBERS * sizeof *c->known, "parts of clusters");
    MF_TRY(mf_reach_open(&c->reach, c->comm, c->arena, &c->slab));
    MF_TRY(mf_clusters_room(c->comm, c->arena, &c->slab, c->most));
    return c->pin && c->list && c->way && c->parent && c->body && c->cut && c->known ? MF_OK : MF_MEMORY;
}

void mf_connect_close(struct mf_connect *c)
{
    mf_reach_close(&c->reach);
    mf_arena_give(c->arena, c->known);
    mf_arena_give(c->arena, c->cut);
    mf_arena_give(c->arena, c->body);
    mf_arena_give(c->arena, c->parent);
    mf_arena_give(c->arena, c->way);
    mf_arena_give(c->arena, c->list);
    mf_arena_give(c->arena, c->pin);
}

/* -- what there is -- */

static int has_axis(const struct mf_connect *c, int a) { return c->slab.dims[a] > 1; }

static double off_by(const struct mf_connect *c, int p)
{
    double off = 0;

    for (int a = 0; a < 3 && c->aim[p][0] >= 0; ++a)
        if (has_axis(c, a)) off = fmax(off, fabs(c->share[p][a] - c->aim[p][a]));
    return off;
}

/* How far what spans is from what is wanted, the worst of all phases and axes. */
static double off_most(const struct mf_connect *c)
{
    double off = 0;

    for (int p = 0; p < c->phases; ++p) off = fmax(off, off_by(c, p));
    return off;
}

/* Lists the clusters of a phase and marks them where ways will begin. */
static int account_of(struct mf_connect *c, uint8_t phase, struct mf_account *is)
{
    const struct mf_micro micro = {
        .ndim = has_axis(c, 0) ? 3 : 2, .slab = c->slab, .phases = c->phases, .phase = (uint8_t *)c->label};
    const struct mf_measure_job job = {.comm = c->comm, .arena = c->arena, .micro = &micro};
    const size_t own = mf_slab_voxels(&c->slab);

    *is = (struct mf_account){.phase = phase};
    MF_TRY(mf_clusters_list(&job, phase, c->most, c->list, &c->count, mf_reach_own(&c->reach)));
    for (size_t i = 0; i < own; ++i) is->voxels += c->label[i] == phase;
    mf_comm_sum_int(c->comm, 1, &is->voxels);
    for (int a = 0; a < 3; ++a) {
        for (size_t k = 0; k < c->count; ++k)
            if (mf_touch_spans(c->list[k].touch, a)) is->spans[a] += (double)c->list[k].size;
        is->wanted[a] = has_axis(c, a) ? c->aim[phase][a] * (double)is->voxels : is->spans[a];
        c->share[phase][a] = is->voxels ? is->spans[a] / (double)is->voxels : 0;
    }
    return MF_OK;
}

/* -- ways -- */

/* Where no way leads: what is fixed or pinned otherwise. */
static void build_walls(const struct mf_connect *c, uint8_t phase)
{
    uint32_t *own = mf_reach_own(&c->reach);
    const size_t voxels = mf_slab_voxels(&c->slab);

    for (size_t i = 0; c->fixed && i < voxels; ++i)
        if (c->fixed[i] != MF_LABEL_OPEN && c->fixed[i] != phase) own[i] = MF_REACH_WALL;
    for (size_t i = 0; i < c->pins; ++i)
        if (c->pin[i].label != phase) own[c->pin[i].voxel] = MF_REACH_WALL;
}

/* What spans when clusters a and b of the list are one. */
static void spans_joined(const struct mf_connect *c, const struct mf_account *is, uint32_t a, uint32_t b,
                         double spans[3])
{
    const struct mf_cluster *p = &c->list[a], *q = &c->list[b];

    for (int k = 0; k < 3; ++k) {
        spans[k] = is->spans[k];
        if (mf_touch_spans(p->touch, k)) spans[k] -= (double)p->size;
        if (mf_touch_spans(q->touch, k)) spans[k] -= (double)q->size;
        if (mf_touch_spans(p->touch | q->touch, k)) spans[k] += (double)(p->size + q->size);
    }
}

/* How much nearer that comes to what is wanted. */
static double value(const struct mf_connect *c, const struct mf_account *is, uint32_t a, uint32_t b)
{
    double spans[3];

    spans_joined(c, is, a, b, spans);
    return mf_account_miss(is->spans, is->wanted) - mf_account_miss(spans, is->wanted);
}

static int is_way(const struct mf_way *way) { return way->from != way->to; }

static int shorter(const struct mf_way *a, const struct mf_way *b)
{
    if (!is_way(a) || !is_way(b)) return is_way(a);
    if (a->steps != b->steps) return a->steps < b->steps;
    return a->order < b->order;
}

/* Does something that is wanted not span at all? Then clusters that do not help by themselves may help together. */
static int lacks(const struct mf_account *is)
{
    int lacking = 0;

    for (int a = 0; a < 3; ++a) lacking |= is->spans[a] == 0 && is->wanted[a] > NEAR_ENOUGH * (double)is->voxels;
    return lacking;
}

static void try_face(struct mf_connect *c, const struct mf_account *is, size_t at, size_t next, int axis)
{
    const struct mf_reach *r = &c->reach;
    const uint32_t a = r->owner[at], b = r->owner[next];
    struct mf_way way = {.from = (a > b ? a : b) - 1, .to = (a > b ? b : a) - 1};

    way.steps = (uint32_t)r->far[at] + r->far[next];
    way.order = 3 * mf_reach_global(r, at) + (uint64_t)axis;
    if (!shorter(&way, &c->way[way.from])) return;
    if (value(c, is, way.from, way.to) > 0 || (way.to == 0 && lacks(is))) c->way[way.from] = way;
}

/* Of the voxels of a row, @p first and on; @p beyond: what is added for the neighbour along z and y, 0: it is outside.
 */
static void find_in_row(struct mf_connect *c, const struct mf_account *is, size_t first, const size_t beyond[2])
{
    const struct mf_reach *r = &c->reach;
    const size_t nx = c->slab.dims[2];

    for (size_t x = 0; x < nx; ++x) {
        const size_t at = first + x, next[3] = {beyond[0], beyond[1], x + 1 < nx};
        const uint32_t own = r->owner[at];

        for (int axis = 0; axis < 3 && own && own != MF_REACH_WALL; ++axis) {
            const uint32_t other = r->owner[at + next[axis]];

            if (other && other != MF_REACH_WALL && other != own) try_face(c, is, at, at + next[axis], axis);
        }
    }
}

/* The shortest way that is worth it from every cluster to a larger one: of this rank's voxels. */
static void find_ways(struct mf_connect *c, const struct mf_account *is)
{
    const size_t ny = c->slab.dims[1], nx = c->slab.dims[2], below = c->reach.below;

    memset(c->way, 0, c->count * sizeof *c->way);
    for (size_t z = below; z < below + c->slab.count; ++z)
        for (size_t y = 0; y < ny; ++y) {
            const size_t beyond[2] = {z + 1 < c->reach.planes ? ny * nx : 0, y + 1 < ny ? nx : 0};

            find_in_row(c, is, (z * ny + y) * nx, beyond);
        }
}

/* The larger, the shorter; no two ways from one cluster have the same. */
static int64_t rank_of(const struct mf_way *way)
{
    return is_way(way) ? -(int64_t)((uint64_t)way->steps << ORDER_BITS | way->order) : INT64_MIN;
}

/* The shortest ones of all ranks: as many numbers as there are clusters, on however many ranks. */
static void share_ways(struct mf_connect *c)
{
    int64_t *best = c->known, *to = c->known + c->count;

    for (size_t i = 0; i < c->count; ++i) best[i] = rank_of(&c->way[i]);
    mf_comm_max_int(c->comm, c->count, best);
    for (size_t i = 0; i < c->count; ++i) to[i] = best[i] == rank_of(&c->way[i]) ? c->way[i].to : 0;
    mf_comm_max_int(c->comm, c->count, to);
    for (size_t i = 0; i < c->count; ++i) {
        uint64_t is;

        if (best[i] == INT64_MIN) continue;
        is = (uint64_t)-best[i];
        c->way[i] = (struct mf_way){.from = (uint32_t)i,
                                    .to = (uint32_t)to[i],
                                    .steps = (uint32_t)(is >> ORDER_BITS),
                                    .order = is & (((uint64_t)1 << ORDER_BITS) - 1)};
    }
}

/* The path with the best ratio of gain to length. @p lacking: a path to the largest cluster, whatever its gain. */
static struct mf_way *best_way(struct mf_connect *c, const struct mf_account *is, int lacking)
{
    struct mf_way *best = NULL;
    double most = 0;

    for (size_t i = 0; i < c->count; ++i) {
        struct mf_way *way = &c->way[i];
        const uint32_t a = mf_forest_root(c->parent, way->from), b = mf_forest_root(c->parent, way->to);
        double worth;

        if (!is_way(way) || way->taken || a == b || (lacking && a && b)) continue;
        worth = (lacking ? 1 : value(c, is, a, b)) / (double)(way->steps + 1);
        if (worth > most) {
            most = worth;
            best = way;
        }
    }
    return best;
}

static void join(struct mf_connect *c, struct mf_account *is, struct mf_way *way)
{
    const uint32_t a = mf_forest_root(c->parent, way->from), b = mf_forest_root(c->parent, way->to);
    const uint32_t root = a < b ? a : b, other = a < b ? b : a;

    spans_joined(c, is, a, b, is->spans);
    mf_forest_join(c->parent, a, b);
    c->list[root].size += c->list[other].size;
    c->list[root].touch |= c->list[other].touch;
    way->taken = 1;
    ++c->joined;
}

/* Takes ways while they bring something, the same on all ranks. Returns how many. */
static size_t choose_ways(struct mf_connect *c, struct mf_account *is)
{
    uint64_t room = mf_connect_room(c, is->phase), used = 0;
    size_t taken = 0;
    struct mf_way *way;

    for (size_t k = 0; k < c->count; ++k) c->parent[k] = (uint32_t)k;
    while ((way = best_way(c, is, 0)) || (taken == 0 && lacks(is) && (way = best_way(c, is, 1)))) {
        if (used + way->steps + 2 > room) {
            c->full = 1;
            break;
        }
        used += way->steps + 2;
        join(c, is, way);
        ++taken;
    }
    return taken;
}

/* -- pins -- */

/* From voxel @p at of owner back to where its mark came from. Returns how many voxels that are. */
static size_t trace(const struct mf_reach *r, size_t at, uint64_t *voxel)
{
    size_t n = 0;

    for (voxel[n++] = mf_reach_global(r, at); r->far[at] > 0; voxel[n++] = mf_reach_global(r, at)) {
        size_t next = SIZE_MAX;
        int found = 0;

        for (int k = 0; k < 6 && !found; ++k) {
            next = mf_reach_neighbour(r, at, k);
            found = next != SIZE_MAX && r->owner[next] == r->owner[at] && r->far[next] + 1 == r->far[at];
        }
        MF_ASSERT(found && n < WAY / 2);
        at = next;
    }
    return n;
}

/* The voxels of the ways that were taken and whose first half ends at a voxel of this rank. */
static size_t trace_ways(const struct mf_connect *c, uint64_t *voxel)
{
    const struct mf_reach *r = &c->reach;
    const uint64_t plane = c->slab.dims[1] * c->slab.dims[2], first = c->slab.first * plane;
    size_t n = 0;

    for (size_t i = 0; i < c->count; ++i) {
        const uint64_t at = c->way[i].order / 3;
        size_t here;

        if (!c->way[i].taken || at < first || at >= first + mf_slab_voxels(&c->slab)) continue;
        here = (size_t)(at - first) + r->below * plane;
        n += trace(r, here, voxel + n);
        n += trace(r, mf_reach_neighbour(r, here, 2 * (int)(c->way[i].order % 3) + 1), voxel + n);
    }
    return n;
}

static int by_index(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

    return (p > q) - (p < q);
}

/* Pins this rank's of @p count voxels, by global index, that all ranks have; ways cross. */
static void put_pins(struct mf_connect *c, uint8_t phase, uint64_t *voxel, size_t count)
{
    const uint64_t first = c->slab.first * c->slab.dims[1] * c->slab.dims[2];

    if (count) qsort(voxel, count, sizeof *voxel, by_index);
    for (size_t i = 0; i < count; ++i)
        if ((i == 0 || voxel[i] != voxel[i - 1]) && voxel[i] >= first && voxel[i] - first < mf_slab_voxels(&c->slab))
            mf_connect_pin(c, (struct mf_change){voxel[i] - first, phase});
    mf_connect_pinned(c, phase);
}

/* Every rank's @p bytes, on all; the caller frees. */
static int bring(const struct mf_connect *c, const void *mine, size_t bytes, void **all, size_t *total)
{
    size_t *offset = mf_arena_take(c->arena, ((size_t)c->comm->size + 1) * sizeof *offset, "clusters");
    int rc = mf_agree(c->comm, offset ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) rc = mf_comm_gather(c->comm, mine, bytes, all, offset);
    if (rc == MF_OK) *total = offset[c->comm->size];
    mf_arena_give(c->arena, offset);
    return rc;
}

static int lay_ways(struct mf_connect *c, uint8_t phase, size_t taken)
{
    uint64_t *voxel = mf_arena_take(c->arena, taken * WAY * sizeof *voxel, "paths");
    int rc = mf_agree(c->comm, voxel ? MF_OK : MF_MEMORY);
    void *all = NULL;
    size_t total = 0;

    if (rc == MF_OK) rc = bring(c, voxel, trace_ways(c, voxel) * sizeof *voxel, &all, &total);
    if (rc == MF_OK) put_pins(c, phase, all, total / sizeof *voxel);
    free(all);
    mf_arena_give(c->arena, voxel);
    return rc;
}

static int join_clusters(struct mf_connect *c, struct mf_account *is, int *more)
{
    size_t taken;

    build_walls(c, is->phase);
    MF_TRY(mf_reach_flood(&c->reach, MF_REACH));
    find_ways(c, is);
    share_ways(c);
    taken = choose_ways(c, is);
    if (taken == 0) return MF_OK;
    *more = 1;
    return lay_ways(c, is->phase, taken);
}

/* Is what is furthest from its aim too much? */
static int spans_too_much(const struct mf_account *is)
{
    double worst = 0;

    for (int a = 0; a < 3; ++a) {
        const double off = is->spans[a] - is->wanted[a];

        if (fabs(off) > fabs(worst)) worst = off;
    }
    return worst > 0;
}

int mf_connect_look(struct mf_connect *c, int *more)
{
    *more = c->full = 0;
    for (int p = 0; p < c->phases; ++p) {
        struct mf_account is;

        if (c->aim[p][0] < 0) continue;
        MF_TRY(account_of(c, (uint8_t)p, &is));
        if (off_by(c, p) <= NEAR_ENOUGH || c->count == 0) continue;
        MF_TRY(spans_too_much(&is) ? mf_connect_part(c, &is, more) : join_clusters(c, &is, more));
    }
    return MF_OK;
}

int mf_connect_measure(struct mf_connect *c)
{
    struct mf_account is;

    for (int p = 0; p < c->phases; ++p)
        if (c->aim[p][0] >= 0) MF_TRY(account_of(c, (uint8_t)p, &is));
    return MF_OK;
}

void mf_connect_tell(const struct mf_connect *c, int more)
{
    const double off = off_most(c);
    uint64_t pins = 0;

    for (int p = 0; p < c->phases; ++p) pins += c->pinned[p];
    mf_info(
        "clusters: %ld joined, %ld parted, by %llu voxels; spanning shares differ from the target's by at most %.3f",
        c->joined, c->parted, (unsigned long long)pins, off);
    if (off > NEAR_ENOUGH)
        mf_warn("clusters: a spanning share still differs from the target's by %.3f: %s", off,
                more      ? "the limit of new cuts is reached"
                : c->full ? "the limit of prescribed voxels is reached"
                          : "no further path or cut would help");
}
