/* See reach.h. */
#include "src/recon/reach.h"

#include <string.h>

#include "src/base/err.h"

enum { UNREACHED = 255, HALO = 2 * MF_REACH + 1 }; /* a way from here may go so far, and is found from as far again */

static size_t plane_of(const struct mf_reach *r) { return r->slab.dims[1] * r->slab.dims[2]; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

int mf_reach_open(struct mf_reach *r, const struct mf_comm *comm, struct mf_arena *arena, const struct mf_slab *slab)
{
    size_t above;

    *r = (struct mf_reach){.comm = comm, .arena = arena, .slab = *slab};
    r->below = slab->count ? least(HALO, slab->first) : 0;
    above = slab->count ? least(HALO, slab->dims[0] - slab->first - slab->count) : 0;
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
    const size_t is[3] = {at / (ny * nx), at / nx % ny, at % nx};
    const int a = k / 2;

    if (k % 2) return is[a] + 1 < extent[a] ? at + step[a] : SIZE_MAX;
    return is[a] > 0 ? at - step[a] : SIZE_MAX;
}

/* The smallest mark of neighbours that are @p far steps away; 0: there are none. */
static uint32_t nearest(const struct mf_reach *r, size_t at, uint8_t far)
{
    uint32_t best = 0;

    for (int k = 0; k < 6; ++k) {
        const size_t n = mf_reach_neighbour(r, at, k);

        if (n != SIZE_MAX && r->far[n] == far && (best == 0 || r->owner[n] < best)) best = r->owner[n];
    }
    return best;
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

int mf_reach_flood(struct mf_reach *r, size_t steps)
{
    const size_t n = r->planes * plane_of(r);

    MF_ASSERT(steps <= MF_REACH);
    MF_TRY(bring(r));
    for (size_t i = 0; i < n; ++i) r->far[i] = r->owner[i] && r->owner[i] != MF_REACH_WALL ? 0 : UNREACHED;
    for (size_t step = 1; step <= steps; ++step)
        for (size_t i = 0; i < n; ++i) {
            if (r->owner[i]) continue;
            r->owner[i] = nearest(r, i, (uint8_t)(step - 1));
            if (r->owner[i]) r->far[i] = (uint8_t)step;
        }
    return MF_OK;
}
