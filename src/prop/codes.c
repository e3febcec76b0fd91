/* See flow.h: the phases of a rank's cells and of the layer around them. */
#include <string.h>

#include "src/base/err.h"
#include "src/prop/flow.h"

/* Place @p g along an axis has a code of its own, or (-1) the voxel at *at. */
static int place(const struct mf_flow *flow, int axis, ptrdiff_t g, size_t *at)
{
    const ptrdiff_t n = (ptrdiff_t)flow->level[0].n[axis];

    *at = (size_t)((g + n) % n) + flow->shift[axis];
    if ((g >= 0 && g < n) || flow->wrap[axis]) return -1;
    if (axis != flow->axis) return MF_FLOW_CLOSED;
    if (flow->opts->boundary == MF_CONDUCT_PLATES) return MF_FLOW_PLATE;
    *at = (size_t)(g + 1); /* the voxel whose centre is on a plate */
    return -1;
}

static int is_outside(const struct mf_flow *flow, int axis, ptrdiff_t g)
{
    return g < 0 || g >= (ptrdiff_t)flow->level[0].n[axis];
}

/* Codes of a row, from the voxels of its plane. */
static void fill_row(const struct mf_flow *flow, ptrdiff_t z, ptrdiff_t y, const uint8_t *plane, uint8_t *row)
{
    const size_t nx = flow->level[0].n[2], width = flow->micro->slab.dims[2];
    size_t at_z, at_y, at_x;
    const int out = is_outside(flow, 0, z) + is_outside(flow, 1, y);
    const int of_z = place(flow, 0, z, &at_z), of_y = place(flow, 1, y, &at_y), code = of_z < 0 ? of_y : of_z;

    memset(row, MF_FLOW_CLOSED, nx + 2);
    if (out > 1) return; /* an edge of the layer touches no cell */
    if (code >= 0)
        memset(row + 1, code, nx);
    else
        memcpy(row + 1, plane + at_y * width + flow->shift[2], nx);
    for (int side = 0; side < 2 && !out; ++side) {
        const ptrdiff_t x = side ? (ptrdiff_t)nx : -1;
        const int own = place(flow, 2, x, &at_x);

        row[x + 1] = own >= 0 ? (uint8_t)own : plane[at_y * width + at_x];
    }
}

static void fill(const struct mf_flow *flow, const uint8_t *voxels)
{
    const struct mf_flow_level *l = &flow->level[0];
    const size_t *dims = flow->micro->slab.dims;
    uint8_t *row = flow->code;

    for (size_t z = 0; z < l->count + 2; ++z)
        for (size_t y = 0; y < l->n[1] + 2; ++y, row += l->n[2] + 2)
            fill_row(flow, (ptrdiff_t)(l->first + z) - 1, (ptrdiff_t)y - 1, voxels + z * dims[1] * dims[2], row);
}

int mf_flow_codes(struct mf_flow *flow)
{
    const struct mf_flow_level *l = &flow->level[0];
    const struct mf_slab *slab = &flow->micro->slab;
    const size_t plane = slab->dims[1] * slab->dims[2], planes = l->count ? l->count + 2 : 0;
    uint8_t *voxels = mf_arena_take(flow->arena, planes * plane, "voxels");
    int rc = voxels ? MF_OK : MF_MEMORY;

    flow->code =
        rc == MF_OK ? mf_arena_take(flow->arena, planes * (l->n[1] + 2) * (l->n[2] + 2), "codes of voxels") : NULL;
    rc = mf_agree(flow->comm, flow->code ? MF_OK : MF_MEMORY);
    if (rc == MF_OK && !flow->dry)
        rc = mf_slab_fetch(flow->comm, slab, flow->micro->phase, plane, (ptrdiff_t)(l->first + flow->shift[0]) - 1,
                           planes, voxels);
    if (rc == MF_OK && planes && !flow->dry) fill(flow, voxels);
    mf_arena_give(flow->arena, voxels);
    return rc;
}

float mf_flow_face(const struct mf_flow *flow, int axis, uint8_t a, uint8_t b)
{
    const double k = flow->k[a], m = flow->k[b], weight = flow->level[0].weight[axis];

    if (!(k > 0 && m > 0)) return 0;
    if (a == MF_FLOW_PLATE) return (float)(2 * m * weight);
    if (b == MF_FLOW_PLATE) return (float)(2 * k * weight);
    return (float)(2 * k * m / (k + m) * weight);
}
