/* See clusters_impl.h. Runs of rows are joined by union-find (towards the smaller index). They are compacted to one
 * entry per cluster of this rank. Clusters that meet at the border of two slabs are sent to all ranks, which join them
 * identically. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/forest.h"
#include "src/base/pulse.h"
#include "src/desc/clusters.h"
#include "src/desc/clusters_impl.h"
#include "src/desc/differ.h"

enum {
    EDGES = 5,          /* first and last plane, the next one, and what meets there, twice as large */
    VOXELS_PER_MEET = 8 /* of a border; noise has 13 and more, blobs hundreds, columns as few as 2 */
};

/** Clusters of two ranks that are one. */
struct meet {
    int64_t id[2];
};

static const uint8_t *row_of(const struct mf_forest *f, size_t r)
{
    return f->job->micro->phase + r * f->job->micro->slab.dims[2];
}

static size_t count_runs(const uint8_t *row, size_t nx)
{
    size_t runs = 1, x = 1;

    for (; x + 8 <= nx; x += 8) runs += mf_differ8_count(mf_differ8(row + x, row + x - 1));
    for (; x < nx; ++x) runs += row[x] != row[x - 1];
    return runs;
}

static void find_runs(struct mf_forest *f)
{
    size_t nx = f->job->micro->slab.dims[2], at = 0;

    for (size_t r = 0; r < f->rows; ++r) {
        const uint8_t *row = row_of(f, r);
        size_t x = 1;

        f->start[at++] = 0;
        for (; x + 8 <= nx; x += 8)
            for (uint64_t bits = mf_differ8(row + x, row + x - 1); bits;)
                f->start[at++] = (uint32_t)(x + mf_differ8_next(&bits));
        for (; x < nx; ++x)
            if (row[x] != row[x - 1]) f->start[at++] = (uint32_t)x;
    }
}

static int is_wanted(const struct mf_forest *f, uint8_t phase) { return f->wanted == 0 || f->wanted == phase + 1; }

static void join_rows(struct mf_forest *f, size_t r, size_t s)
{
    const uint8_t *a = row_of(f, r), *b = row_of(f, s);
    size_t i = f->row[r], k = f->row[s], i_end = f->row[r + 1], k_end = f->row[s + 1];
    uint32_t nx = (uint32_t)f->job->micro->slab.dims[2];

    while (i < i_end && k < k_end) {
        uint32_t i_next = i + 1 < i_end ? f->start[i + 1] : nx, k_next = k + 1 < k_end ? f->start[k + 1] : nx;

        if (a[f->start[i]] == b[f->start[k]] && is_wanted(f, a[f->start[i]])) mf_forest_join(f->parent, i, k);
        i += i_next <= k_next;
        k += k_next <= i_next;
    }
}

static int goes_on(const struct mf_forest *f)
{
    mf_pulse_tell("clusters");
    return !f->heeds || mf_pulse("clusters") == MF_OK;
}

/** The forest of this slab alone. */
static void join_slab(struct mf_forest *f, int periodic)
{
    size_t ny = f->job->micro->slab.dims[1], nx = f->job->micro->slab.dims[2];

    for (size_t i = 0; i < f->runs; ++i) f->parent[i] = (uint32_t)i;
    for (size_t r = 0; r < f->rows; ++r) {
        const uint8_t *row = row_of(f, r);

        if (r % ny == 0 && !goes_on(f)) return;
        if (periodic && row[0] == row[nx - 1]) mf_forest_join(f->parent, f->row[r], f->row[r + 1] - 1);
        if (r % ny) join_rows(f, r - 1, r);
        if (r >= ny) join_rows(f, r - ny, r);
        if (periodic && r % ny == ny - 1) join_rows(f, r + 1 - ny, r);
    }
}

/** Roots stand before what hangs on them: one pass gives every run its cluster. */
static void compact(struct mf_forest *f)
{
    f->clusters = 0;
    for (size_t r = 0; r < f->rows; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            if (!is_wanted(f, row_of(f, r)[f->start[i]]))
                f->parent[i] = MF_NO_CLUSTER;
            else
                f->parent[i] = f->parent[i] == i ? (uint32_t)f->clusters++ : f->parent[f->parent[i]];
        }
}

int64_t mf_forest_first(const struct mf_forest *f, const struct mf_local_cluster *c)
{
    const struct mf_slab *slab = &f->job->micro->slab;
    size_t low = 0, high = f->rows; /* its row is one of [low, high) */

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (f->row[middle] <= c->run)
            low = middle;
        else
            high = middle;
    }
    return (int64_t)((slab->first * slab->dims[1] + low) * slab->dims[2] + f->start[c->run]);
}

static void measure_row(struct mf_forest *f, size_t r, int touch)
{
    size_t nx = f->job->micro->slab.dims[2];

    for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
        struct mf_local_cluster *c = &f->cluster[f->parent[i]];
        size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;

        if (f->parent[i] == MF_NO_CLUSTER) continue;
        if (c->size == 0) c->run = (uint32_t)i;
        c->size += (int64_t)(end - f->start[i]);
        c->phase = row_of(f, r)[f->start[i]];
        c->touch |= (uint8_t)(touch | (f->start[i] == 0) << 4 | (end == nx) << 5);
    }
}

static void measure(struct mf_forest *f)
{
    const struct mf_slab *slab = &f->job->micro->slab;
    size_t ny = slab->dims[1];

    memset(f->cluster, 0, f->clusters * sizeof *f->cluster);
    for (size_t k = 0; k < slab->count; ++k)
        for (size_t y = 0; y < ny; ++y) {
            size_t z = slab->first + k;

            measure_row(f, k * ny + y, (z == 0) | (z + 1 == slab->dims[0]) << 1 | (y == 0) << 2 | (y + 1 == ny) << 3);
        }
}

/** Clusters of the voxels of own plane @p z, numbered over all ranks; the phase in the lowest digits; -1: none. */
static void plane_ids(const struct mf_forest *f, size_t z, int64_t *id)
{
    size_t ny = f->job->micro->slab.dims[1], nx = f->job->micro->slab.dims[2];

    for (size_t r = z * ny; r < (z + 1) * ny; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;
            int64_t cluster = f->base + f->parent[i], is = -1;

            if (f->parent[i] != MF_NO_CLUSTER) is = cluster * MF_PHASES_MAX + f->cluster[f->parent[i]].phase;
            for (size_t x = f->start[i]; x < end; ++x) id[(r - z * ny) * nx + x] = is;
        }
}

/** The rank whose first plane follows this slab; -1: none. */
static int rank_after(const struct mf_forest *f, int periodic)
{
    const struct mf_comm *comm = f->job->comm;
    const struct mf_slab *slab = &f->job->micro->slab;

    if (slab->count == 0) return -1;
    for (int r = comm->rank + 1; r < comm->size; ++r)
        if (mf_slab_of(comm, slab->dims, r).count) return r;
    return periodic && f->job->micro->ndim == 3 ? 0 : -1;
}

static int by_id(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;

    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

static int by_one(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;

    return (p > q) - (p < q);
}

/** Which clusters meet between this slab's last plane and the next one's first, each pair once. */
static size_t find_meets(const int64_t *mine, const int64_t *next, size_t plane, struct meet *meet)
{
    size_t n = 0, kept = 0;

    for (size_t v = 0; v < plane; ++v) {
        struct meet m = {{mine[v] / MF_PHASES_MAX, next[v] / MF_PHASES_MAX}};

        if (mine[v] < 0 || mine[v] % MF_PHASES_MAX != next[v] % MF_PHASES_MAX || m.id[0] == m.id[1]) continue;
        if (n == 0 || memcmp(&meet[n - 1], &m, sizeof m) != 0) meet[n++] = m;
    }
    if (n) qsort(meet, n, sizeof *meet, by_id);
    for (size_t i = 0; i < n; ++i)
        if (i == 0 || memcmp(&meet[i], &meet[kept - 1], sizeof *meet) != 0) meet[kept++] = meet[i];
    return kept;
}

/** The meeting clusters of all ranks, on all ranks; the caller frees. */
static int gather_meets(const struct mf_forest *f, int periodic, struct meet **all, size_t *count)
{
    const struct mf_comm *comm = f->job->comm;
    const size_t *n = f->job->micro->slab.dims, plane = n[1] * n[2];
    struct mf_slab edge = mf_slab_of(comm, (size_t[3]){2 * (size_t)comm->size, n[1], n[2]}, comm->rank);
    size_t mine = 0, *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    int64_t *id = mf_arena_zeros(f->job->arena, EDGES * plane, sizeof *id, "edges");
    int rc = mf_agree(comm, id && offset ? MF_OK : MF_MEMORY), after = rank_after(f, periodic);
    void *bytes = NULL;

    if (rc == MF_OK && f->rows) {
        plane_ids(f, 0, id);
        plane_ids(f, f->job->micro->slab.count - 1, id + plane);
    }
    if (rc == MF_OK)
        rc = mf_slab_fetch(comm, &edge, id, plane * sizeof *id, 2 * (ptrdiff_t)after, after >= 0, id + 2 * plane);
    if (rc == MF_OK && after >= 0)
        mine = find_meets(id + plane, id + 2 * plane, plane, (struct meet *)(id + 3 * plane));
    if (rc == MF_OK) rc = mf_comm_gather(comm, id ? id + 3 * plane : NULL, mine * sizeof **all, &bytes, offset);
    if (rc == MF_OK) {
        *all = bytes;
        *count = offset[comm->size] / sizeof **all;
    }
    mf_arena_give(f->job->arena, id);
    free(offset);
    return rc;
}

const int64_t *mf_joined_find(const struct mf_joined *j, int64_t id)
{
    return j->count ? bsearch(&id, j->id, j->count, sizeof *j->id, by_one) : NULL;
}

static uint32_t place(const struct mf_joined *j, int64_t id)
{
    const int64_t *at = mf_joined_find(j, id);

    MF_ASSERT(at);
    return (uint32_t)(at - j->id);
}

/** Moves what the ranks know of the meeting clusters into known: [ids][MF_KNOWN] of all ranks. */
static void pool(struct mf_forest *f, const int64_t *ids, size_t n, int64_t *known)
{
    for (size_t i = 0; i < n; ++i)
        if (ids[i] >= f->base && ids[i] < f->base + (int64_t)f->clusters) {
            struct mf_local_cluster *c = &f->cluster[ids[i] - f->base];

            known[MF_KNOWN * i + MF_KNOWN_SIZE] = c->size;
            known[MF_KNOWN * i + MF_KNOWN_PHASE] = c->phase;
            known[MF_KNOWN * i + MF_KNOWN_TOUCH] = c->touch;
            known[MF_KNOWN * i + MF_KNOWN_FIRST] = mf_forest_first(f, c);
            c->size = 0; /* it is counted with those it meets */
        }
    mf_comm_sum_int(f->job->comm, MF_KNOWN * n, known);
}

static void free_joined(const struct mf_forest *f, struct mf_joined *j)
{
    mf_arena_give(f->job->arena, j->parent);
    mf_arena_give(f->job->arena, j->id);
}

/** Joins the meeting clusters, alike on all ranks. free_joined() whatever came of it. */
static int join_meets(const struct mf_forest *f, const struct meet *meet, size_t meets, struct mf_joined *j)
{
    *j = (struct mf_joined){mf_arena_take(f->job->arena, 2 * meets * sizeof *j->id, "clusters"),
                            mf_arena_take(f->job->arena, 2 * meets * sizeof *j->parent, "clusters"), 0};
    MF_TRY(mf_agree(f->job->comm, j->id && j->parent ? MF_OK : MF_MEMORY));
    if (meets) memcpy(j->id, meet, 2 * meets * sizeof *j->id);
    if (meets) qsort(j->id, 2 * meets, sizeof *j->id, by_one);
    for (size_t i = 0; i < 2 * meets; ++i)
        if (i == 0 || j->id[i] != j->id[j->count - 1]) j->id[j->count++] = j->id[i];
    for (size_t i = 0; i < j->count; ++i) j->parent[i] = (uint32_t)i;
    for (size_t i = 0; i < meets; ++i) mf_forest_join(j->parent, place(j, meet[i].id[0]), place(j, meet[i].id[1]));
    return MF_OK;
}

int mf_forest_merge(struct mf_forest *f, struct mf_joined *j, int64_t **known)
{
    int64_t *all = *known = mf_arena_zeros(f->job->arena, MF_KNOWN * j->count, sizeof *all, "clusters");

    MF_TRY(mf_agree(f->job->comm, all ? MF_OK : MF_MEMORY));
    pool(f, j->id, j->count, all);
    for (size_t i = j->count; i-- > 0;) { /* from the last: roots come first */
        int64_t *to = all + MF_KNOWN * (size_t)mf_forest_root(j->parent, (uint32_t)i), *from = all + MF_KNOWN * i;

        if (to == from) continue;
        to[MF_KNOWN_SIZE] += from[MF_KNOWN_SIZE];
        to[MF_KNOWN_TOUCH] |= from[MF_KNOWN_TOUCH];
        if (from[MF_KNOWN_FIRST] < to[MF_KNOWN_FIRST]) to[MF_KNOWN_FIRST] = from[MF_KNOWN_FIRST];
    }
    return MF_OK;
}

/** Clusters of the ranks before. */
static int find_base(struct mf_forest *f)
{
    const struct mf_comm *comm = f->job->comm;
    const int64_t mine = (int64_t)f->clusters;
    void *all = NULL;
    const int rc = mf_comm_gather(comm, &mine, sizeof mine, &all, NULL);

    f->base = 0;
    for (int r = 0; rc == MF_OK && r < comm->rank; ++r) f->base += ((const int64_t *)all)[r];
    free(all);
    return rc;
}

int mf_forest_find(struct mf_forest *f, int periodic, struct mf_joined *joined)
{
    const struct mf_comm *comm = f->job->comm;
    struct meet *meet = NULL;
    size_t meets = 0;
    int rc;

    *joined = (struct mf_joined){0};
    join_slab(f, periodic);
    compact(f);
    f->cluster = mf_arena_take(f->job->arena, f->clusters * sizeof *f->cluster, "clusters");
    rc = mf_agree(comm, f->cluster ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        measure(f);
        rc = find_base(f);
    }
    if (rc == MF_OK) rc = gather_meets(f, periodic, &meet, &meets);
    if (rc == MF_OK) rc = join_meets(f, meet, meets, joined);
    free(meet);
    return rc;
}

void mf_forest_release(struct mf_forest *f, struct mf_joined *joined)
{
    free_joined(f, joined);
    mf_arena_give(f->job->arena, f->cluster);
    f->cluster = NULL;
}

/* Borders between slabs: what meets at any is known to all ranks. */
static size_t borders(const struct mf_comm *comm, const struct mf_slab *slab)
{
    const size_t ranks = (size_t)comm->size, slabs = ranks < slab->dims[0] ? ranks : slab->dims[0];

    return slabs - 1;
}

int mf_clusters_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_slab *slab, size_t most)
{
    const struct mf_forest *f = NULL;
    const struct mf_joined *j = NULL;
    const size_t nx = slab->dims[2], rows = slab->count * slab->dims[1], plane = slab->dims[1] * nx;
    const size_t run = sizeof *f->start + sizeof *f->parent, id = sizeof *j->id + sizeof *j->parent;
    const size_t own = (rows + 1) * sizeof *f->row + rows * (nx * run + (nx + 1) / 2 * sizeof *f->cluster);
    const size_t meets = plane / VOXELS_PER_MEET * borders(comm, slab) * 2 * (id + MF_KNOWN * sizeof(int64_t));
    const size_t edges = EDGES * plane * sizeof(int64_t);
    const size_t list = most * sizeof(struct mf_listed) + ((size_t)comm->size + 1) * sizeof(size_t);

    return mf_arena_book_once(arena, (ptrdiff_t)(own + (meets > edges ? meets : edges) + list), "clusters");
}

int mf_forest_open(struct mf_forest *f)
{
    const struct mf_slab *slab = &f->job->micro->slab;

    f->rows = slab->count * slab->dims[1];
    f->row = mf_arena_take(f->job->arena, (f->rows + 1) * sizeof *f->row, "runs");
    if (!f->row) return MF_MEMORY;
    f->row[0] = 0;
    for (size_t r = 0; r < f->rows; ++r) f->row[r + 1] = f->row[r] + count_runs(row_of(f, r), slab->dims[2]);
    f->runs = f->row[f->rows];
    if (f->runs > UINT32_MAX)
        return mf_fail(MF_INPUT, "clusters: more than 2^32 runs of voxels on a rank; try: more ranks");
    f->start = mf_arena_take(f->job->arena, f->runs * sizeof *f->start, "runs");
    f->parent = mf_arena_take(f->job->arena, f->runs * sizeof *f->parent, "runs");
    if (!f->start || !f->parent) return MF_MEMORY;
    find_runs(f);
    return MF_OK;
}

void mf_forest_close(struct mf_forest *f)
{
    mf_arena_give(f->job->arena, f->parent);
    mf_arena_give(f->job->arena, f->start);
    mf_arena_give(f->job->arena, f->row);
}

/** The runs' voxels get the numbers of their clusters: of those that meet, of the first one. */
static int name_voxels(const struct mf_forest *f, const struct mf_joined *j, uint32_t *id)
{
    const size_t nx = f->job->micro->slab.dims[2];
    int64_t all = (int64_t)f->clusters;

    mf_comm_sum_int(f->job->comm, 1, &all);
    if (all > UINT32_MAX) return mf_fail(MF_INPUT, "more than 2^32 clusters have no numbers");
    for (size_t r = 0; r < f->rows; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            const size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;
            const int64_t mine = f->base + f->parent[i], *met = mf_joined_find(j, mine);
            const int64_t name = met ? j->id[mf_forest_root(j->parent, (uint32_t)(met - j->id))] : mine;

            for (size_t x = f->start[i]; x < end; ++x) id[r * nx + x] = (uint32_t)name;
        }
    return MF_OK;
}

int mf_clusters_name(const struct mf_measure_job *job, uint32_t *id)
{
    struct mf_forest f = {.job = job, .heeds = 1};
    struct mf_joined joined = {0};
    int rc = mf_agree(job->comm, mf_forest_open(&f));

    if (rc == MF_OK) rc = mf_forest_find(&f, job->periodic, &joined);
    if (rc == MF_OK) rc = name_voxels(&f, &joined, id);
    mf_forest_release(&f, &joined);
    mf_forest_close(&f);
    return rc;
}
