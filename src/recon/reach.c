/* See reach.h. */
#include "src/recon/reach.h"

#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

enum { UNREACHED = 255, HALO = 2 * MF_REACH + 1 }; /* a way from here may go so far, and is found from as far again */

static size_t plane_of(const struct mf_reach *r) { return r->slab.dims[1] * r->slab.dims[2]; }

int mf_reach_open(struct mf_reach *r, const struct mf_comm *comm, struct mf_arena *arena, const struct mf_slab *slab)
{
    size_t above;

    *r = (struct mf_reach){.comm = comm, .arena = arena, .slab = *slab};
    r->below = slab->count ? mf_min(HALO, slab->first) : 0;
    above = slab->count ? mf_min(HALO, slab->dims[0] - slab->first - slab->count) : 0;
    r->planes = r->below + slab->count + above;
    r->owner = mf_arena_take(arena, r->planes * plane_of(r) * sizeof *r->owner, "nearest clusters");
    r->far = mf_arena_take(arena, r->planes * plane_of(r), "nearest clusters");
    return r->owner && r->far ? MF_OK : MF_MEMORY;
}

void mf_reach_close(struct mf_reach *r)
{
    if (!r->arena) return;
    mf_arena_give(r->arena, r->far);
    mf_arena_give(r->arena, r->owner);
}

uint32_t *mf_reach_own(const struct mf_reach *r) { return r->owner + r->below * plane_of(r); }

size_t mf_reach_neighbour(const struct mf_reach *r, size_t at, int k)
{
    const size_t ny = r->slab.dims[1], nx = r->slab.dims[2];
    const size_t step[3] = {ny * nx, nx, 1}, extent[3] = {r->planes, ny, nx};
    const int a = k / 2;
    const size_t is = at / step[a] % extent[a];

    if (k % 2) return is + 1 < extent[a] ? at + step[a] : SIZE_MAX;
    return is > 0 ? at - step[a] : SIZE_MAX;
}

static int bring(const struct mf_reach *r)
{
    const size_t plane = plane_of(r), above = r->planes - r->below - r->slab.count;
    const uint32_t *own = mf_reach_own(r);

    MF_TRY(mf_slab_fetch(r->comm, &r->slab, own, plane * sizeof *own, (ptrdiff_t)(r->slab.first - r->below), r->below,
                         r->owner));
    return mf_slab_fetch(r->comm, &r->slab, own, plane * sizeof *own, (ptrdiff_t)(r->slab.first + r->slab.count), above,
                         r->owner + (r->below + r->slab.count) * plane);
}

/* A row of voxels, and those around it; NULL: outside. */
struct row {
    uint32_t *owner, *near[4];
    uint8_t *far, *near_far[4];
};

static struct row row_of(const struct mf_reach *r, size_t z, size_t y)
{
    const size_t ny = r->slab.dims[1], nx = r->slab.dims[2], at = (z * ny + y) * nx, plane = ny * nx;
    const size_t near[4] = {z > 0 ? at - plane : SIZE_MAX, z + 1 < r->planes ? at + plane : SIZE_MAX,
                            y > 0 ? at - nx : SIZE_MAX, y + 1 < ny ? at + nx : SIZE_MAX};
    struct row row = {.owner = r->owner + at, .far = r->far + at};

    for (int k = 0; k < 4; ++k) {
        row.near[k] = near[k] == SIZE_MAX ? NULL : r->owner + near[k];
        row.near_far[k] = near[k] == SIZE_MAX ? NULL : r->far + near[k];
    }
    return row;
}

static uint32_t smaller(uint32_t best, uint32_t owner) { return best == 0 || owner < best ? owner : best; }

/* Gives voxels without a mark the smallest mark of neighbours at distance @p far, and the next distance. Returns their
 * number. */
static size_t flood_row(const struct row *row, size_t nx, uint8_t far)
{
    size_t reached = 0;

    for (size_t x = 0; x < nx; ++x) {
        uint32_t best = 0;

        if (row->owner[x]) continue;
        if (x > 0 && row->far[x - 1] == far) best = smaller(best, row->owner[x - 1]);
        if (x + 1 < nx && row->far[x + 1] == far) best = smaller(best, row->owner[x + 1]);
        for (int k = 0; k < 4; ++k)
            if (row->near[k] && row->near_far[k][x] == far) best = smaller(best, row->near[k][x]);
        if (best == 0) continue;
        row->owner[x] = best;
        row->far[x] = (uint8_t)(far + 1);
        ++reached;
    }
    return reached;
}

int mf_reach_flood(struct mf_reach *r, size_t steps)
{
    const size_t n = r->planes * plane_of(r);
    size_t reached = 1;

    MF_ASSERT(steps <= MF_REACH);
    MF_TRY(bring(r));
    for (size_t i = 0; i < n; ++i) r->far[i] = r->owner[i] && r->owner[i] != MF_REACH_WALL ? 0 : UNREACHED;
    for (size_t step = 0; step < steps && reached; ++step) {
        reached = 0;
        for (size_t z = 0; z < r->planes; ++z)
            for (size_t y = 0; y < r->slab.dims[1]; ++y) {
                const struct row row = row_of(r, z, y);

                reached += flood_row(&row, r->slab.dims[2], (uint8_t)step);
            }
    }
    return MF_OK;
}
