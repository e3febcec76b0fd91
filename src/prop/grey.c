/* See grey.h. */
#include "src/prop/grey.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/prop/flow.h"

struct mf_conduct_grey {
    struct mf_flow flow;
    struct mf_micro micro;
    struct mf_conduct_opts opts;
    float *planes; /* [own planes of the flow + 2][ny][nx] host memory: conductivities */
    float *own;    /* [own planes of the flow][ny][nx] host memory: what goes from and to slabs */
    int clear;     /* faces that nobody fills are 0 in the mirrors */
    float *x;      /* mirrors of flow.x, and of the conductances */
    float *c[3];
};

static size_t plane_of(const struct mf_flow *flow) { return flow->level[0].n[1] * flow->level[0].n[2]; }

/* -- memory -- */

static int take(struct mf_conduct_grey *g)
{
    struct mf_flow *flow = &g->flow;
    const size_t count = flow->level[0].count, bytes = count ? mf_flux_all(&flow->level[0].grid) * sizeof(float) : 0;

    g->planes = mf_arena_take(flow->arena, (count ? count + 2 : 0) * plane_of(flow) * sizeof *g->planes, "conduction");
    g->own = mf_arena_take(flow->arena, count * plane_of(flow) * sizeof *g->own, "conduction");
    if (!g->planes || !g->own) return MF_MEMORY;
    if (count == 0) return MF_OK;
    g->x = mf_mirror_take(flow->queue, flow->x, bytes, "conduction");
    for (int a = 0; a < 3; ++a) {
        g->c[a] = mf_mirror_take(flow->queue, flow->level[0].grid.c[a], bytes, "conduction");
        if (!g->c[a]) return MF_MEMORY;
    }
    return g->x ? MF_OK : MF_MEMORY;
}

/* Extents, levels and joined borders are those of every axis; distances and plates are not. */
static void along(struct mf_flow *flow, int axis)
{
    flow->axis = axis;
    mf_flow_shape(flow);
}

int mf_conduct_grey_open(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                         const struct mf_slab *slab, const double spacing[3], const struct mf_conduct_opts *opts,
                         struct mf_conduct_grey **grey)
{
    struct mf_conduct_grey *g = MF_MUST(calloc(1, sizeof *g), "conduction");
    int rc;

    *grey = g;
    MF_ASSERT(opts->boundary == MF_CONDUCT_PERIODIC ||
              (opts->boundary == MF_CONDUCT_PLATES && !opts->sides_periodic)); /* all axes have the same levels */
    g->micro = (struct mf_micro){.ndim = slab->dims[0] == 1 ? 2 : 3, .slab = *slab};
    memcpy(g->micro.spacing, spacing, sizeof g->micro.spacing);
    g->opts = *opts;
    g->flow = (struct mf_flow){.comm = comm, .queue = queue, .arena = arena, .micro = &g->micro, .opts = &g->opts};
    along(&g->flow, 2);
    rc = mf_flow_take(&g->flow);
    if (rc == MF_OK) rc = take(g);
    return mf_agree(comm, rc);
}

void mf_conduct_grey_close(struct mf_conduct_grey *g)
{
    struct mf_queue *queue;

    if (!g) return;
    queue = g->flow.queue;
    mf_arena_give(g->flow.arena, g->planes);
    mf_arena_give(g->flow.arena, g->own);
    mf_mirror_give(queue, g->flow.x, g->x);
    for (int a = 0; a < 3; ++a) mf_mirror_give(queue, g->flow.level[0].grid.c[a], g->c[a]);
    mf_flow_free(&g->flow);
    free(g);
}

/* -- between slabs and the planes of the flow -- */

static struct mf_span slab_planes(const struct mf_flow *flow, int rank)
{
    const struct mf_slab slab = mf_slab_of(flow->comm, flow->micro->slab.dims, rank);

    return (struct mf_span){slab.first, slab.count};
}

static struct mf_span common(struct mf_span a, struct mf_span b)
{
    const size_t first = a.first > b.first ? a.first : b.first;
    const size_t end = a.first + a.count < b.first + b.count ? a.first + a.count : b.first + b.count;

    return (struct mf_span){first, end > first ? end - first : 0};
}

/* From planes that ranks have of one division to those of another. Each rank of a flow that is whole has all. */
static void hand_over(const struct mf_flow *flow, int to_slabs, const float *from, float *to)
{
    struct mf_span (*const source)(const struct mf_flow *, int) = to_slabs ? mf_flow_planes : slab_planes;
    struct mf_span (*const target)(const struct mf_flow *, int) = to_slabs ? slab_planes : mf_flow_planes;
    const int size = flow->comm->size, me = flow->comm->rank;
    const size_t plane = plane_of(flow), bytes = plane * sizeof *from, first = source(flow, me).first;
    const size_t begin = target(flow, me).first;
    const struct mf_span here = common(source(flow, me), target(flow, me));

    if (here.count) memcpy(to + (here.first - begin) * plane, from + (here.first - first) * plane, here.count * bytes);
    for (int s = 1; s < size && !(to_slabs && flow->level[0].whole); ++s) {
        const int up = (me + s) % size, down = (me + size - s) % size;
        const struct mf_span out = common(source(flow, me), target(flow, up));
        const struct mf_span in = common(source(flow, down), target(flow, me));

        mf_comm_send_receive(flow->comm, out.count ? up : MF_NO_RANK, from + (out.first - first) * plane,
                             out.count * bytes, in.count ? down : MF_NO_RANK, to + (in.first - begin) * plane,
                             in.count * bytes);
    }
}

/* -- conductances -- */

/* The faces between two rows. NULL is a plate. */
static void faces_between(size_t n, const float *low, const float *high, float weight, float *c)
{
    if (low && high)
        for (size_t i = 0; i < n; ++i) c[i] = weight * (low[i] * high[i] / (low[i] + high[i]));
    else
        for (size_t i = 0; i < n; ++i) c[i] = weight * (low ? low : high)[i];
}

static int is_plate(const struct mf_flow *flow, int axis) { return axis == flow->axis && !flow->wrap[axis]; }

/* Faces before the cells of row @p y, or behind the last one, of own plane @p z. */
static void faces_along(const struct mf_conduct_grey *g, int axis, size_t z, size_t y, float *c)
{
    const struct mf_flow *flow = &g->flow;
    const size_t *n = flow->level[0].n, nx = n[2], p = axis == 0 ? flow->level[0].first + z : y, end = n[axis];
    const size_t step = axis == 0 ? n[1] * nx : nx, back = axis == 1 && p == 0 ? end - 1 : p - 1;
    const float *plane = g->planes + (axis == 1 ? z + 1 : z) * n[1] * nx;
    const float *low = axis == 0 ? plane + y * nx : plane + back * nx;
    const float *high = axis == 0 ? low + step : plane + (p == end ? 0 : p) * nx;
    const int outer = !flow->wrap[axis] && (p == 0 || p == end);

    if (outer && !is_plate(flow, axis)) { /* another axis had a plate there */
        memset(c, 0, nx * sizeof *c);
        return;
    }
    faces_between(nx, outer && p == 0 ? NULL : low, outer && p == end ? NULL : high,
                  (float)(2 * flow->level[0].weight[axis]), c);
}

static void faces_in_row(const struct mf_conduct_grey *g, size_t z, size_t y, float *c)
{
    const struct mf_flow *flow = &g->flow;
    const size_t nx = flow->level[0].n[2];
    const float *row = g->planes + ((z + 1) * flow->level[0].n[1] + y) * nx;
    const float weight = (float)(2 * flow->level[0].weight[2]);

    faces_between(nx - 1, row, row + 1, weight, c + 1);
    if (flow->wrap[2]) {
        faces_between(1, row + nx - 1, row, weight, c);
        c[nx] = c[0];
    } else if (is_plate(flow, 2)) {
        faces_between(1, NULL, row, weight, c);
        faces_between(1, row + nx - 1, NULL, weight, c + nx);
    } else {
        c[0] = c[nx] = 0;
    }
}

static void fill_faces(struct mf_conduct_grey *g, int axis)
{
    const struct mf_flux_grid *grid = &g->flow.level[0].grid;
    const size_t planes = grid->n[0] + (axis == 0), rows = grid->n[1] + (axis == 1);

#pragma omp parallel for num_threads(g->flow.queue->threads)
    for (size_t z = 0; z < planes; ++z)
        for (size_t y = 0; y < rows; ++y) {
            float *c = g->c[axis] + mf_flux_at(grid, z, y, 0);

            if (axis == 2)
                faces_in_row(g, z, y, c);
            else
                faces_along(g, axis, z, y, c);
        }
    mf_mirror_put(g->flow.queue, grid->c[axis], g->c[axis], mf_flux_all(grid) * sizeof(float));
}

/* -- potentials -- */

void mf_conduct_grey_begin(const struct mf_conduct_grey *g, int axis, float *potential)
{
    const struct mf_slab *slab = &g->micro.slab;
    const size_t *n = slab->dims;

    for (size_t z = 0; z < slab->count; ++z)
        for (size_t y = 0; y < n[1]; ++y)
            for (size_t x = 0; x < n[2]; ++x, ++potential) {
                const size_t at = axis == 0 ? slab->first + z : axis == 1 ? y : x;

                *potential = (float)(((double)at + 0.5) / (double)n[axis]);
            }
}

/* Own cells of the mirror from, or to, planes without a layer. */
static void move_own(const struct mf_conduct_grey *g, int in)
{
    const struct mf_flux_grid *grid = &g->flow.level[0].grid;
    const size_t nx = grid->n[2];

    for (size_t z = 0; z < grid->n[0]; ++z)
        for (size_t y = 0; y < grid->n[1]; ++y) {
            float *cells = g->x + mf_flux_at(grid, z, y, 0), *own = g->own + (z * grid->n[1] + y) * nx;

            memcpy(in ? cells : own, in ? own : cells, nx * sizeof *cells);
        }
}

/* The layer on the far plate has potential 1, all others begin with 0. */
static void set_layer(const struct mf_conduct_grey *g)
{
    const struct mf_flow *flow = &g->flow;
    const struct mf_flow_level *l = &flow->level[0];
    const struct mf_flux_grid *grid = &l->grid;
    const int a = flow->axis;
    float *x = g->x;

    memset(x, 0, mf_flux_all(grid) * sizeof *x);
    if (flow->wrap[a]) return;
    for (size_t z = 0; z < grid->n[0] + 2; ++z)
        for (size_t y = 0; y < grid->n[1] + 2; ++y)
            for (size_t k = 0; k < grid->n[2] + 2; ++k, ++x)
                *x = (a == 0 ? l->first + z : a == 1 ? y : k) == l->n[a] + 1;
}

static void bring_potential(struct mf_conduct_grey *g, const float *potential)
{
    struct mf_flow *flow = &g->flow;

    hand_over(flow, 0, potential, g->own);
    if (flow->level[0].count == 0) return;
    set_layer(g);
    move_own(g, 1);
    mf_mirror_put(flow->queue, flow->x, g->x, mf_flux_all(&flow->level[0].grid) * sizeof(float));
}

static void give_potential(struct mf_conduct_grey *g, float *potential)
{
    struct mf_flow *flow = &g->flow;

    if (flow->level[0].count) {
        mf_mirror_get(flow->queue, g->x, flow->x, mf_flux_all(&flow->level[0].grid) * sizeof(float));
        move_own(g, 0);
    }
    hand_over(flow, 1, g->own, potential);
}

int mf_conduct_grey_solve(struct mf_conduct_grey *g, int axis, const float *k, float *potential, struct mf_conduct *out)
{
    struct mf_flow *flow = &g->flow;
    const struct mf_flow_level *l = &flow->level[0];
    const size_t planes = l->count ? l->count + 2 : 0;

    *out = (struct mf_conduct){.carries = 1};
    along(flow, axis);
    MF_TRY(mf_slab_fetch(flow->comm, &flow->micro->slab, k, plane_of(flow) * sizeof *k, (ptrdiff_t)l->first - 1, planes,
                         g->planes));
    if (!g->clear) mf_flow_clear(flow);
    for (int a = 0; a < 3 && l->count && !g->clear; ++a) memset(g->c[a], 0, mf_flux_all(&l->grid) * sizeof(float));
    g->clear = 1;
    for (int a = 0; a < 3 && l->count; ++a) fill_faces(g, a);
    if (l->count) flow->queue->backend->flux->finish(flow->queue, &l->grid);
    mf_flow_coarsen(flow);
    bring_potential(g, potential);
    MF_TRY(mf_flow_settle(flow, out));
    give_potential(g, potential);
    return MF_OK;
}

/* -- the derivative -- */

/* c = 2 w k m / (k + m) has dc/dk = c^2 / (2 w k^2), also beside a plate, where c = 2 w k. */
static void slope_row(const struct mf_conduct_grey *g, size_t z, size_t y, float *slope)
{
    const struct mf_flow *flow = &g->flow;
    const struct mf_flux_grid *grid = &flow->level[0].grid;
    const size_t nx = grid->n[2], at = mf_flux_at(grid, z, y, 0);
    const float *k = g->planes + ((z + 1) * grid->n[1] + y) * nx, *x = g->x + at;
    const double unit = mf_flow_conductivity(flow, 1);

    for (size_t i = 0; i < nx; ++i) slope[i] = 0;
    for (int a = 0; a < 3; ++a) {
        const size_t s = mf_flux_stride(grid, a);
        const float *c = g->c[a] + at, scale = (float)(unit / (2 * flow->level[0].weight[a]));

        for (size_t i = 0; i < nx; ++i) {
            const float low = c[i] * (x[i] - x[i - s]), high = c[i + s] * (x[i + s] - x[i]);

            slope[i] += scale * (low * low + high * high);
        }
    }
    for (size_t i = 0; i < nx; ++i) slope[i] /= k[i] * k[i];
}

void mf_conduct_grey_slope(struct mf_conduct_grey *g, float *slope)
{
    const struct mf_flux_grid *grid = &g->flow.level[0].grid;
    const size_t planes = g->flow.level[0].count ? grid->n[0] : 0;

#pragma omp parallel for num_threads(g->flow.queue->threads)
    for (size_t z = 0; z < planes; ++z)
        for (size_t y = 0; y < grid->n[1]; ++y) slope_row(g, z, y, g->own + (z * grid->n[1] + y) * grid->n[2]);
    hand_over(&g->flow, 1, g->own, slope);
}
