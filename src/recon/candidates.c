/* See candidates.h. */
#include "src/recon/candidates.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/recon/select.h"

static void *take(struct mf_candidates *s, size_t bytes)
{
    return mf_arena_take(s->polish->queue->host, bytes, "polish");
}

static size_t plane_of(const struct mf_candidates *s) { return s->labels.ny * s->labels.nx; }

static size_t halo_bytes(const struct mf_candidates *s) { return 2 * s->labels.deep * plane_of(s); }

/* -- opening -- */

static size_t table_numbers(const struct mf_candidates *s)
{
    size_t n = 0;

    for (size_t d = 0; d < s->moves.sides; ++d) n += 2 * s->moves.fields * s->polish->slab.dims[d];
    return n;
}

static size_t table_bytes(const struct mf_candidates *s) { return table_numbers(s) * sizeof *s->table; }

/* The parts of the table, for kernels and for the host. */
static void deal_table(struct mf_candidates *s)
{
    size_t at = 0;

    for (size_t d = 0; d < s->moves.sides; ++d) {
        size_t n = s->moves.fields * s->polish->slab.dims[d];

        s->jump[d] = s->values + at;
        s->self[d] = s->values + at + n;
        s->moves.jump[d] = s->table + at;
        s->moves.self[d] = s->table + at + n;
        at += 2 * n;
    }
}

static void describe(struct mf_candidates *s, size_t lag)
{
    const struct mf_polish *p = s->polish;
    const size_t *n = p->slab.dims;
    int volume = n[0] > 1;

    s->shape = mf_window_shape_of(lag);
    s->labels = (struct mf_labels){.own = p->label,
                                   .planes = p->slab.count,
                                   .deep = volume ? lag - 1 : 0,
                                   .ny = n[1],
                                   .nx = n[2],
                                   .first = p->slab.first,
                                   .nz = n[0],
                                   .periodic = p->objective->periodic};
    s->moves = (struct mf_moves){.fields = p->fields, .sides = volume ? MF_SIDES : 1, .g = p->g};
}

int mf_candidates_open(struct mf_candidates *s, const struct mf_polish *polish, size_t lag, size_t most)
{
    struct mf_queue *queue = polish->queue;

    *s = (struct mf_candidates){.polish = polish, .most = most};
    describe(s, lag);
    s->halo = mf_arena_take(queue->arena, halo_bytes(s), "polish labels");
    s->table = mf_arena_take(queue->arena, table_bytes(s), "polish");
    if (!s->halo || !s->table) return MF_MEMORY;
    s->edges = mf_mirror_take(queue, s->halo, halo_bytes(s), "polish labels");
    s->values = mf_mirror_take(queue, s->table, table_bytes(s), "polish");
    s->room = take(s, mf_select_room(polish->comm, &polish->slab) * sizeof *s->room);
    s->pick = take(s, most * sizeof *s->pick);
    s->rest = take(s, most * sizeof *s->rest);
    if (!s->edges || !s->values || !s->room || !s->pick || !s->rest) return MF_MEMORY;
    s->labels.halo = s->halo;
    deal_table(s);
    return MF_OK;
}

void mf_candidates_close(struct mf_candidates *s)
{
    struct mf_queue *queue;

    if (!s->polish) return;
    queue = s->polish->queue;
    mf_arena_give(queue->host, s->rest);
    mf_arena_give(queue->host, s->pick);
    mf_arena_give(queue->host, s->room);
    mf_mirror_give(queue, s->table, s->values);
    mf_mirror_give(queue, s->halo, s->edges);
    mf_arena_give(queue->arena, s->table);
    mf_arena_give(queue->arena, s->halo);
}

/* -- surroundings -- */

/* Global plane where a rank's halo begins, below or above its slab. */
static ptrdiff_t halo_first(const struct mf_slab *slab, size_t deep, int above)
{
    return above ? (ptrdiff_t)(slab->first + slab->count) : (ptrdiff_t)slab->first - (ptrdiff_t)deep;
}

size_t mf_candidates_staged(const struct mf_candidates *s)
{
    const struct mf_polish *p = s->polish;

    return mf_apart(p->queue) ? mf_slab_asked(p->comm, &p->slab, s->labels.deep, 1) * plane_of(s) : 0;
}

int mf_candidates_update(struct mf_candidates *s)
{
    const struct mf_polish *p = s->polish;
    size_t deep = s->labels.deep, plane = plane_of(s), count = p->slab.count ? deep : 0;

    mf_mirror_put(p->queue, s->table, s->values, table_bytes(s));
    if (deep == 0) return MF_OK;
    for (int above = 0; above < 2; ++above)
        MF_TRY(mf_slab_fetch_device(p->comm, p->queue, &p->slab, p->label, plane, halo_first(&p->slab, deep, above),
                                    count, s->edges + (above ? deep * plane : 0)));
    if (count) mf_mirror_put(p->queue, s->halo, s->edges, halo_bytes(s));
    return MF_OK;
}

/* -- candidates -- */

static int by_score(const void *a, const void *b)
{
    const struct mf_pick *s = a, *t = b;

    if (s->score != t->score) return s->score > t->score ? -1 : 1;
    return s->voxel < t->voxel ? -1 : s->voxel > t->voxel;
}

static struct mf_site site_of(const struct mf_candidates *s, size_t i)
{
    const struct mf_polish *p = s->polish;
    size_t v = s->pick[i].voxel, plane = plane_of(s);
    struct mf_site site = {.at = {(uint32_t)(p->slab.first + v / plane), (uint32_t)(v % plane / s->labels.nx),
                                  (uint32_t)(v % s->labels.nx)},
                           .from = s->moves.from,
                           .to = s->moves.to,
                           .energy = -s->pick[i].score,
                           .rest = s->rest[i],
                           .order = (p->slab.first * plane + v) * (size_t)p->phases + s->moves.to};

    if (p->property) mf_property_change(p->property, v, site.from, site.to, site.change);
    return site;
}

size_t mf_candidates_find(struct mf_candidates *s, uint8_t from, uint8_t to, struct mf_site *site, uint32_t *window)
{
    const struct mf_polish *p = s->polish;
    const struct mf_backend *be = p->backend;
    struct mf_choice choice;
    size_t n;

    s->moves.from = from;
    s->moves.to = to;
    be->label->rank(p->queue, &s->labels, &s->moves, p->x);
    if (p->fixed)
        be->label->hold(p->queue, (struct mf_extent){1, p->slab.count, plane_of(s)}, p->fixed, -INFINITY, p->x);
    mf_select_top(p->comm, p->queue, &p->slab, p->x, s->most, s->room, &choice);
    n = be->select->list(p->queue, mf_slab_voxels(&p->slab), p->x, choice, s->most, s->pick);
    qsort(s->pick, n, sizeof *s->pick, by_score);
    be->label->look(p->queue, &s->labels, &s->moves, &s->shape, n, s->pick, s->rest, window);
    be->sync(p->queue);
    for (size_t i = 0; i < n; ++i) site[i] = site_of(s, i);
    return n;
}
