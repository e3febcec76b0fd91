/* See clusters.h: the largest clusters of a phase, in one order on all ranks. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/forest.h"
#include "src/desc/clusters.h"
#include "src/desc/clusters_impl.h"

struct list {
    struct mf_forest forest;
    struct mf_joined joined;
    int64_t *known;
    size_t most, count;
    int64_t size, first;    /* those of all ranks are listed that are larger, or as large and begin before first */
    struct mf_listed *mine; /* [most] */
    size_t *offset;         /* [ranks + 1] */
};

static int by_size(const void *a, const void *b)
{
    const struct mf_cluster *p = &((const struct mf_listed *)a)->is, *q = &((const struct mf_listed *)b)->is;

    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    return (p->first > q->first) - (p->first < q->first);
}

/** This rank's own and, on rank 0, those that meet. */
static size_t number(const struct list *l)
{
    return l->forest.clusters + (l->forest.job->comm->rank == 0 ? l->joined.count : 0);
}

/** Size of the i-th cluster; 0: it is a part of another. */
static int64_t size_of(const struct list *l, size_t i)
{
    const size_t own = l->forest.clusters;

    if (i < own) return l->forest.cluster[i].size;
    return l->joined.parent[i - own] == i - own ? l->known[MF_KNOWN * (i - own) + MF_KNOWN_SIZE] : 0;
}

static struct mf_listed look(const struct list *l, size_t i)
{
    const struct mf_forest *f = &l->forest;
    const int64_t *known;

    if (i < f->clusters) {
        const struct mf_local_cluster *c = &f->cluster[i];

        return (struct mf_listed){{mf_forest_first(f, c), c->size, c->touch}, f->base + (int64_t)i};
    }
    i -= f->clusters;
    known = l->known + MF_KNOWN * i;
    return (struct mf_listed){{known[MF_KNOWN_FIRST], known[MF_KNOWN_SIZE], (int)known[MF_KNOWN_TOUCH]},
                              l->joined.id[i]};
}

static int is_before(const struct list *l, size_t i, int64_t size, int64_t first)
{
    const int64_t is = size_of(l, i);

    return is > size || (is == size && first > 0 && look(l, i).is.first < first);
}

/** Does the list have space for all clusters that are larger than @p size? Equally large ones count that begin before
 * @p first. */
static int fit(const struct list *l, int64_t size, int64_t first)
{
    int64_t before = 0;

    for (size_t i = 0; i < number(l); ++i) before += is_before(l, i, size, first);
    mf_comm_sum_int(l->forest.job->comm, 1, &before);
    return before <= (int64_t)l->most;
}

/** Where the list ends: by halves, so that no rank gets more than the list holds. */
static void find_end(struct list *l)
{
    const size_t *n = l->forest.job->micro->slab.dims;
    const int64_t voxels = (int64_t)(n[0] * n[1] * n[2]);
    int64_t low = 0, high = voxels;

    if (fit(l, 0, 0)) return;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        *(fit(l, middle, 0) ? &high : &low) = middle;
    }
    l->size = high;
    for (low = 0, high = voxels; high - low > 1;) {
        const int64_t middle = low + (high - low) / 2;

        *(fit(l, l->size, middle) ? &low : &high) = middle;
    }
    l->first = low;
}

/** The clusters of this rank that are listed. Returns how many. */
static size_t list_mine(struct list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < number(l); ++i)
        if (is_before(l, i, l->size, l->first)) l->mine[n++] = look(l, i);
    return n;
}

static void put_place(struct list *l, int64_t id, size_t k)
{
    const int64_t at = id - l->forest.base;

    if (at >= 0 && at < (int64_t)l->forest.clusters) l->forest.cluster[at].size = (int64_t)k + 1;
}

/** Replaces the sizes of this rank's clusters, and of its parts of joined clusters. They become 1 + the index in the
 * list, or 0. */
static void find_places(struct list *l, const struct mf_listed *all)
{
    struct mf_joined *j = &l->joined;

    for (size_t i = 0; i < l->forest.clusters; ++i) l->forest.cluster[i].size = 0;
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
            const uint32_t k = f->parent[i] == MF_NO_CLUSTER ? 0 : (uint32_t)f->cluster[f->parent[i]].size;

            for (size_t x = f->start[i]; x < end; ++x) id[r * nx + x] = k;
        }
}

static int share(struct list *l, struct mf_cluster *list, uint32_t *id)
{
    const struct mf_comm *comm = l->forest.job->comm;
    void *bytes = NULL;
    struct mf_listed *all;

    find_end(l);
    MF_TRY(mf_comm_gather(comm, l->mine, list_mine(l) * sizeof *l->mine, &bytes, l->offset));
    all = bytes;
    l->count = l->offset[comm->size] / sizeof *all;
    if (l->count) qsort(all, l->count, sizeof *all, by_size);
    for (size_t k = 0; k < l->count; ++k) list[k] = all[k].is;
    find_places(l, all);
    mark(l, id);
    free(bytes);
    return MF_OK;
}

static int find(struct list *l)
{
    MF_TRY(mf_forest_find(&l->forest, 0, &l->joined));
    return mf_forest_merge(&l->forest, &l->joined, &l->known);
}

int mf_clusters_list(const struct mf_measure_job *job, uint8_t phase, size_t most, struct mf_cluster *list,
                     size_t *count, uint32_t *id)
{
    struct list l = {.forest = {.job = job, .wanted = phase + 1}, .most = most};
    int rc;

    l.offset = mf_arena_take(job->arena, ((size_t)job->comm->size + 1) * sizeof *l.offset, "clusters");
    l.mine = mf_arena_take(job->arena, most * sizeof *l.mine, "clusters");
    rc = mf_agree(job->comm, l.offset && l.mine ? mf_forest_open(&l.forest) : MF_MEMORY);
    if (rc == MF_OK) rc = find(&l);
    if (rc == MF_OK) rc = share(&l, list, id);
    *count = l.count;
    mf_arena_give(job->arena, l.mine);
    mf_arena_give(job->arena, l.known);
    mf_arena_give(job->arena, l.offset);
    mf_forest_release(&l.forest, &l.joined);
    mf_forest_close(&l.forest);
    return rc;
}
