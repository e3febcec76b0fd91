/* See error.h: whether a volume continues behind its faces. */
#include "src/base/err.h"
#include "src/prop/error.h"

/* Counts voxels that differ from the one before them: [0] of the first plane, [1] of the others. The plane @p before is
 * that before the slab. */
static void count(const struct mf_micro *m, int axis, const uint8_t *before, int64_t differ[2])
{
    const size_t *n = m->slab.dims, plane = n[1] * n[2];

    for (size_t z = 0; z < m->slab.count; ++z)
        for (size_t y = 0; y < n[1]; ++y)
            for (size_t x = 0; x < n[2]; ++x) {
                const size_t i = (z * n[1] + y) * n[2] + x, p = axis == 0 ? m->slab.first + z : axis == 1 ? y : x;
                const size_t s = axis == 1 ? n[2] : 1, back = p ? s : -s * (n[axis] - 1);
                const uint8_t other = axis ? m->phase[i - back] : z ? m->phase[i - plane] : before[i];

                differ[p > 0] += other != m->phase[i];
            }
}

int mf_conduct_seam(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int axis,
                    double *seam, double *inside)
{
    const size_t *n = micro->slab.dims, plane = n[1] * n[2];
    const double area = (double)n[0] * (double)plane / (double)n[axis];
    uint8_t *before = mf_arena_take(arena, plane, "a plane");
    int64_t differ[2] = {0};
    int rc = mf_agree(comm, before ? MF_OK : MF_MEMORY);

    if (rc == MF_OK)
        rc = mf_slab_fetch(comm, &micro->slab, micro->phase, plane, (ptrdiff_t)micro->slab.first - 1,
                           micro->slab.count > 0, before);
    if (rc == MF_OK) {
        count(micro, axis, before, differ);
        mf_comm_sum_int(comm, 2, differ);
        *seam = (double)differ[0] / area;
        *inside = (double)differ[1] / area / (double)(n[axis] - 1);
    }
    mf_arena_give(arena, before);
    return rc;
}
