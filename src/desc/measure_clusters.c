/* Clusters of each phase, voxels joined by faces: runs of rows in a forest (a union by the smaller index), compacted to
 * one entry per cluster of this rank; clusters that meet at the border of two slabs travel to all ranks, which join
 * them alike. What spans is judged without the joins of a periodic border: a cluster that reaches both faces. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/desc/differ.h"
#include "src/desc/forest.h"
#include "src/desc/measure.h"

enum { BINS = 48 };

struct cluster {
    int64_t size;
    uint8_t phase, touch; /* bits 2 a (face at 0), 2 a + 1 (the far one) of axis a */
};

/** Per phase; all but largest adds up over the ranks. */
struct tally {
    int64_t number, voxels, largest, spanning[3], spanning_voxels[3], bins[BINS];
};

struct forest {
    const struct mf_measure_job *job;
    size_t *row;      /* [rows + 1] first run of each row */
    uint32_t *start;  /* [runs] */
    uint32_t *parent; /* [runs], then the cluster of each */
    struct cluster *cluster;
    size_t rows, runs, clusters;
    int64_t base; /* clusters of the ranks before */
};

/** Clusters of two ranks that are one. */
struct meet {
    int64_t id[2];
};

/** All that meet, ascending, and what became of them. */
struct joined {
    int64_t *id;
    uint32_t *parent;
    size_t count;
};

static const uint8_t *row_of(const struct forest *f, size_t r)
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

static void find_runs(struct forest *f)
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

static void join_rows(struct forest *f, size_t r, size_t s)
{
    const uint8_t *a = row_of(f, r), *b = row_of(f, s);
    size_t i = f->row[r], k = f->row[s], i_end = f->row[r + 1], k_end = f->row[s + 1];
    uint32_t nx = (uint32_t)f->job->micro->slab.dims[2];

    while (i < i_end && k < k_end) {
        uint32_t i_next = i + 1 < i_end ? f->start[i + 1] : nx, k_next = k + 1 < k_end ? f->start[k + 1] : nx;

        if (a[f->start[i]] == b[f->start[k]]) mf_forest_join(f->parent, i, k);
        i += i_next <= k_next;
        k += k_next <= i_next;
    }
}

/** The forest of this slab alone. */
static void join_slab(struct forest *f, int periodic)
{
    size_t ny = f->job->micro->slab.dims[1], nx = f->job->micro->slab.dims[2];

    for (size_t i = 0; i < f->runs; ++i) f->parent[i] = (uint32_t)i;
    for (size_t r = 0; r < f->rows; ++r) {
        const uint8_t *row = row_of(f, r);

        if (periodic && row[0] == row[nx - 1]) mf_forest_join(f->parent, f->row[r], f->row[r + 1] - 1);
        if (r % ny) join_rows(f, r - 1, r);
        if (r >= ny) join_rows(f, r - ny, r);
        if (periodic && r % ny == ny - 1) join_rows(f, r + 1 - ny, r);
    }
}

/** Roots stand before what hangs on them: one pass gives every run its cluster. */
static void compact(struct forest *f)
{
    f->clusters = 0;
    for (size_t i = 0; i < f->runs; ++i)
        f->parent[i] = f->parent[i] == i ? (uint32_t)f->clusters++ : f->parent[f->parent[i]];
}

static void measure_row(struct forest *f, size_t r, int touch)
{
    size_t nx = f->job->micro->slab.dims[2];

    for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
        struct cluster *c = &f->cluster[f->parent[i]];
        size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;

        c->size += (int64_t)(end - f->start[i]);
        c->phase = row_of(f, r)[f->start[i]];
        c->touch |= (uint8_t)(touch | (f->start[i] == 0) << 4 | (end == nx) << 5);
    }
}

static void measure(struct forest *f)
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

/** Clusters of the voxels of own plane @p z, numbered over all ranks; the phase in the lowest digits. */
static void plane_ids(const struct forest *f, size_t z, int64_t *id)
{
    size_t ny = f->job->micro->slab.dims[1], nx = f->job->micro->slab.dims[2];

    for (size_t r = z * ny; r < (z + 1) * ny; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;
            int64_t cluster = f->base + f->parent[i];

            for (size_t x = f->start[i]; x < end; ++x)
                id[(r - z * ny) * nx + x] = cluster * MF_PHASES_MAX + f->cluster[f->parent[i]].phase;
        }
}

/** The rank whose first plane follows this slab; -1: none. */
static int rank_after(const struct forest *f, int periodic)
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

        if (mine[v] % MF_PHASES_MAX != next[v] % MF_PHASES_MAX || m.id[0] == m.id[1]) continue;
        if (n == 0 || memcmp(&meet[n - 1], &m, sizeof m) != 0) meet[n++] = m;
    }
    if (n) qsort(meet, n, sizeof *meet, by_id);
    for (size_t i = 0; i < n; ++i)
        if (i == 0 || memcmp(&meet[i], &meet[kept - 1], sizeof *meet) != 0) meet[kept++] = meet[i];
    return kept;
}

/** Those of all ranks, on all ranks; the caller frees. */
static int gather_meets(const struct forest *f, int periodic, struct meet **all, size_t *count)
{
    const struct mf_comm *comm = f->job->comm;
    const size_t *n = f->job->micro->slab.dims, plane = n[1] * n[2];
    struct mf_slab edge = mf_slab_of(comm, (size_t[3]){2 * (size_t)comm->size, n[1], n[2]}, comm->rank);
    size_t mine = 0, *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    int64_t *id = mf_arena_zeros(f->job->arena, 5 * plane, sizeof *id, "edges"); /* first, last, next, and the meets */
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

static void tally_one(struct tally *t, int64_t size, int touch)
{
    ++t->number;
    t->voxels += size;
    if (size > t->largest) t->largest = size;
    ++t->bins[63 - __builtin_clzll((unsigned long long)size)];
    for (int a = 0; a < 3; ++a)
        if ((touch >> (2 * a) & 3) == 3) {
            ++t->spanning[a];
            t->spanning_voxels[a] += size;
        }
}

static const int64_t *find_id(const struct joined *j, int64_t id)
{
    return j->count ? bsearch(&id, j->id, j->count, sizeof *j->id, by_one) : NULL;
}

static uint32_t place(const struct joined *j, int64_t id)
{
    const int64_t *at = find_id(j, id);

    MF_ASSERT(at);
    return (uint32_t)(at - j->id);
}

/** Moves what the ranks know of the meeting clusters into known: [ids][size, phase, touch] of all ranks. */
static void pool(struct forest *f, const int64_t *ids, size_t n, int64_t *known)
{
    for (size_t i = 0; i < n; ++i)
        if (ids[i] >= f->base && ids[i] < f->base + (int64_t)f->clusters) {
            struct cluster *c = &f->cluster[ids[i] - f->base];

            known[3 * i] = c->size;
            known[3 * i + 1] = c->phase;
            known[3 * i + 2] = c->touch;
            c->size = 0; /* it is counted with those it meets */
        }
    mf_comm_sum_int(f->job->comm, 3 * n, known);
}

static void free_joined(const struct forest *f, struct joined *j)
{
    mf_arena_give(f->job->arena, j->parent);
    mf_arena_give(f->job->arena, j->id);
}

/** Joins the meeting clusters, alike on all ranks. free_joined() whatever came of it. */
static int join_meets(const struct forest *f, const struct meet *meet, size_t meets, struct joined *j)
{
    *j = (struct joined){mf_arena_take(f->job->arena, 2 * meets * sizeof *j->id, "clusters"),
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

/** Rank 0 counts the clusters that meet; what is left of them on the ranks is 0. */
static int tally_joined(struct forest *f, const struct joined *j, struct tally *tally)
{
    int64_t *known = mf_arena_zeros(f->job->arena, 3 * j->count, sizeof *known, "clusters");

    MF_TRY(mf_agree(f->job->comm, known ? MF_OK : MF_MEMORY));
    pool(f, j->id, j->count, known);
    for (size_t i = j->count; i-- > 0;) { /* from the last: roots come first */
        int64_t *to = known + 3 * (size_t)mf_forest_root(j->parent, (uint32_t)i);

        if (to == known + 3 * i) continue;
        to[0] += known[3 * i];
        to[2] |= known[3 * i + 2];
    }
    for (size_t i = 0; f->job->comm->rank == 0 && i < j->count; ++i)
        if (j->parent[i] == i) tally_one(&tally[known[3 * i + 1]], known[3 * i], (int)known[3 * i + 2]);
    mf_arena_give(f->job->arena, known);
    return MF_OK;
}

/** Number of clusters on the ranks before. */
static int64_t base_of(const struct mf_comm *comm, size_t clusters)
{
    int64_t before = 0;

    for (int r = 0; r < comm->size; ++r) {
        int64_t count = (int64_t)clusters;

        mf_comm_bcast(comm, r, &count, sizeof count);
        if (r < comm->rank) before += count;
    }
    return before;
}

static void add_up(const struct mf_comm *comm, int phases, struct tally *tally)
{
    int64_t largest[MF_PHASES_MAX];

    for (int p = 0; p < phases; ++p) largest[p] = tally[p].largest;
    mf_comm_max_int(comm, (size_t)phases, largest);
    mf_comm_sum_int(comm, (size_t)phases * sizeof *tally / sizeof(int64_t), (int64_t *)tally);
    for (int p = 0; p < phases; ++p) tally[p].largest = largest[p];
}

/** The clusters of this slab, and those of all ranks that are one. free_joined() and f->cluster are the caller's. */
static int find_clusters(struct forest *f, int periodic, struct joined *joined)
{
    const struct mf_comm *comm = f->job->comm;
    struct meet *meet = NULL;
    size_t meets = 0;
    int rc;

    *joined = (struct joined){0};
    join_slab(f, periodic);
    compact(f);
    f->cluster = mf_arena_take(f->job->arena, f->clusters * sizeof *f->cluster, "clusters");
    rc = mf_agree(comm, f->cluster ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        measure(f);
        f->base = base_of(comm, f->clusters);
        rc = gather_meets(f, periodic, &meet, &meets);
    }
    if (rc == MF_OK) rc = join_meets(f, meet, meets, joined);
    free(meet);
    return rc;
}

static void release_clusters(struct forest *f, struct joined *joined)
{
    free_joined(f, joined);
    mf_arena_give(f->job->arena, f->cluster);
    f->cluster = NULL;
}

/** All clusters, with or without the joins of a periodic border. */
static int tally_all(struct forest *f, int periodic, struct tally *tally)
{
    struct joined joined;
    int rc = find_clusters(f, periodic, &joined);

    memset(tally, 0, MF_PHASES_MAX * sizeof *tally);
    if (rc == MF_OK) rc = tally_joined(f, &joined, tally);
    for (size_t i = 0; rc == MF_OK && i < f->clusters; ++i)
        if (f->cluster[i].size) tally_one(&tally[f->cluster[i].phase], f->cluster[i].size, f->cluster[i].touch);
    if (rc == MF_OK) add_up(f->job->comm, f->job->micro->phases, tally);
    release_clusters(f, &joined);
    return rc;
}

static int open_forest(struct forest *f)
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

static void close_forest(struct forest *f)
{
    mf_arena_give(f->job->arena, f->parent);
    mf_arena_give(f->job->arena, f->start);
    mf_arena_give(f->job->arena, f->row);
}

static void put(const struct mf_measure_job *job, const struct tally *t, const struct tally *open,
                struct mf_json *phase)
{
    struct mf_json *values = mf_json_object(), *number = mf_json_object(), *share = mf_json_object();
    struct mf_json *sizes = mf_json_array();
    int bins = BINS;

    mf_json_int(values, "number", t->number);
    mf_json_int(values, "largest", t->largest);
    mf_json_real(values, "mean", t->number ? (double)t->voxels / (double)t->number : 0);
    while (bins > 0 && t->bins[bins - 1] == 0) --bins;
    for (int b = 0; b < bins; ++b) mf_json_int(sizes, NULL, t->bins[b]);
    mf_json_put(values, "sizes", sizes);
    for (int a = mf_axis_first(job->micro); a < 3; ++a) {
        mf_json_int(number, mf_axis_name(a), open->spanning[a]);
        mf_json_real(share, mf_axis_name(a), t->voxels ? (double)open->spanning_voxels[a] / (double)t->voxels : 0);
    }
    mf_json_put(values, "spanning", number);
    mf_json_put(values, "spanning_fraction", share);
    mf_json_put(phase, "clusters", values);
}

int mf_measure_clusters(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct forest f = {.job = job};
    struct tally open[MF_PHASES_MAX], wrapped[MF_PHASES_MAX];
    int rc = mf_agree(job->comm, open_forest(&f));

    if (rc == MF_OK) rc = tally_all(&f, 0, open);
    if (rc == MF_OK && job->periodic) rc = tally_all(&f, 1, wrapped);
    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p)
        put(job, job->periodic ? &wrapped[p] : &open[p], &open[p], phase[p]);
    close_forest(&f);
    return rc;
}

/** The runs' voxels get the numbers of their clusters: of those that meet, of the first one. */
static int name_voxels(const struct forest *f, const struct joined *j, uint32_t *id)
{
    const size_t nx = f->job->micro->slab.dims[2];
    int64_t all = (int64_t)f->clusters;

    mf_comm_sum_int(f->job->comm, 1, &all);
    if (all > UINT32_MAX) return mf_fail(MF_INPUT, "more than 2^32 clusters have no numbers");
    for (size_t r = 0; r < f->rows; ++r)
        for (size_t i = f->row[r]; i < f->row[r + 1]; ++i) {
            const size_t end = i + 1 < f->row[r + 1] ? f->start[i + 1] : nx;
            const int64_t mine = f->base + f->parent[i], *met = find_id(j, mine);
            const int64_t name = met ? j->id[mf_forest_root(j->parent, (uint32_t)(met - j->id))] : mine;

            for (size_t x = f->start[i]; x < end; ++x) id[r * nx + x] = (uint32_t)name;
        }
    return MF_OK;
}

int mf_clusters_name(const struct mf_measure_job *job, uint32_t *id)
{
    struct forest f = {.job = job};
    struct joined joined = {0};
    int rc = mf_agree(job->comm, open_forest(&f));

    if (rc == MF_OK) rc = find_clusters(&f, job->periodic, &joined);
    if (rc == MF_OK) rc = name_voxels(&f, &joined, id);
    release_clusters(&f, &joined);
    close_forest(&f);
    return rc;
}

void mf_measure_clusters_text(FILE *to, const struct mf_json *values)
{
    fprintf(to, "  clusters: %lld, mean %.6g, largest %lld voxels; spanning",
            mf_json_to_int(mf_json_get(values, "number")), mf_json_to_real(mf_json_get(values, "mean")),
            mf_json_to_int(mf_json_get(values, "largest")));
    for (int a = 0; a < 3; ++a) {
        const struct mf_json *number = mf_json_get(mf_json_get(values, "spanning"), mf_axis_name(a));

        if (number)
            fprintf(to, " %s: %lld (%.4f of the phase)", mf_axis_name(a), mf_json_to_int(number),
                    mf_json_to_real(mf_json_get(mf_json_get(values, "spanning_fraction"), mf_axis_name(a))));
    }
    fputc('\n', to);
}
