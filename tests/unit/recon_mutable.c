/* The lists of sublattices of a field that changes voxel by voxel hold every voxel of theirs once. It is there under
 * its phase and number of foreign neighbours. Two sublattices share no slice; windows are those of the labels; draws
 * follow the weights. Images and volumes, periodic and not. */
#include "src/recon/sublattice.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { LAG = 4, W = 2 * LAG - 1, PHASES = 3, DRAWS = 60000 };

static size_t dims[3];
static int periodic;
static uint8_t label[17 * 18 * 19], pinned[sizeof label];

/* The label at a place; 255 outside. */
static uint8_t at(ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    ptrdiff_t p[3] = {z, y, x};

    for (int a = 0; a < 3; ++a) {
        const ptrdiff_t n = (ptrdiff_t)dims[a];

        if (!periodic && (p[a] < 0 || p[a] >= n)) return 255;
        p[a] = (p[a] + n) % n;
    }
    return label[((size_t)p[0] * dims[1] + (size_t)p[1]) * dims[2] + (size_t)p[2]];
}

static int foreign(size_t v, int of)
{
    const ptrdiff_t x = (ptrdiff_t)(v % dims[2]), y = (ptrdiff_t)(v / dims[2] % dims[1]),
                    z = (ptrdiff_t)(v / dims[2] / dims[1]);
    const uint8_t near[6] = {at(z, y, x - 1),
                             at(z, y, x + 1),
                             at(z, y - 1, x),
                             at(z, y + 1, x),
                             dims[0] > 1 ? at(z - 1, y, x) : label[v],
                             dims[0] > 1 ? at(z + 1, y, x) : label[v]};
    int n = 0;

    for (int i = 0; i < 6; ++i) n += near[i] != 255 && near[i] != label[v] && (of < 0 || near[i] == of);
    return n;
}

static void check_lists(const struct mf_sublattice *p, char *seen)
{
    CHECK(p->first[0] == 0 && p->first[PHASES * MF_CLASSES] == p->voxels);
    for (size_t l = 0; l < PHASES * MF_CLASSES; ++l)
        for (size_t i = p->first[l]; i < p->first[l + 1]; ++i) {
            const size_t v = mf_sublattice_at(p, p->voxel[i]);

            CHECK(v < p->field->voxels && !seen[v]++ && p->place[p->voxel[i]] == i);
            CHECK(mf_mutable_label(p->field, v) == label[v] && l / MF_CLASSES == label[v]);
            CHECK(!p->fixed || pinned[v] == MF_LABEL_OPEN);
            CHECK((int)(l % MF_CLASSES) == foreign(v, -1));
            CHECK(mf_mutable_foreign(p->field, v, -1) == foreign(v, -1));
            CHECK(mf_mutable_foreign(p->field, v, 1) == foreign(v, 1));
        }
}

/* Every index of every axis belongs to one sublattice, and every sublattice has its share of them. */
static void check_partition(const struct mf_partition *partition, const struct mf_sublattice *sublattice)
{
    char seen[sizeof label] = {0};

    for (int a = 0; a < 3; ++a) {
        size_t count[MF_SUBLATTICES_MAX] = {0};

        for (size_t i = 0; i < partition->dims[a]; ++i) {
            CHECK(partition->part[a][i] < partition->count);
            ++count[partition->part[a][i]];
        }
        for (size_t p = 0; p < partition->count; ++p)
            CHECK(count[p] == partition->dims[a] / partition->count ||
                  count[p] == partition->dims[a] / partition->count + 1);
    }
    for (size_t p = 0; p < partition->count; ++p) {
        check_lists(&sublattice[p], seen);
        for (size_t i = 0; i < sublattice[p].voxels; ++i) {
            uint32_t at[3];

            mf_mutable_at(sublattice[p].field, mf_sublattice_at(&sublattice[p], sublattice[p].voxel[i]), at);
            CHECK(mf_partition_has(partition, p, at) && mf_partition_local(partition, p, at) == sublattice[p].voxel[i]);
            for (int a = 0; a < 3; ++a) CHECK(partition->part[a][at[a]] == p);
        }
    }
    for (size_t v = 0; v < dims[0] * dims[1] * dims[2]; ++v)
        if (partition->count == 1) CHECK(seen[v] == !(sublattice->fixed && pinned[v] != MF_LABEL_OPEN));
}

static void check_window(const struct mf_mutable *m, size_t v, size_t side, uint8_t phase)
{
    uint32_t window[W], where[3];

    mf_mutable_at(m, v, where);
    mf_mutable_window(m, where, side, phase, window);
    for (int i = 0; i < W; ++i)
        for (int j = 0; j < 32; ++j) {
            ptrdiff_t p[3] = {where[0], where[1], where[2]};

            p[side == MF_Z ? 1 : 0] += i - LAG + 1;
            p[side == MF_X ? 1 : 2] += j - LAG + 1;
            CHECK((int)(window[i] >> j & 1) ==
                  (j < W && (i != LAG - 1 || j != LAG - 1) && at(p[0], p[1], p[2]) == phase));
        }
}

/* Shares of draws against shares of weights. */
static void check_draws(const struct mf_sublattice *p)
{
    const double weight[MF_CLASSES] = {0, 1, 4, 9, 16, 25, 36};
    double sum = 0, want[MF_CLASSES] = {0};
    int got[MF_CLASSES] = {0};

    for (size_t i = 0; i < p->voxels; ++i) {
        const size_t v = mf_sublattice_at(p, p->voxel[i]);

        if (label[v] != 2) continue;
        want[foreign(v, -1)] += weight[foreign(v, -1)];
        sum += weight[foreign(v, -1)];
    }
    for (uint64_t i = 0; i < DRAWS; ++i) {
        const size_t v = mf_sublattice_draw(p, 2, weight, mf_random_uniform(5, 1, i), mf_random_uniform(5, 2, i));
        const size_t o = mf_sublattice_other(p, 2, mf_random_uniform(5, 3, i));

        CHECK(v < p->field->voxels && label[v] == 2 && o < p->field->voxels && label[o] != 2);
        CHECK(mf_sublattice_any(p, mf_random_uniform(5, 4, i)) < p->field->voxels);
        ++got[foreign(v, -1)];
    }
    for (int c = 0; c < MF_CLASSES; ++c) CHECK_NEAR((double)got[c] / DRAWS, want[c] / sum, 0.01);
}

/* Labels change voxel by voxel: of sublattices, which follow, and of one as another rank says. */
static void change(struct mf_mutable *m, struct mf_sublattice *sublattice, const struct mf_partition *partition)
{
    for (uint64_t i = 0; i < 300; ++i) {
        struct mf_sublattice *p = &sublattice[partition->count > 1 ? i % 2 : 0];
        const size_t v = mf_sublattice_at(p, p->voxel[(size_t)((double)p->voxels * mf_random_uniform(2, 0, i))]);

        label[v] = (uint8_t)(3 * mf_random_uniform(2, 1, i));
        mf_sublattice_set(p, v, label[v]);
        if (i % 50 == 0) check_partition(partition, sublattice);
        check_window(m, v, m->dims[0] > 1 ? i % 3 : 0, (uint8_t)(i % PHASES));
    }
    check_partition(partition, sublattice);
}

static void check_field(size_t nz, size_t ny, size_t nx, int wraps)
{
    static uint32_t voxel[MF_SUBLATTICES_MAX][sizeof label], place[MF_SUBLATTICES_MAX][sizeof label];
    struct mf_sublattice sublattice[MF_SUBLATTICES_MAX];
    struct mf_arena *arena;
    uint8_t plane[sizeof label];
    struct mf_partition partition;
    struct mf_mutable m;

    dims[0] = nz;
    dims[1] = ny;
    dims[2] = nx;
    periodic = wraps;
    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_mutable_open(&m, arena, dims, PHASES, periodic, LAG) == MF_OK);
    CHECK(mf_partition_open(&partition, arena, dims) == MF_OK);
    CHECK(partition.count == (nz > 16 ? 2 : 1));
    for (size_t v = 0; v < m.voxels; ++v) label[v] = (uint8_t)(3 * mf_random_uniform(1, 0, v / 2));
    for (size_t v = 0; v < m.voxels; ++v) pinned[v] = mf_random_uniform(1, 1, v) < 0.2 ? 0 : MF_LABEL_OPEN;
    mf_mutable_begin(&m);
    for (size_t z = 0; z < nz; ++z) mf_mutable_put(&m, z, label + z * ny * nx);
    for (uint64_t turn = 0; turn < 3; ++turn) {
        mf_partition_shuffle(&partition, 7, turn);
        for (size_t p = 0; p < MF_SUBLATTICES_MAX; ++p) {
            sublattice[p] = (struct mf_sublattice){
                .field = &m, .partition = &partition, .number = p, .voxel = voxel[p], .place = place[p]};
            if (turn != 1) sublattice[p].fixed = pinned;
        }
        for (size_t p = 0; p < partition.count; ++p) {
            mf_sublattice_fill(&sublattice[p]);
            CHECK(sublattice[p].voxels <= mf_sublattice_room(&partition));
        }
        check_partition(&partition, sublattice);
        change(&m, sublattice, &partition);
    }
    check_draws(sublattice);
    for (size_t z = 0; z < nz; ++z) {
        mf_mutable_get(&m, z, plane);
        CHECK(memcmp(plane, label + z * ny * nx, ny * nx) == 0);
    }
    mf_partition_close(&partition);
    mf_mutable_close(&m);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
}

int main(void)
{
    for (int wraps = 0; wraps < 2; ++wraps) {
        check_field(1, 10, 11, wraps);
        check_field(9, 10, 11, wraps);
        check_field(17, 18, 19, wraps);
    }
    return failures != 0;
}
