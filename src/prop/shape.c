/* See flow.h: levels, and how planes are cut. */
#include <string.h>

#include "src/base/cut.h"
#include "src/prop/flow.h"

enum { COARSEST = 4 };

/* Coarsens along the strong couplings: distances of a level stay within a factor of two of each other. */
static struct mf_flux_step step_of(const struct mf_flow_level *l)
{
    struct mf_flux_step by = {{1, 1, 1}};
    double most = 0;

    for (int a = 0; a < 3; ++a)
        if (l->n[a] > 1 && l->weight[a] > most) most = l->weight[a];
    for (int a = 0; a < 3; ++a)
        if (l->n[a] > 1 && 4 * l->weight[a] > most * (1 + 1e-9)) by.of[a] = 2;
    return by;
}

static int is_coarsest(const struct mf_flow_level *l)
{
    return l->n[0] <= COARSEST && l->n[1] <= COARSEST && l->n[2] <= COARSEST;
}

static void next_level(const struct mf_flow_level *from, struct mf_flow_level *to)
{
    for (int a = 0; a < 3; ++a) {
        to->n[a] = (from->n[a] + from->by.of[a] - 1) / from->by.of[a];
        to->weight[a] = from->weight[a] / (from->by.of[a] * from->by.of[a]);
    }
}

/* A level is distributed where it is large, and every rank has two planes of it. */
static int is_whole(const struct mf_flow *flow, const struct mf_flow_level *l)
{
    return flow->comm->size == 1 || l->n[0] * l->n[1] * l->n[2] <= MF_CONDUCT_ALIKE ||
           l->n[0] < 2 * (size_t)flow->comm->size;
}

static void cut(struct mf_flow *flow)
{
    const struct mf_span own = mf_flow_planes(flow, flow->comm->rank);
    size_t grain = 1;

    for (size_t k = 0; k < flow->levels; ++k) {
        struct mf_flow_level *l = &flow->level[k];

        l->first = (own.first + grain - 1) / grain;
        l->count = (own.count + grain - 1) / grain;
        if (k && flow->level[k - 1].whole) l->first = 0, l->count = l->n[0];
        grain *= l->by.of[0];
    }
}

static void neighbours(struct mf_flow *flow)
{
    const int me = flow->comm->rank;

    flow->ranks = 0;
    flow->below = flow->above = MF_NO_RANK;
    while (flow->ranks < flow->comm->size && mf_flow_planes(flow, flow->ranks).count) ++flow->ranks;
    if (flow->level[0].whole || me >= flow->ranks) return;
    if (me > 0 || flow->wrap[0]) flow->below = (me + flow->ranks - 1) % flow->ranks;
    if (me + 1 < flow->ranks || flow->wrap[0]) flow->above = (me + 1) % flow->ranks;
}

static void extents(struct mf_flow *flow)
{
    const int periodic = flow->opts->boundary == MF_CONDUCT_PERIODIC;
    const int fixed = flow->opts->boundary == MF_CONDUCT_CENTRES;
    const double unit = flow->micro->spacing[flow->axis];
    struct mf_flow_level *l = &flow->level[0];

    memcpy(l->n, flow->micro->slab.dims, sizeof l->n);
    for (int a = 0; a < 3; ++a) {
        const double h = flow->micro->spacing[a] / unit;

        l->weight[a] = 1 / (h * h);
        flow->wrap[a] = a == flow->axis ? periodic : periodic || flow->opts->sides_periodic;
    }
    if (flow->micro->ndim == 2) flow->wrap[0] = 0, l->weight[0] = 1;
    flow->cells = l->n[flow->axis] - (size_t)fixed;
    if (!fixed) return;
    flow->shift[flow->axis] = 1;
    l->n[flow->axis] -= 2;
}

void mf_flow_shape(struct mf_flow *flow)
{
    extents(flow);
    flow->grain = 1;
    flow->level[0].whole = is_whole(flow, &flow->level[0]);
    for (flow->levels = 1; flow->levels < MF_FLOW_LEVELS && !is_coarsest(&flow->level[flow->levels - 1]);
         ++flow->levels) {
        struct mf_flow_level *from = &flow->level[flow->levels - 1], *to = &flow->level[flow->levels];

        from->by = step_of(from);
        next_level(from, to);
        to->whole = from->whole || is_whole(flow, to);
        if (!from->whole) flow->grain *= from->by.of[0];
    }
    flow->level[flow->levels - 1].by = (struct mf_flux_step){{1, 1, 1}};
    cut(flow);
    neighbours(flow);
}

struct mf_span mf_flow_planes(const struct mf_flow *flow, int rank)
{
    const size_t n = flow->level[0].n[0];

    if (flow->level[0].whole) return (struct mf_span){0, n};
    return mf_cut_grain(n, flow->grain, (size_t)flow->comm->size, (size_t)rank);
}
