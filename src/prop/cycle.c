/* See flow.h: one cycle of multigrid, and what ranks exchange. */
#include <string.h>

#include "src/prop/flow.h"

enum { SWEEPS = 8 }; /* on the coarsest level */

/* -- exchange -- */

/* Host memory with the plane at @p at: place @p i of those on their way. */
static float *leave(const struct mf_flow *flow, size_t i, const float *at, size_t plane)
{
    float *host = flow->edge + i * mf_flux_plane(&flow->level[0].grid);

    if (!flow->edge) return (float *)(uintptr_t)at; /* only read */
    flow->queue->backend->get(flow->queue, host, at, plane * sizeof *host);
    return host;
}

static float *room(const struct mf_flow *flow, size_t i, float *at)
{
    return flow->edge ? flow->edge + i * mf_flux_plane(&flow->level[0].grid) : at;
}

static void arrive(const struct mf_flow *flow, int from, const float *host, float *at, size_t plane)
{
    if (flow->edge && from != MF_NO_RANK) flow->queue->backend->put(flow->queue, at, host, plane * sizeof *host);
}

/* Planes of neighbouring ranks. */
static void exchange(const struct mf_flow *flow, const struct mf_flow_level *l, float *x)
{
    const size_t plane = mf_flux_plane(&l->grid), bytes = plane * sizeof *x;
    float *low = x, *first = x + plane, *last = x + l->count * plane, *high = last + plane;
    float *in = room(flow, 2, low), *up = leave(flow, 0, last, plane), *down = leave(flow, 1, first, plane);
    float *in_high = room(flow, 3, high);

    mf_comm_send_receive(flow->comm, flow->above, up, bytes, flow->below, in, bytes);
    mf_comm_send_receive(flow->comm, flow->below, down, bytes, flow->above, in_high, bytes);
    arrive(flow, flow->below, in, low, plane);
    arrive(flow, flow->above, in_high, high, plane);
}

void mf_flow_border(const struct mf_flow *flow, const struct mf_flow_level *level, float jump, float *x)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;
    const struct mf_flux_grid *g = &level->grid;

    if (g->n[0] == 0) return;
    for (int a = level->whole ? 0 : 1; a < 3; ++a)
        if (flow->wrap[a]) ops->wrap(flow->queue, g, a, a == flow->axis ? jump : 0, x);
    if (level->whole) return;
    exchange(flow, level, x);
    if (flow->axis != 0 || jump == 0 || !flow->wrap[0]) return;
    if (level->first == 0) ops->lift(flow->queue, g, -1, -jump, x);
    if (level->first + level->count == level->n[0]) ops->lift(flow->queue, g, (ptrdiff_t)level->count, jump, x);
}

/* Bytes before the planes of each rank. The first rank has the layer before them too, the last one that behind. */
static void offsets(const struct mf_flow *flow, const struct mf_flow_level *l, size_t *offset)
{
    const size_t plane = mf_flux_plane(&l->grid) * sizeof(float), step = flow->grain, n = flow->level[0].n[0];

    for (int r = 0; r <= flow->comm->size; ++r) {
        const size_t first = r < flow->comm->size ? mf_flow_planes(flow, r).first : n;

        offset[r] = first >= n ? (l->n[0] + 2) * plane : r == 0 ? 0 : (first / step + 1) * plane;
    }
}

void mf_flow_share(const struct mf_flow *flow, const struct mf_flow_level *level, float *array)
{
    const struct mf_backend *backend = flow->queue->backend;
    const size_t bytes = mf_flux_all(&level->grid) * sizeof *array;
    size_t offset[flow->comm->size + 1];

    offsets(flow, level, offset);
    if (flow->shared) backend->get(flow->queue, flow->shared, array, bytes);
    mf_comm_share(flow->comm, flow->shared ? flow->shared : array, offset);
    if (flow->shared) backend->put(flow->queue, array, flow->shared, bytes);
}

double mf_flow_total(const struct mf_flow *flow)
{
    const struct mf_flow_level *l = &flow->level[0];
    double total = 0;

    flow->queue->backend->sync(flow->queue);
    memset(flow->all, 0, l->n[0] * sizeof *flow->all);
    memcpy(flow->all + l->first, flow->sums, l->count * sizeof *flow->all);
    if (!l->whole) mf_comm_sum(flow->comm, l->n[0], flow->all);
    for (size_t z = 0; z < l->n[0]; ++z) total += flow->all[z];
    return total;
}

/* -- the cycle -- */

/* Does nothing around a rank's cells change within a pass? */
static int is_closed(const struct mf_flow *flow, const struct mf_flow_level *l)
{
    return l->whole && !flow->wrap[0] && !flow->wrap[1] && !flow->wrap[2];
}

/* Do only planes of other ranks change? Then a rank works on its first and last plane first, and they are exchanged.
 * It works on them again in one pass over all planes. The result is the same, as cells of a colour do not see each
 * other. */
static int has_ends(const struct mf_flow *flow, const struct mf_flow_level *l)
{
    return !l->whole && !flow->wrap[1] && !flow->wrap[2];
}

/* So many planes of a grid, from @p first on. */
static struct mf_flux_grid planes_of(const struct mf_flux_grid *g, size_t first, size_t count)
{
    const size_t skip = first * mf_flux_plane(g);
    struct mf_flux_grid part = *g;

    part.n[0] = count;
    part.odd = (int)((size_t)g->odd + first) & 1;
    if (g->count) part.count += skip;
    if (g->w) part.w += skip;
    for (int a = 0; a < 3; ++a)
        if (g->c[a]) part.c[a] += skip;
    return part;
}

/* The first and the last plane of a rank, for its neighbours: from x = 0, or one colour more. */
static void smooth_ends(const struct mf_flow *flow, const struct mf_flow_level *l, int begins, int colour,
                        const float *b, float *x)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;
    const size_t n = l->grid.n[0], at[2] = {0, n - 1};

    for (int end = 0; end < 2 && n; ++end) {
        const struct mf_flux_grid g = planes_of(&l->grid, at[end], 1);
        const size_t skip = at[end] * mf_flux_plane(&g);

        if (begins)
            ops->begin(flow->queue, &g, b + skip, x + skip);
        else
            ops->relax(flow->queue, &g, colour, b + skip, x + skip);
    }
    mf_flow_border(flow, l, 0, x);
}

/* Both colours. */
static void smooth(const struct mf_flow *flow, const struct mf_flow_level *l, int first, const float *b, float *x)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;

    if (is_closed(flow, l)) {
        ops->relax_both(flow->queue, &l->grid, first, b, x);
        return;
    }
    if (has_ends(flow, l)) {
        mf_flow_border(flow, l, 0, x);
        smooth_ends(flow, l, 0, first, b, x);
        if (l->grid.n[0]) ops->relax_both(flow->queue, &l->grid, first, b, x);
        return;
    }
    for (int i = 0; i < 2; ++i) {
        mf_flow_border(flow, l, 0, x);
        if (l->grid.n[0]) ops->relax(flow->queue, &l->grid, first ^ i, b, x);
    }
}

static void solve_coarsest(const struct mf_flow *flow, const struct mf_flow_level *l, float *x, const float *b)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;

    ops->begin(flow->queue, &l->grid, b, x);
    mf_flow_border(flow, l, 0, x);
    ops->relax(flow->queue, &l->grid, 1, b, x);
    for (int i = 1; i < SWEEPS; ++i) smooth(flow, l, 0, b, x);
    for (int i = 0; i < SWEEPS; ++i) smooth(flow, l, 1, b, x);
}

static void restrict_to(const struct mf_flow *flow, const struct mf_flow_level *l, const struct mf_flow_level *next,
                        const float *b, float *x)
{
    mf_flow_border(flow, l, 0, x);
    if (l->grid.n[0])
        flow->queue->backend->flux->restrict_to(flow->queue, &l->grid, &next->part, l->by, b, x, next->b + next->skip);
}

/* The residual of the first and of the last plane of the next level. */
static void restrict_ends(const struct mf_flow *flow, const struct mf_flow_level *l, const struct mf_flow_level *next,
                          const float *b, const float *x)
{
    const size_t n = l->grid.n[0], coarse = next->part.n[0], by = l->by.of[0], at[2] = {0, coarse - 1};

    for (int end = 0; end < 2 && n; ++end) {
        const size_t first = at[end] * by, skip = first * mf_flux_plane(&l->grid);
        const struct mf_flux_grid fine = planes_of(&l->grid, first, first + by < n ? by : n - first);
        const struct mf_flux_grid part = planes_of(&next->part, at[end], 1);

        flow->queue->backend->flux->restrict_to(flow->queue, &fine, &part, l->by, b + skip, x + skip,
                                                next->b + next->skip + at[end] * mf_flux_plane(&part));
    }
}

/* From x = 0: both colours, and the residual on the next level. */
static void descend(const struct mf_flow *flow, const struct mf_flow_level *l, const struct mf_flow_level *next,
                    const float *b, float *x)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;

    if (is_closed(flow, l)) {
        ops->descend(flow->queue, &l->grid, &next->part, l->by, b, x, next->b + next->skip);
        return;
    }
    if (has_ends(flow, l)) {
        smooth_ends(flow, l, 1, 0, b, x);
        if (l->grid.n[0]) ops->descend(flow->queue, &l->grid, &next->part, l->by, b, x, next->b + next->skip);
        mf_flow_border(flow, l, 0, x);
        restrict_ends(flow, l, next, b, x);
        return;
    }
    if (l->grid.n[0]) ops->begin(flow->queue, &l->grid, b, x);
    mf_flow_border(flow, l, 0, x);
    if (l->grid.n[0]) ops->relax(flow->queue, &l->grid, 1, b, x);
    restrict_to(flow, l, next, b, x);
}

/* All ranks do the same with it, and with all levels below. */
static int is_small(const struct mf_flow_level *l) { return l->whole && l->n[0] * l->n[1] * l->n[2] <= MF_FLUX_SMALL; }

/* Each level below the first is visited twice. Colours are taken backwards afterwards, so the cycle is symmetric. */
static void cycle(const struct mf_flow *flow, size_t k, float *x, const float *b)
{
    const struct mf_flow_level *l = &flow->level[k], *next = l + 1;

    if (k + 1 == flow->levels) {
        if (l->grid.n[0]) solve_coarsest(flow, l, x, b);
        return;
    }
    for (int visit = 0; visit < (k ? 2 : 1); ++visit) {
        if (visit == 0) {
            descend(flow, l, next, b, x);
        } else {
            smooth(flow, l, 1, b, x); /* ends with colour 0, which the next pass would begin with */
            mf_flow_border(flow, l, 0, x);
            if (l->grid.n[0]) flow->queue->backend->flux->relax(flow->queue, &l->grid, 1, b, x);
            restrict_to(flow, l, next, b, x);
        }
        if (next->whole && !l->whole) mf_flow_share(flow, next, next->b);
        mf_flow_cycle(flow, k + 1, next->x, next->b);
        if (l->grid.n[0])
            flow->queue->backend->flux->add(flow->queue, &l->grid, &next->part, l->by, next->x + next->skip, x);
    }
    smooth(flow, l, 1, b, x);
}

void mf_flow_cycle(const struct mf_flow *flow, size_t k, float *x, const float *b)
{
    const struct mf_flux_ops *ops = flow->queue->backend->flux;
    const int shares = ops->batch && is_small(&flow->level[k]) && (k == 0 || !is_small(&flow->level[k - 1]));

    if (shares) ops->batch(flow->queue, 1);
    cycle(flow, k, x, b);
    if (shares) ops->batch(flow->queue, 0);
}
