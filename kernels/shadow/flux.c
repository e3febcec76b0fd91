/* Conduction on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

#define CPU(kernel) (mf_backend_cpu.flux->kernel)
#define GRID(g)     (g)->count, (g)->c[0], (g)->c[1], (g)->c[2], (g)->w

static void relax(struct mf_queue *q, const struct mf_flux_grid *g, int colour, const float *b, float *x)
{
    MF_SHADOW_RUN("relax", CPU(relax)(mf_shadow_inner(q), g, colour, b, x), GRID(g), b, x);
}

static void relax_both(struct mf_queue *q, const struct mf_flux_grid *g, int first, const float *b, float *x)
{
    MF_SHADOW_RUN("relax_both", CPU(relax_both)(mf_shadow_inner(q), g, first, b, x), GRID(g), b, x);
}

static void begin(struct mf_queue *q, const struct mf_flux_grid *g, const float *b, float *x)
{
    MF_SHADOW_RUN("begin", CPU(begin)(mf_shadow_inner(q), g, b, x), GRID(g), b, x);
}

static void restrict_to(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                        struct mf_flux_step by, const float *b, const float *x, float *out)
{
    MF_SHADOW_RUN("restrict_to", CPU(restrict_to)(mf_shadow_inner(q), g, coarse, by, b, x, out), GRID(g), b, x, out);
}

static void descend(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                    struct mf_flux_step by, const float *b, float *x, float *out)
{
    MF_SHADOW_RUN("descend", CPU(descend)(mf_shadow_inner(q), g, coarse, by, b, x, out), GRID(g), b, x, out);
}

static void add(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                struct mf_flux_step by, const float *from, float *x)
{
    MF_SHADOW_RUN("add", CPU(add)(mf_shadow_inner(q), g, coarse, by, from, x), GRID(g), from, x);
}

static void apply(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, float *y, double *out)
{
    out = mf_shadow_output(q, "apply", out, g->n[0] * sizeof *out);
    MF_SHADOW_RUN("apply", CPU(apply)(mf_shadow_inner(q), g, x, y, out), GRID(g), x, y);
}

static void dot(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, const float *y, double *out)
{
    out = mf_shadow_output(q, "dot", out, g->n[0] * sizeof *out);
    MF_SHADOW_RUN("dot", CPU(dot)(mf_shadow_inner(q), g, x, y, out), x, y);
}

static void move(struct mf_queue *q, const struct mf_flux_grid *g, float a, const float *p, const float *y, float *x,
                 float *r)
{
    MF_SHADOW_RUN("move", CPU(move)(mf_shadow_inner(q), g, a, p, y, x, r), p, y, x, r);
}

static void turn(struct mf_queue *q, const struct mf_flux_grid *g, float b, const float *z, float *p)
{
    MF_SHADOW_RUN("turn", CPU(turn)(mf_shadow_inner(q), g, b, z, p), z, p);
}

static void wrap(struct mf_queue *q, const struct mf_flux_grid *g, int axis, float jump, float *x)
{
    MF_SHADOW_RUN("wrap", CPU(wrap)(mf_shadow_inner(q), g, axis, jump, x), g->count, x);
}

static void lift(struct mf_queue *q, const struct mf_flux_grid *g, ptrdiff_t z, float jump, float *x)
{
    MF_SHADOW_RUN("lift", CPU(lift)(mf_shadow_inner(q), g, z, jump, x), g->count, x);
}

static void coarsen(struct mf_queue *q, const struct mf_flux_grid *g, struct mf_flux_step by,
                    const struct mf_flux_grid *coarse)
{
    MF_SHADOW_RUN("coarsen", CPU(coarsen)(mf_shadow_inner(q), g, by, coarse), GRID(g), coarse->c[0], coarse->c[1],
                  coarse->c[2]);
}

static void finish(struct mf_queue *q, const struct mf_flux_grid *g)
{
    MF_SHADOW_RUN("finish", CPU(finish)(mf_shadow_inner(q), g), GRID(g));
}

static void energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out)
{
    out = mf_shadow_output(q, "energy", out, g->n[0] * sizeof *out);
    MF_SHADOW_RUN("energy", CPU(energy)(mf_shadow_inner(q), g, x, out), GRID(g), x);
}

static void flux(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out)
{
    out = mf_shadow_output(q, "flux", out, g->n[0] * (axis == 0 ? 1 : g->n[axis]) * sizeof *out);
    MF_SHADOW_RUN("flux", CPU(flux)(mf_shadow_inner(q), g, axis, x, out), GRID(g), x);
}

const struct mf_flux_ops mf_flux_shadow = {
    .relax = relax,
    .relax_both = relax_both,
    .begin = begin,
    .restrict_to = restrict_to,
    .descend = descend,
    .add = add,
    .apply = apply,
    .dot = dot,
    .move = move,
    .turn = turn,
    .wrap = wrap,
    .lift = lift,
    .coarsen = coarsen,
    .finish = finish,
    .energy = energy,
    .flux = flux,
};
