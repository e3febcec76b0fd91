/* The clusters of a phase against a flood voxel by voxel. It compares their order, sizes, first voxels and faces, and
 * the marks of voxels. Fields are noise, boards where no two voxels touch, columns that meet at every border, and one
 * way through all slabs. The list has few places or enough. They take no more memory than was counted, but of the
 * columns. */
#include "src/desc/clusters.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { MOST = 14 * 9 * 8, PHASES = 5 };

static size_t dims[3];
static uint8_t label[MOST];
static struct mf_cluster want[MOST];
static uint32_t cluster_of[MOST], stack[MOST];

static size_t voxels(void) { return dims[0] * dims[1] * dims[2]; }

static void place_of(size_t i, size_t at[3])
{
    at[0] = i / (dims[1] * dims[2]);
    at[1] = i / dims[2] % dims[1];
    at[2] = i % dims[2];
}

/* -- fields -- */

static uint8_t noise(size_t i, const size_t at[3])
{
    (void)at;
    return mf_random_uniform(1, 0, i) < 0.3;
}

static uint8_t noise_of_many(size_t i, const size_t at[3])
{
    (void)at;
    return (uint8_t)(mf_random_uniform(2, 0, i) * PHASES);
}

static uint8_t board(size_t i, const size_t at[3])
{
    (void)i;
    return (at[0] + at[1] + at[2]) % 2;
}

static uint8_t columns(size_t i, const size_t at[3])
{
    (void)i;
    return at[1] % 2 && at[2] % 2;
}

/* Plates joined by posts at one corner and the other in turn. */
static uint8_t way(size_t i, const size_t at[3])
{
    const size_t corner = at[0] / 2 % 2;

    (void)i;
    return at[0] % 2 == 0 || (at[1] == corner * (dims[1] - 1) && at[2] == corner * (dims[2] - 1));
}

/* -- the flood -- */

static void reach(size_t i, uint32_t name, size_t *waiting)
{
    if (cluster_of[i]) return;
    cluster_of[i] = name;
    stack[(*waiting)++] = (uint32_t)i;
}

static void flood(size_t from, uint32_t name, struct mf_cluster *c)
{
    const size_t step[3] = {dims[1] * dims[2], dims[2], 1};
    size_t waiting = 0;

    *c = (struct mf_cluster){.first = (int64_t)from};
    for (reach(from, name, &waiting); waiting; ++c->size) {
        const size_t i = stack[--waiting];
        size_t at[3];

        place_of(i, at);
        for (int a = 0; a < 3; ++a) {
            c->touch |= (at[a] == 0) << (2 * a) | (at[a] + 1 == dims[a]) << (2 * a + 1);
            if (at[a] > 0 && label[i - step[a]] == label[i]) reach(i - step[a], name, &waiting);
            if (at[a] + 1 < dims[a] && label[i + step[a]] == label[i]) reach(i + step[a], name, &waiting);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    const struct mf_cluster *p = a, *q = b;

    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    return (p->first > q->first) - (p->first < q->first);
}

/* Floods all clusters of @p phase into want, the largest first. Returns how many. */
static size_t flood_all(uint8_t phase)
{
    size_t count = 0;

    memset(cluster_of, 0, sizeof cluster_of);
    for (size_t i = 0; i < voxels(); ++i)
        if (label[i] == phase && !cluster_of[i]) {
            flood(i, (uint32_t)count + 1, &want[count]);
            ++count;
        }
    qsort(want, count, sizeof *want, by_size);
    return count;
}

/* -- the list -- */

/* cluster_of has names in the order of first voxels; want is sorted by size. */
static uint32_t marked(size_t i, size_t count, size_t listed)
{
    uint32_t before = 0;

    if (!cluster_of[i]) return 0;
    for (size_t k = 0; k < count; ++k) {
        before = 0;
        for (size_t j = 0; j < count; ++j) before += want[j].first < want[k].first;
        if (before + 1 == cluster_of[i]) return k < listed ? (uint32_t)k + 1 : 0;
    }
    return 0;
}

static void check_phase(const struct mf_measure_job *job, uint8_t phase, size_t most)
{
    static struct mf_cluster list[MOST];
    static uint32_t id[MOST];
    const struct mf_slab *slab = &job->micro->slab;
    const size_t first = slab->first * dims[1] * dims[2], all = flood_all(phase), listed = all < most ? all : most;
    size_t count = 0;

    CHECK(mf_clusters_list(job, phase, most, list, &count, id) == MF_OK);
    CHECK(count == listed);
    for (size_t k = 0; k < listed && k < count; ++k)
        CHECK(list[k].first == want[k].first && list[k].size == want[k].size && list[k].touch == want[k].touch);
    for (size_t i = 0; i < mf_slab_voxels(slab); ++i) CHECK(id[i] == marked(first + i, all, listed));
}

static void check_field(const struct mf_comm *comm, uint8_t (*field)(size_t i, const size_t at[3]))
{
    struct mf_micro micro = {.ndim = 3, .slab = mf_slab_of(comm, dims, comm->rank), .phases = PHASES};
    struct mf_measure_job job = {.comm = comm, .micro = &micro};
    struct mf_arena *counted;
    size_t at[3];

    for (size_t i = 0; i < voxels(); ++i) {
        place_of(i, at);
        label[i] = field(i, at);
    }
    micro.phase = label + micro.slab.first * dims[1] * dims[2];
    CHECK(mf_arena_open(&counted, NULL, 0) == MF_OK && mf_arena_open(&job.arena, NULL, 0) == MF_OK);
    CHECK(mf_clusters_room(comm, counted, &micro.slab, MOST) == MF_OK);
    for (uint8_t phase = 0; phase < 2; ++phase) {
        check_phase(&job, phase, MOST);
        check_phase(&job, phase, 7);
    }
    CHECK(field == columns || mf_arena_peak(job.arena) <= mf_arena_peak(counted));
    mf_arena_close(job.arena);
    mf_arena_close(counted);
}

int main(int argc, char **argv)
{
    static const size_t shapes[][3] = {{14, 9, 8}, {5, 7, 9}, {1, 12, 11}};
    uint8_t (*const fields[])(size_t i, const size_t at[3]) = {noise, noise_of_many, board, columns, way};
    struct mf_comm comm;

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        memcpy(dims, shapes[s], sizeof dims);
        for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) check_field(&comm, fields[f]);
    }
    mf_comm_close(&comm);
    return failures != 0;
}
