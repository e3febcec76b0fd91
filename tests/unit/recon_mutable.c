/* The lists of a field that changes voxel by voxel hold every voxel once, under its phase and number of foreign
 * neighbours; windows are what the labels say; draws follow the weights. Images and volumes, periodic and not. */
#include "src/recon/mutable.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { LAG = 4, W = 2 * LAG - 1, PHASES = 3, DRAWS = 60000 };

static size_t dims[3];
static int periodic;
static uint8_t label[9 * 10 * 11];

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

static void check_lists(const struct mf_mutable *m)
{
    char seen[sizeof label] = {0};

    CHECK(m->first[0] == 0 && m->first[PHASES * MF_CLASSES] == m->voxels);
    for (size_t l = 0; l < PHASES * MF_CLASSES; ++l)
        for (size_t i = m->first[l]; i < m->first[l + 1]; ++i) {
            const size_t v = m->voxel[i];

            CHECK(v < m->voxels && !seen[v]++ && m->place[v] == i);
            CHECK(mf_mutable_label(m, v) == label[v] && l / MF_CLASSES == label[v]);
            CHECK((int)(l % MF_CLASSES) == foreign(v, -1));
            CHECK(mf_mutable_foreign(m, v, -1) == foreign(v, -1) && mf_mutable_foreign(m, v, 1) == foreign(v, 1));
        }
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
static void check_draws(const struct mf_mutable *m)
{
    const double weight[MF_CLASSES] = {0, 1, 4, 9, 16, 25, 36};
    double sum = 0, want[MF_CLASSES] = {0};
    int got[MF_CLASSES] = {0};

    for (size_t v = 0; v < m->voxels; ++v)
        if (label[v] == 2) {
            want[foreign(v, -1)] += weight[foreign(v, -1)];
            sum += weight[foreign(v, -1)];
        }
    for (uint64_t i = 0; i < DRAWS; ++i) {
        const size_t v = mf_mutable_draw(m, 2, weight, mf_random_uniform(5, 1, i), mf_random_uniform(5, 2, i));
        const size_t o = mf_mutable_other(m, 2, mf_random_uniform(5, 3, i));

        CHECK(v < m->voxels && label[v] == 2 && o < m->voxels && label[o] != 2);
        ++got[foreign(v, -1)];
    }
    for (int c = 0; c < MF_CLASSES; ++c) CHECK_NEAR((double)got[c] / DRAWS, want[c] / sum, 0.01);
}

static void check_field(size_t nz, size_t ny, size_t nx, int wraps)
{
    struct mf_arena *arena;
    struct mf_mutable m;

    dims[0] = nz;
    dims[1] = ny;
    dims[2] = nx;
    periodic = wraps;
    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_mutable_open(&m, arena, dims, PHASES, periodic, LAG) == MF_OK);
    for (size_t v = 0; v < m.voxels; ++v) label[v] = (uint8_t)(3 * mf_random_uniform(1, 0, v / 2));
    memcpy(m.whole, label, m.voxels);
    mf_mutable_begin(&m);
    check_lists(&m);
    for (uint64_t i = 0; i < 300; ++i) {
        const size_t v = (size_t)((double)m.voxels * mf_random_uniform(2, 0, i));

        label[v] = (uint8_t)(3 * mf_random_uniform(2, 1, i));
        mf_mutable_set(&m, v, label[v]);
        if (i % 50 == 0) check_lists(&m);
        check_window(&m, v, nz > 1 ? i % 3 : 0, (uint8_t)(i % PHASES));
    }
    check_lists(&m);
    check_draws(&m);
    memset(m.whole, 9, m.voxels);
    mf_mutable_end(&m);
    CHECK(memcmp(m.whole, label, m.voxels) == 0);
    mf_mutable_close(&m);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
}

int main(void)
{
    for (int wraps = 0; wraps < 2; ++wraps) {
        check_field(1, 10, 11, wraps);
        check_field(9, 10, 11, wraps);
    }
    return failures != 0;
}
