/* Blocks of rows and pointwise work on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

#define CPU(family) (mf_backend_cpu.family)

static void pack(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed)
{
    MF_SHADOW_RUN("pack", CPU(move)->pack(mf_shadow_inner(q), block, slab, packed), slab);
}

static void add(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab)
{
    MF_SHADOW_RUN("add", CPU(move)->add(mf_shadow_inner(q), block, packed, slab), slab);
}

static void pack_device(struct mf_queue *q, const struct mf_block *block, const float *slab, float *packed)
{
    MF_SHADOW_RUN("pack_device", CPU(move)->pack(mf_shadow_inner(q), block, slab, packed), slab, packed);
}

static void add_device(struct mf_queue *q, const struct mf_block *block, const float *packed, float *slab)
{
    MF_SHADOW_RUN("add_device", CPU(move)->add(mf_shadow_inner(q), block, packed, slab), packed, slab);
}

const struct mf_move_ops mf_move_shadow = {
    .pack = pack, .add = add, .pack_device = pack_device, .add_device = add_device};

static void fill(struct mf_queue *q, size_t n, float value, float *x)
{
    MF_SHADOW_RUN("fill", CPU(field)->fill(mf_shadow_inner(q), n, value, x), x);
}

static void copy(struct mf_queue *q, size_t n, const float *x, float *y)
{
    MF_SHADOW_RUN("copy", CPU(field)->copy(mf_shadow_inner(q), n, x, y), x, y);
}

static void axpy(struct mf_queue *q, size_t n, float a, const float *x, float *y)
{
    MF_SHADOW_RUN("axpy", CPU(field)->axpy(mf_shadow_inner(q), n, a, x, y), x, y);
}

static void scale(struct mf_queue *q, size_t n, float a, float *x)
{
    MF_SHADOW_RUN("scale", CPU(field)->scale(mf_shadow_inner(q), n, a, x), x);
}

static void clamp(struct mf_queue *q, size_t n, float lo, float hi, float *x)
{
    MF_SHADOW_RUN("clamp", CPU(field)->clamp(mf_shadow_inner(q), n, lo, hi, x), x);
}

static void dot(struct mf_queue *q, struct mf_extent e, const float *x, const float *y, double *out)
{
    out = mf_shadow_output(q, "dot", out, e.planes * sizeof *out);
    MF_SHADOW_RUN("dot", CPU(field)->dot(mf_shadow_inner(q), e, x, y, out), x, y);
}

static void sum(struct mf_queue *q, struct mf_extent e, const float *x, double *out)
{
    out = mf_shadow_output(q, "sum", out, e.phases * e.planes * sizeof *out);
    MF_SHADOW_RUN("sum", CPU(field)->sum(mf_shadow_inner(q), e, x, out), x);
}

static void guide(struct mf_queue *q, struct mf_extent e, float lambda, const float *shift, const float *x, float *g,
                  double *grey, double *mean)
{
    grey = mf_shadow_output(q, "guide", grey, e.planes * sizeof *grey);
    mean = mf_shadow_output(q, "guide", mean, e.phases * e.planes * sizeof *mean);
    MF_SHADOW_RUN("guide", CPU(field)->guide(mf_shadow_inner(q), e, lambda, shift, x, g, grey, mean), x, g);
}

static void between(struct mf_queue *q, struct mf_extent e, float lo, float hi, const float *x, double *out)
{
    out = mf_shadow_output(q, "between", out, e.planes * sizeof *out);
    MF_SHADOW_RUN("between", CPU(field)->between(mf_shadow_inner(q), e, lo, hi, x, out), x);
}

static size_t broken(struct mf_queue *q, size_t n, const float *x)
{
    size_t count;

    MF_SHADOW_RUN("broken", count = CPU(field)->broken(mf_shadow_inner(q), n, x), x);
    return count;
}

static void project(struct mf_queue *q, struct mf_extent e, float *x)
{
    MF_SHADOW_RUN("project", CPU(field)->project(mf_shadow_inner(q), e, x), x);
}

const struct mf_field_ops mf_field_shadow = {
    .fill = fill,
    .copy = copy,
    .axpy = axpy,
    .scale = scale,
    .clamp = clamp,
    .dot = dot,
    .sum = sum,
    .guide = guide,
    .between = between,
    .broken = broken,
    .project = project,
};
