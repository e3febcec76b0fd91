/* See conduct.h: conjugate gradients. */
#include "src/prop/conduct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/base/phase.h"
#include "src/prop/flow.h"

enum { FALLS = 3 }; /* the last falls of the energy, which estimate those to come */

static const double LITTLE = 1e-3; /* times the tolerance */

static const struct mf_flux_ops *ops(const struct mf_flow *flow) { return flow->queue->backend->flux; }

/* Energies are of a difference of 1 in units where the distance between cells along the axis is 1. */
double mf_flow_conductivity(const struct mf_flow *flow, double energy)
{
    const size_t *n = flow->micro->slab.dims;
    const double area = (double)n[0] * (double)n[1] * (double)n[2] / (double)n[flow->axis];

    return energy * (double)flow->cells / area;
}

static double energy(const struct mf_flow *flow)
{
    mf_flow_border(flow, &flow->level[0], 1, flow->x);
    if (flow->level[0].count) ops(flow)->energy(flow->queue, &flow->level[0].grid, flow->x, flow->sums);
    return mf_flow_conductivity(flow, mf_flow_total(flow));
}

/* r = -A x; the potentials of the plates stand around x. */
static void residual(const struct mf_flow *flow)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;

    mf_flow_border(flow, &flow->level[0], 1, flow->x);
    if (flow->level[0].count == 0) return;
    ops(flow)->apply(flow->queue, g, flow->x, flow->z, flow->sums);
    flow->queue->backend->field->fill(flow->queue, mf_flux_all(g), 0, flow->r);
    flow->queue->backend->field->axpy(flow->queue, mf_flux_all(g), -1, flow->z, flow->r);
}

static double dot(const struct mf_flow *flow, const float *x, const float *y)
{
    if (flow->level[0].count) ops(flow)->dot(flow->queue, &flow->level[0].grid, x, y, flow->sums);
    return mf_flow_total(flow);
}

/* A step along z + beta p; z becomes A p. Returns by how much the energy falls; NAN if a number is none. */
static double step(struct mf_flow *flow, double rz, double beta)
{
    const struct mf_flux_grid *g = &flow->level[0].grid;
    const int works = flow->level[0].count > 0;
    double curvature, alpha;

    if (works) ops(flow)->turn(flow->queue, g, (float)beta, flow->z, flow->p);
    mf_flow_border(flow, &flow->level[0], 0, flow->p);
    if (works) ops(flow)->apply(flow->queue, g, flow->p, flow->z, flow->sums);
    curvature = mf_flow_total(flow);
    if (curvature <= 0) return 0;
    alpha = rz / curvature;
    if (works) ops(flow)->move(flow->queue, g, (float)alpha, flow->p, flow->z, flow->x, flow->r);
    return mf_flow_conductivity(flow, alpha * rz);
}

/* The last three falls tell those to come, at the slower of their two rates. The result is no less than the last. */
static double left_of(const double last[FALLS])
{
    const double rate = fmax(last[0] / last[1], last[1] / last[2]);

    return rate < 1 ? last[0] * fmax(1, rate / (1 - rate)) : INFINITY;
}

/* From the residual of x, whose energy is @p k, until little is left to fall. */
static int iterate(struct mf_flow *flow, double k, struct mf_conduct *out)
{
    double before = 0, last[FALLS] = {0};

    for (size_t i = 0; out->steps < MF_CONDUCT_STEPS; ++i) {
        double rz, fall;

        if (flow->opts->heeds) MF_TRY(mf_pulse_all(flow->comm, "conduction"));
        mf_flow_cycle(flow, 0, flow->z, flow->r);
        rz = dot(flow, flow->r, flow->z);
        fall = rz <= 0 ? 0 : step(flow, rz, before > 0 ? rz / before : 0);
        if (!isfinite(fall))
            return mf_fail(MF_NUMERIC, "conduction: after %zu iterations the residual is no number", out->steps);
        before = rz;
        k -= fall;
        out->left = 0;
        if (!(fall > LITTLE * flow->opts->tolerance * k)) return MF_OK; /* what is left is rounding */
        out->history[out->steps++] = k;
        memmove(last + 1, last, sizeof last - sizeof *last);
        last[0] = fall;
        out->left = left_of(last) / k;
        if (i + 1 >= FALLS && out->left < flow->opts->tolerance) return MF_OK;
    }
    return mf_fail(MF_NUMERIC, "conduction: no convergence in %d iterations; try: a larger --tolerance",
                   MF_CONDUCT_STEPS);
}

/* Rounding lets the residual of the iteration drift from that of x. Where the energy of x tells so, it begins again
 * from there, as long as the energy falls. */
int mf_flow_settle(struct mf_flow *flow, struct mf_conduct *out)
{
    const double tolerance = flow->opts->tolerance;
    double start = energy(flow), end;

    for (;;) {
        residual(flow);
        MF_TRY(iterate(flow, start, out));
        end = energy(flow);
        if (out->steps == 0 || !(fabs(end - out->history[out->steps - 1]) > tolerance * end)) break;
        if (start - end <= tolerance * end) break;
        start = end;
    }
    out->k = end < start ? end : start;
    return MF_OK;
}

/* -- fluxes -- */

/* Fluxes through all planes normal to @p axis: their sum, and how far they are apart. */
static int fluxes(const struct mf_flow *flow, int axis, double *sum, double *spread)
{
    const struct mf_flow_level *l = &flow->level[0];
    const size_t width = axis == 0 ? 1 : l->n[axis], places = l->n[axis], all = l->n[0] * width;
    double *own = mf_arena_take(flow->queue->host, l->count * width * sizeof *own, "fluxes"), low = 0, high = 0;
    double *of = own ? mf_arena_zeros(flow->arena, all, sizeof *of, "fluxes") : NULL;
    int rc = mf_agree(flow->comm, of ? MF_OK : MF_MEMORY);

    *sum = 0;
    if (rc == MF_OK && !flow->dry) {
        if (l->count) ops(flow)->flux(flow->queue, &l->grid, axis, flow->x, own);
        flow->queue->backend->sync(flow->queue);
        memcpy(of + l->first * width, own, l->count * width * sizeof *of);
        if (!l->whole) mf_comm_sum(flow->comm, all, of);
        for (size_t p = 0; p < places; ++p) {
            double flux = 0;

            for (size_t z = axis == 0 ? p : 0; z < (axis == 0 ? p + 1 : l->n[0]); ++z)
                flux += of[z * width + (axis == 0 ? 0 : p)];
            *sum += flux;
            low = p == 0 || flux < low ? flux : low;
            high = p == 0 || flux > high ? flux : high;
        }
        *spread = *sum > 0 ? (high - low) * (double)places / *sum : 0;
    }
    mf_arena_give(flow->arena, of);
    mf_arena_give(flow->queue->host, own);
    return rc;
}

/* The check of the fluxes; around a period also those along the other axes. */
static int check_fluxes(const struct mf_flow *flow, struct mf_conduct *out)
{
    const size_t *n = flow->micro->slab.dims;
    const double *h = flow->micro->spacing, voxels = (double)n[0] * (double)n[1] * (double)n[2];
    double sum, spread = 0;

    MF_TRY(fluxes(flow, flow->axis, &sum, &out->spread));
    for (int a = flow->micro->ndim == 2; a < 3 && flow->opts->boundary == MF_CONDUCT_PERIODIC; ++a) {
        MF_TRY(fluxes(flow, a, &sum, &spread));
        out->column[a] = sum * h[a] / h[flow->axis] * (double)flow->cells / voxels;
    }
    return MF_OK;
}

/* -- the whole -- */

static struct mf_phase phase = {.name = "conduction", .kind = MF_WORK};

static void set_codes(struct mf_flow *flow)
{
    const double *h = flow->micro->spacing;

    flow->binary = flow->micro->ndim == 2 ? h[1] == h[2] : h[0] == h[1] && h[1] == h[2];
    for (int p = 0; p < flow->micro->phases; ++p) {
        flow->k[p] = flow->opts->k[p];
        flow->binary &= flow->k[p] == 0 || flow->k[p] == 1;
    }
    flow->k[MF_FLOW_PLATE] = 1;
}

static int solve(struct mf_flow *flow, struct mf_conduct *out)
{
    const size_t *n = flow->micro->slab.dims;

    MF_TRY(mf_flow_codes(flow));
    MF_TRY(mf_flow_idle(flow));
    out->carries = (double)flow->carrying / ((double)n[0] * (double)n[1] * (double)n[2]);
    if (flow->carrying) MF_TRY(mf_flow_levels(flow));
    if (flow->carrying) MF_TRY(mf_flow_settle(flow, out));
    if (flow->opts->take) MF_TRY(mf_flow_fields(flow, flow->carrying > 0));
    return flow->carrying ? check_fluxes(flow, out) : MF_OK;
}

int mf_conduct(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena, const struct mf_micro *micro,
               int axis, const struct mf_conduct_opts *opts, struct mf_conduct *out)
{
    struct mf_flow flow = {.comm = comm, .queue = queue, .arena = arena, .micro = micro, .opts = opts, .axis = axis};
    int rc;
    MF_PHASE(&phase);

    *out = (struct mf_conduct){0};
    set_codes(&flow);
    mf_flow_shape(&flow);
    rc = solve(&flow, out);
    mf_flow_free(&flow);
    return rc;
}

int mf_conduct_measure(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                       const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts)
{
    struct mf_flow flow = {.comm = comm, .queue = queue, .arena = arena, .micro = micro, .opts = opts, .axis = axis};
    struct mf_conduct out;
    int rc;

    flow.dry = 1;
    set_codes(&flow);
    mf_flow_shape(&flow);
    rc = mf_flow_codes(&flow);
    if (rc == MF_OK) rc = mf_flow_idle(&flow);
    if (rc == MF_OK) rc = mf_flow_levels(&flow);
    if (rc == MF_OK) rc = check_fluxes(&flow, &out);
    mf_flow_free(&flow);
    return rc;
}
