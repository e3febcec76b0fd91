/* See job.h: the interfaces of a labelled field, counted. */
#include <string.h>

#include "src/base/err.h"
#include "src/desc/job.h"

enum { RUN = 240 }; /* so many ones fit a byte */

/** #{i < n : (a[i] == phase) != (b[i] == phase)} */
static int64_t differ(const uint8_t *a, const uint8_t *b, size_t n, uint8_t phase)
{
    int64_t total = 0;

    for (size_t i = 0; i < n; i += RUN) {
        size_t end = i + RUN < n ? i + RUN : n;
        uint8_t run = 0;

        for (size_t k = i; k < end; ++k) run = (uint8_t)(run + ((a[k] == phase) != (b[k] == phase)));
        total += run;
    }
    return total;
}

static void add(struct mf_jumps *j, int along, int64_t count, const int on_face[3])
{
    j->all[along] += count;
    for (int axis = 0; axis < 3; ++axis)
        if (on_face[axis]) j->face[along][axis] += count;
}

/** Jumps from row a to its neighbour b along z or y. The jump at x = 0 is on the face x too. */
static void add_rows(struct mf_jumps *j, int along, const uint8_t *a, const uint8_t *b, size_t nx, int z0, int y0,
                     uint8_t phase)
{
    add(j, along, differ(a, b, 1, phase), (int[3]){z0, y0, 1});
    add(j, along, differ(a + 1, b + 1, nx - 1, phase), (int[3]){z0, y0, 0});
}

/** All jumps that start in plane @p z; @p next: the plane after it, NULL: none. */
static void add_plane(const struct mf_micro *m, size_t z, const uint8_t *plane, const uint8_t *next, int periodic,
                      uint8_t phase, struct mf_jumps *j)
{
    size_t ny = m->slab.dims[1], nx = m->slab.dims[2];

    for (size_t y = 0; y < ny; ++y) {
        const uint8_t *row = plane + y * nx;
        int on_face[3] = {z == 0, y == 0, 0};

        add(j, 2, differ(row, row + 1, nx - 1, phase), on_face);
        if (periodic) add(j, 2, differ(row + nx - 1, row, 1, phase), on_face);
        if (y + 1 < ny || periodic) add_rows(j, 1, row, plane + (y + 1) % ny * nx, nx, z == 0, y == 0, phase);
        if (next) add_rows(j, 0, row, next + y * nx, nx, z == 0, y == 0, phase);
    }
}

int mf_jumps_count(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int periodic,
                   int first, int count, struct mf_jumps *jumps)
{
    const struct mf_slab *slab = &micro->slab;
    size_t plane = slab->dims[1] * slab->dims[2], end = slab->first + slab->count;
    size_t ahead = slab->count && (periodic || end < slab->dims[0]);
    uint8_t *after = mf_arena_take(arena, plane, "jumps");
    int rc = mf_agree(comm, after ? MF_OK : MF_MEMORY);

    memset(jumps, 0, (size_t)count * sizeof *jumps);
    if (rc == MF_OK) rc = mf_slab_fetch(comm, slab, micro->phase, plane, (ptrdiff_t)end, ahead, after);
    for (int p = 0; rc == MF_OK && p < count; ++p)
        for (size_t z = 0; z < slab->count; ++z) {
            const uint8_t *here = micro->phase + z * plane, *next = here + plane;

            if (z + 1 == slab->count) next = ahead ? after : NULL;
            add_plane(micro, slab->first + z, here, next, periodic, (uint8_t)(first + p), &jumps[p]);
        }
    mf_arena_give(arena, after);
    if (rc == MF_OK) mf_comm_sum_int(comm, (size_t)count * sizeof *jumps / sizeof(int64_t), (int64_t *)jumps);
    return rc;
}

double mf_jumps_variation(const struct mf_jumps *jumps, const size_t dims[3], int normal, int periodic, int seam)
{
    int u = normal == 0 ? 1 : 0, v = normal == 2 ? 1 : 2;
    double voxels = (double)dims[0] * (double)dims[1] * (double)dims[2];
    double along_u = (double)jumps->all[u], along_v = (double)jumps->all[v];

    if (periodic && seam) { /* jumps along u at v = 0 and along v at u = 0 once more */
        along_u += (double)jumps->face[u][v];
        along_v += (double)jumps->face[v][u];
    }
    if (periodic) return (along_u + along_v) / voxels;
    double pairs_u = voxels / (double)dims[u] * (double)(dims[u] - 1);
    double pairs_v = voxels / (double)dims[v] * (double)(dims[v] - 1);

    return (pairs_u > 0 ? along_u / pairs_u : 0) + (pairs_v > 0 ? along_v / pairs_v : 0);
}
