/* See clusters.h: the largest clusters of a phase, in one order on all ranks. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/desc/clusters_impl.h"
#include "src/desc/forest.h"

/** A cluster, and what the rank that it comes from calls it. */
struct listed {
    struct mf_cluster is;
    int64_t id;
};

struct list {
    struct mf_forest forest;
    struct mf_joined joined;
    int64_t *known;
    uint8_t phase;
    size_t most, count;
    struct listed *mine; /* [clusters of this rank and those that meet], then the first count of all ranks' */
    uint32_t *place;     /* [clusters of this rank]: 1 + where in the list it is */
    size_t *offset;      /* [ranks + 1] */
};

static int by_size(const void *a, const void *b)
{
    const struct mf_cluster *p = &((const struct listed *)a)->is, *q = &((const struct listed *)b)->is;

    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    return (p->first > q->first) - (p->first < q->first);
}

/** The largest of this rank's own and, on rank 0, of those that meet. Returns how many. */
static size_t list_mine(struct list *l)
{
    const struct mf_forest *f = &l->forest;
    size_t n = 0;

    for (size_t i = 0; i < f->clusters; ++i) {
        const struct mf_local_cluster *c = &f->cluster[i];

        if (c->size && c->phase == l->phase)
            l->mine[n++] = (struct listed){{c->first, c->size, c->touch}, f->base + (int64_t)i};
    }
    for (size_t i = 0; f->job->comm->rank == 0 && i < l->joined.count; ++i) {
        const int64_t *c = l->known + MF_KNOWN * i;

        if (l->joined.parent[i] == i && c[MF_KNOWN_PHASE] == l->phase)
            l->mine[n++] =
                (struct listed){{c[MF_KNOWN_FIRST], c[MF_KNOWN_SIZE], (int)c[MF_KNOWN_TOUCH]}, l->joined.id[i]};
    }
    qsort(l->mine, n, sizeof *l->mine, by_size);
    return n < l->most ? n : l->most;
}

static void put_place(struct list *l, int64_t id, size_t k)
{
    const int64_t at = id - l->forest.base;

    if (at >= 0 && at < (int64_t)l->forest.clusters) l->place[at] = (uint32_t)k + 1;
}

/** Where all clusters of this rank, and the parts here of those that meet, are in the list. */
static void find_places(struct list *l, const struct listed *all)
{
    struct mf_joined *j = &l->joined;

    for (size_t k = 0; k < l->count; ++k) {
        const int64_t *met = mf_joined_find(j, all[k].id);

        if (met)
            l->known[MF_KNOWN * (size_t)(met - j->id)] = -(int64_t)k - 1; /* at the root: its size is in the list now */
        else
            put_place(l, all[k].id, k);
    }
    for (size_t i = 0; i < j->count; ++i) {
        const int64_t said = l->known[MF_KNOWN * (size_t)mf_forest_root(j->parent, (uint32_t)i)];

        if (said < 0) put_place(l, j->id[i], (size_t)(-said - 1));
    }
}

static void mark(const struct list *l, uint32_t *id)
{
    const struct mf_forest *f = &l->forest;
    const size_t nx = f->job->micro->slab.dims[2];

    for (size_t r = 0; r < f->rows; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            const size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;

            for (size_t x = f->start[i]; x < end; ++x) id[r * nx + x] = l->place[f->parent[i]];
        }
}

static int share(struct list *l, struct mf_cluster *list, uint32_t *id)
{
    const struct mf_comm *comm = l->forest.job->comm;
    void *bytes = NULL;
    struct listed *all;

    MF_TRY(mf_comm_gather(comm, l->mine, list_mine(l) * sizeof *l->mine, &bytes, l->offset));
    all = bytes;
    l->count = l->offset[comm->size] / sizeof *all;
    if (l->count) qsort(all, l->count, sizeof *all, by_size);
    if (l->count > l->most) l->count = l->most;
    for (size_t k = 0; k < l->count; ++k) list[k] = all[k].is;
    find_places(l, all);
    mark(l, id);
    free(bytes);
    return MF_OK;
}

static int find(struct list *l)
{
    struct mf_arena *arena = l->forest.job->arena;

    MF_TRY(mf_forest_find(&l->forest, 0, &l->joined));
    MF_TRY(mf_forest_pool(&l->forest, &l->joined, &l->known));
    l->mine = mf_arena_take(arena, (l->forest.clusters + l->joined.count) * sizeof *l->mine, "clusters");
    l->place = mf_arena_zeros(arena, l->forest.clusters, sizeof *l->place, "clusters");
    return mf_agree(l->forest.job->comm, l->mine && l->place ? MF_OK : MF_MEMORY);
}

int mf_clusters_list(const struct mf_measure_job *job, uint8_t phase, size_t most, struct mf_cluster *list,
                     size_t *count, uint32_t *id)
{
    struct list l = {.forest = {.job = job}, .phase = phase, .most = most};
    int rc;

    l.offset = mf_arena_take(job->arena, ((size_t)job->comm->size + 1) * sizeof *l.offset, "clusters");
    rc = mf_agree(job->comm, l.offset ? mf_forest_open(&l.forest) : MF_MEMORY);
    if (rc == MF_OK) rc = find(&l);
    if (rc == MF_OK) rc = share(&l, list, id);
    *count = l.count;
    mf_arena_give(job->arena, l.place);
    mf_arena_give(job->arena, l.mine);
    mf_arena_give(job->arena, l.known);
    mf_arena_give(job->arena, l.offset);
    mf_forest_release(&l.forest, &l.joined);
    mf_forest_close(&l.forest);
    return rc;
}
