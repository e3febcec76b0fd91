/* See conduct.h: potential and flux at the centres of voxels. */
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/prop/flow.h"

/** Level 0, where the host sees it. */
struct seen {
    float *x, *c[3], *w;
    uint8_t *count;
};

static size_t bytes_of(const struct mf_flow *flow) { return mf_flux_all(&flow->level[0].grid); }

static void *see(const struct mf_flow *flow, void *device, size_t size)
{
    void *mirror = device ? mf_mirror_take(flow->queue, device, bytes_of(flow) * size, "fields") : NULL;

    if (mirror) mf_mirror_get(flow->queue, mirror, device, bytes_of(flow) * size);
    return mirror;
}

static int see_all(const struct mf_flow *flow, struct seen *s)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;

    s->x = see(flow, flow->x, sizeof *s->x);
    s->w = see(flow, g->w, sizeof *s->w);
    s->count = see(flow, g->count, 1);
    for (int a = 0; a < 3; ++a) s->c[a] = see(flow, g->c[a], sizeof *s->x);
    flow->queue->backend->sync(flow->queue);
    return s->x && (g->count ? s->count != NULL : s->w && s->c[0] && s->c[1] && s->c[2]) ? MF_OK : MF_MEMORY;
}

static void give_all(const struct mf_flow *flow, const struct seen *s)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;

    mf_mirror_give(flow->queue, flow->x, s->x);
    mf_mirror_give(flow->queue, g->w, s->w);
    mf_mirror_give(flow->queue, g->count, s->count);
    for (int a = 0; a < 3; ++a) mf_mirror_give(flow->queue, g->c[a], s->c[a]);
}

/* The flux from the cell at @p high, place @p p along the axis, to the one before it. Beside a plate half a cell away
 * conductances are 2, and the potential is stored with that factor. */
static double flux_between(const struct mf_flow *flow, const struct seen *s, int axis, size_t high, size_t p)
{
    const size_t low = high - mf_flux_stride(&flow->level[0].grid, axis), n = flow->level[0].grid.n[axis];
    double c, scale = 1;

    if (!s->count) return s->c[axis][high] * ((double)s->x[high] - s->x[low]);
    c = s->count[low] && s->count[high];
    if (c > 0 && p == 0) c = s->count[low]; /* outside: that of the face */
    if (c > 0 && p == n) c = scale = s->count[high];
    return c * (s->x[high] / scale - s->x[low]);
}

/* The mean gradient along the axis is 1, and the largest conductivity is 1. */
static void fill_flux(const struct mf_flow *flow, const struct seen *s, const size_t at[3], float *flux)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const double *h = flow->micro->spacing;
    const size_t i = mf_flux_at(g, at[0], at[1], at[2]);

    for (int a = 0; a < 3; ++a) {
        const double sum =
            flux_between(flow, s, a, i, at[a]) + flux_between(flow, s, a, i + mf_flux_stride(g, a), at[a] + 1);

        flux[2 - a] = (float)(sum / 2 * (double)flow->cells * h[a] / h[flow->axis]);
    }
}

/* Cells that carry no flux have no potential. */
static void fill(const struct mf_flow *flow, const struct seen *s, struct mf_conduct_fields *f)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const size_t *n = flow->micro->slab.dims, *shift = flow->shift;

    for (size_t z = 0; z < g->n[0]; ++z)
        for (size_t y = 0; y < g->n[1]; ++y)
            for (size_t x = 0; x < g->n[2]; ++x) {
                const size_t i = mf_flux_at(g, z, y, x), plane = flow->level[0].first + z + shift[0] - f->first;
                const size_t to = (plane * n[1] + y + shift[1]) * n[2] + x + shift[2];

                if (s->count ? s->count[i] == 0 : !(s->w[i] > 0)) continue;
                f->potential[to] = s->x[i];
                fill_flux(flow, s, (size_t[3]){z, y, x}, f->flux + 3 * to);
            }
}

/* The planes of this rank; with plates through centres also the first and the last one of the volume. */
static void set_planes(const struct mf_flow *flow, struct mf_conduct_fields *f)
{
    const struct mf_flow_level *l = &flow->level[0];

    f->first = l->first + (l->first ? flow->shift[0] : 0);
    f->count = l->whole && flow->comm->rank > 0 ? 0 : l->count;
    if (f->count && l->first == 0) f->count += flow->shift[0];
    if (f->count && l->first + l->count == l->n[0]) f->count += flow->shift[0];
}

int mf_flow_fields(const struct mf_flow *flow, int carries)
{
    const struct mf_conduct_opts *opts = flow->opts;
    struct mf_conduct_fields f = {.axis = flow->axis};
    struct seen s = {.x = NULL};
    size_t voxels;
    int rc;

    set_planes(flow, &f);
    voxels = f.count * flow->micro->slab.dims[1] * flow->micro->slab.dims[2];
    f.potential = mf_arena_take(flow->arena, voxels * sizeof *f.potential, "fields");
    f.flux = mf_arena_zeros(flow->arena, 3 * voxels, sizeof *f.flux, "fields");
    rc = f.potential && f.flux ? MF_OK : MF_MEMORY;
    for (size_t i = 0; rc == MF_OK && i < voxels; ++i) f.potential[i] = NAN;
    if (rc == MF_OK && carries && f.count) rc = see_all(flow, &s);
    if (rc == MF_OK && carries && f.count) fill(flow, &s, &f);
    rc = mf_agree(flow->comm, rc);
    if (rc == MF_OK) rc = opts->take(opts->context, &f);
    give_all(flow, &s);
    mf_arena_give(flow->arena, f.flux);
    mf_arena_give(flow->arena, f.potential);
    return rc;
}
