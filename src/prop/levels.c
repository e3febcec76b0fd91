/* See flow.h: conductances of all levels, and vectors. */
#include <string.h>

#include "src/base/err.h"
#include "src/prop/flow.h"

/* -- memory -- */

static void *take(struct mf_flow *flow, size_t n, size_t size)
{
    return mf_arena_take(flow->queue->arena, n * size, "conduction");
}

/* A vector whose layer is zero until something fills it. */
static float *zeros(struct mf_flow *flow, const struct mf_flux_grid *g)
{
    const size_t n = g->n[0] ? mf_flux_all(g) : 0;
    float *x = take(flow, n, sizeof *x);

    if (x && !flow->dry) flow->queue->backend->field->fill(flow->queue, n, 0, x);
    return x;
}

static int take_faces(struct mf_flow *flow, struct mf_flux_grid *g)
{
    for (int a = 0; a < 3; ++a) {
        g->c[a] = zeros(flow, g);
        if (!g->c[a]) return MF_MEMORY;
    }
    g->w = zeros(flow, g);
    return g->w ? MF_OK : MF_MEMORY;
}

/* The grids of a level: of all planes that this rank has, and of those that it makes. */
static void set_grid(const struct mf_flow *flow, struct mf_flow_level *l, int alike)
{
    const size_t planes = l->whole ? l->n[0] : l->count;
    const struct mf_flux_grid g = {.n = {planes, l->n[1], l->n[2]}, .odd = l->whole ? 0 : (int)(l->first & 1)};

    l->grid = g;
    for (int a = 0; a < 3; ++a) l->grid.last[a] = !flow->wrap[a];
    if (!l->whole && l->first + l->count < l->n[0]) l->grid.last[0] = 0;
    l->skip = l->whole && !alike ? l->first * mf_flux_plane(&g) : 0;
}

static void set_part(struct mf_flow_level *l, int alike)
{
    l->part = l->grid;
    if (alike) return;
    l->part.n[0] = l->count;
    for (int a = 0; a < 3; ++a) l->part.c[a] += l->skip;
}

static int take_all(struct mf_flow *flow)
{
    struct mf_flow_level *finest = &flow->level[0];
    const struct mf_flux_grid *g = &finest->grid;
    float **const vector[] = {&flow->r, &flow->z, &flow->p};

    for (size_t k = 1; k < flow->levels; ++k) {
        struct mf_flow_level *l = &flow->level[k];
        const int alike = !l->whole || flow->level[k - 1].whole;

        set_grid(flow, l, alike);
        MF_TRY(take_faces(flow, &l->grid));
        set_part(l, alike);
        l->x = zeros(flow, &l->grid);
        l->b = zeros(flow, &l->grid);
        if (!l->x || !l->b) return MF_MEMORY;
    }
    for (size_t i = 0; i < sizeof vector / sizeof *vector; ++i)
        if (!(*vector[i] = zeros(flow, g))) return MF_MEMORY;
    flow->sums = mf_arena_take(flow->queue->host, (g->n[0] + 1) * sizeof *flow->sums, "sums of planes");
    flow->all = mf_arena_take(flow->arena, finest->n[0] * sizeof *flow->all, "sums of planes");
    return flow->sums && flow->all ? MF_OK : MF_MEMORY;
}

/* Host memory for planes on their way to other ranks. */
static int take_edges(struct mf_flow *flow)
{
    size_t most = 0;

    if (!mf_apart(flow->queue) || flow->level[0].whole) return MF_OK;
    for (size_t k = 1; k < flow->levels; ++k)
        if (flow->level[k].whole && !flow->level[k - 1].whole) most = mf_flux_all(&flow->level[k].grid);
    flow->edge =
        mf_arena_take(flow->queue->host, 4 * mf_flux_plane(&flow->level[0].grid) * sizeof *flow->edge, "edges");
    flow->shared = flow->edge ? mf_arena_take(flow->queue->host, most * sizeof *flow->shared, "edges") : NULL;
    return flow->shared ? MF_OK : MF_MEMORY;
}

/* -- the finest level, on the host -- */

typedef void fill(const struct mf_flow *flow, void *to);

/* A device array from what the host fills. */
static int make(struct mf_flow *flow, size_t bytes, fill *how, void *device)
{
    void *host = mf_mirror_take(flow->queue, device, bytes, "conduction");

    if (!host) return MF_MEMORY;
    if (!flow->dry) how(flow, host);
    mf_mirror_put(flow->queue, device, host, bytes);
    mf_mirror_give(flow->queue, device, host);
    return MF_OK;
}

/* Sums of six conductances, of own cells; outside, conductances towards the own cell. */
static void fill_count(const struct mf_flow *flow, void *to)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const size_t sy = mf_flux_row(g), sz = mf_flux_plane(g);
    uint8_t *count = to, weight[256];

    for (int i = 0; i < 256; ++i) weight[i] = i == MF_FLOW_PLATE ? 2 : flow->k[i] > 0;
    for (size_t i = 0; i < mf_flux_all(g); ++i) count[i] = weight[flow->code[i]];
    for (size_t z = 0; z < g->n[0]; ++z)
        for (size_t y = 0; y < g->n[1]; ++y) {
            const uint8_t *c = flow->code + mf_flux_at(g, z, y, 0);
            uint8_t *row = count + mf_flux_at(g, z, y, 0);

            for (size_t k = 0; k < g->n[2]; ++k, ++c)
                row[k] = (uint8_t)(weight[c[0]] * (weight[c[-1]] + weight[c[1]] + weight[c[-(ptrdiff_t)sy]] +
                                                   weight[c[sy]] + weight[c[-(ptrdiff_t)sz]] + weight[c[sz]]));
        }
}

static void fill_faces(const struct mf_flow *flow, int axis, float *c)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const size_t s = mf_flux_stride(g, axis);

    memset(c, 0, mf_flux_all(g) * sizeof *c);
    for (size_t z = 0; z < g->n[0] + (axis == 0); ++z)
        for (size_t y = 0; y < g->n[1] + (axis == 1); ++y)
            for (size_t x = 0; x < g->n[2] + (axis == 2); ++x) {
                const size_t i = mf_flux_at(g, z, y, x);

                c[i] = mf_flow_face(flow, axis, flow->code[i - s], flow->code[i]);
            }
}

static void fill_z(const struct mf_flow *flow, void *to) { fill_faces(flow, 0, to); }
static void fill_y(const struct mf_flow *flow, void *to) { fill_faces(flow, 1, to); }
static void fill_x(const struct mf_flow *flow, void *to) { fill_faces(flow, 2, to); }

/* The potential of a uniform gradient, 0 to 1. The far plate stands outside, with 1 times its conductance where those
 * are counts. */
static float potential(const struct mf_flow *flow, size_t at, uint8_t code)
{
    const double shift = flow->opts->boundary == MF_CONDUCT_CENTRES ? 1 : 0.5;

    if (!flow->wrap[flow->axis] && at == 0) return 0;
    if (!flow->wrap[flow->axis] && at == flow->level[0].n[flow->axis] + 1)
        return flow->binary && code == MF_FLOW_PLATE ? 2 : 1;
    return (float)(((double)at - 1 + shift) / (double)flow->cells);
}

static void fill_potential(const struct mf_flow *flow, void *to)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const uint8_t *code = flow->code;
    uint8_t on[256];
    float *x = to;

    for (int i = 0; i < 256; ++i) on[i] = flow->k[i] > 0;
    for (size_t z = 0; z < g->n[0] + 2; ++z)
        for (size_t y = 0; y < g->n[1] + 2; ++y)
            for (size_t v = 0; v < g->n[2] + 2; ++v, ++x, ++code) {
                const size_t p[3] = {flow->level[0].first + z, y, v};

                *x = on[*code] ? potential(flow, p[flow->axis], *code) : 0;
            }
}

static int make_finest(struct mf_flow *flow)
{
    struct mf_flux_grid *g = &flow->level[0].grid;
    fill *const faces[3] = {fill_z, fill_y, fill_x};

    set_grid(flow, &flow->level[0], 1);
    if (flow->level[0].count == 0) return MF_OK;
    if (flow->binary) {
        g->count = take(flow, mf_flux_all(g), 1);
        if (!g->count) return MF_MEMORY;
        MF_TRY(make(flow, mf_flux_all(g), fill_count, g->count));
    } else {
        MF_TRY(take_faces(flow, g));
        for (int a = 0; a < 3; ++a) MF_TRY(make(flow, mf_flux_all(g) * sizeof(float), faces[a], g->c[a]));
        if (!flow->dry) flow->queue->backend->flux->finish(flow->queue, g);
    }
    flow->x = take(flow, mf_flux_all(g), sizeof *flow->x);
    return flow->x ? make(flow, mf_flux_all(g) * sizeof(float), fill_potential, flow->x) : MF_MEMORY;
}

/* -- coarse levels -- */

void mf_flow_coarsen(struct mf_flow *flow)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;

    for (size_t k = 1; k < flow->levels; ++k) {
        struct mf_flow_level *from = &flow->level[k - 1], *l = &flow->level[k];

        if (from->grid.n[0]) ops->coarsen(flow->queue, &from->grid, from->by, &l->part);
        if (l->whole && !from->whole)
            for (int a = 0; a < 3; ++a) mf_flow_share(flow, l, l->grid.c[a]);
        if (l->grid.n[0]) ops->finish(flow->queue, &l->grid);
    }
}

int mf_flow_levels(struct mf_flow *flow)
{
    int rc = mf_agree(flow->comm, make_finest(flow));

    mf_arena_give(flow->arena, flow->code);
    flow->code = NULL;
    MF_TRY(rc);
    rc = take_all(flow);
    if (rc == MF_OK) rc = take_edges(flow);
    MF_TRY(mf_agree(flow->comm, rc));
    if (!flow->dry) mf_flow_coarsen(flow);
    return MF_OK;
}

static int take_untouched(struct mf_flow *flow)
{
    struct mf_flux_grid *g = &flow->level[0].grid;

    set_grid(flow, &flow->level[0], 1);
    if (flow->level[0].count) MF_TRY(take_faces(flow, g));
    flow->x = zeros(flow, g);
    if (!flow->x) return MF_MEMORY;
    MF_TRY(take_all(flow));
    return take_edges(flow);
}

int mf_flow_take(struct mf_flow *flow)
{
    int rc;

    flow->dry = 1;
    rc = take_untouched(flow);
    flow->dry = 0;
    return rc;
}

static void clear(struct mf_flow *flow, const struct mf_flux_grid *g, size_t count, float *const *x)
{
    if (!g->n[0]) return;
    for (size_t i = 0; i < count; ++i)
        if (x[i]) flow->queue->backend->field->fill(flow->queue, mf_flux_all(g), 0, x[i]);
}

void mf_flow_clear(struct mf_flow *flow)
{
    float *const vector[] = {flow->x, flow->r, flow->z, flow->p};

    clear(flow, &flow->level[0].grid, sizeof vector / sizeof *vector, vector);
    for (size_t k = 0; k < flow->levels; ++k) {
        const struct mf_flow_level *l = &flow->level[k];
        float *const of_level[] = {l->grid.c[0], l->grid.c[1], l->grid.c[2], l->grid.w, l->x, l->b};

        clear(flow, &l->grid, sizeof of_level / sizeof *of_level, of_level);
    }
}

void mf_flow_free(struct mf_flow *flow)
{
    float *const vector[] = {flow->x, flow->r, flow->z, flow->p};
    struct mf_arena *device = flow->queue->arena;

    for (size_t i = 0; i < sizeof vector / sizeof *vector; ++i) mf_arena_give(device, vector[i]);
    for (size_t k = 0; k < flow->levels; ++k) {
        struct mf_flow_level *l = &flow->level[k];

        for (int a = 0; a < 3; ++a) mf_arena_give(device, l->grid.c[a]);
        mf_arena_give(device, l->grid.w);
        mf_arena_give(device, l->grid.count);
        mf_arena_give(device, l->x);
        mf_arena_give(device, l->b);
    }
    mf_arena_give(flow->queue->host, flow->shared);
    mf_arena_give(flow->queue->host, flow->edge);
    mf_arena_give(flow->queue->host, flow->sums);
    mf_arena_give(flow->arena, flow->all);
    mf_arena_give(flow->arena, flow->code);
}
