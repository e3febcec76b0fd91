/* Descriptors of slices on the shadow: see shadow.h. All families share these functions; a plan knows its own. */
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/shadow/shadow.h"
#include "kernels/slices/patch.h"
#include "src/base/err.h"

struct mf_slice_plan {
    struct mf_queue *queue;
    const struct mf_slice_ops *ops; /* of cpu */
    struct mf_slice_plan *inner;
    size_t values; /* of a slice */
    size_t phases; /* of a match */
};

static int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                     struct mf_slice_plan **plan)
{
    const struct mf_slice_ops *cpu = ops->family;
    struct mf_slice_plan *p = calloc(1, sizeof *p);
    int rc;

    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan");
    mf_shadow_enter();
    rc = mf_slices_plan(cpu, mf_shadow_inner(queue), desc, &p->inner);
    mf_shadow_leave();
    if (rc != MF_OK) {
        free(p);
        return rc;
    }
    p->queue = queue;
    p->ops = cpu;
    p->phases = desc->phases;
    p->values = desc->levels * cpu->kind->entries(desc);
    *plan = p;
    return MF_OK;
}

static void plan_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    mf_shadow_enter();
    plan->ops->free(plan->inner);
    mf_shadow_leave();
    free(plan);
}

/* All of several fields are the device's. */
static void look_at(const struct mf_slice_plan *plan, const char *name, const struct mf_view *x)
{
    for (size_t p = 0; p < plan->phases; ++p) mf_shadow_device(name, 1, (const void *const[]){x[p].base});
}

static void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    struct mf_slice_task t = *task;
    const char *name = plan->ops->kind->name;

    if (plan->ops->join) look_at(plan, name, t.fields);
    if (plan->ops->join && t.g.base) look_at(plan, name, t.slopes);
    mf_shadow_input(plan->queue, name, t.scale, t.x.count * sizeof *t.scale);
    t.sum = mf_shadow_output(plan->queue, name, t.sum, t.x.count * sizeof *t.sum);
    t.values = mf_shadow_output(plan->queue, name, t.values, t.x.count * plan->values * sizeof *t.values);
    MF_SHADOW_RUN(name, plan->ops->eval(plan->inner, &t), t.x.base, t.g.base, t.target, t.tally, t.pull, t.y.base,
                  t.h.base);
}

void mf_shadow_drain(struct mf_queue *queue, size_t n, int64_t *tally, double *sum)
{
    sum = mf_shadow_output(queue, "drain", sum, n * sizeof *sum);
    MF_SHADOW_RUN("drain", mf_backend_cpu.slices->drain(mf_shadow_inner(queue), n, tally, sum), tally);
}

static void total(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    const char *name = plan->ops->kind->name;

    sum = mf_shadow_output(plan->queue, name, sum, plan->values * sizeof *sum);
    MF_SHADOW_RUN(name, plan->ops->total(plan->inner, x, sum), x->base);
}

static void cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *sum)
{
    const char *name = plan->ops->kind->name;

    sum = mf_shadow_output(plan->queue, name, sum, plan->values * sizeof *sum);
    MF_SHADOW_RUN(name, plan->ops->cross(plan->inner, a, b, sum), a->base, b->base);
}

static void join(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    const char *name = plan->ops->kind->name;

    look_at(plan, name, x);
    sum = mf_shadow_output(plan->queue, name, sum, plan->values * sizeof *sum);
    MF_SHADOW_RUN(name, plan->ops->join(plan->inner, x, sum), x->base);
}

static void match(struct mf_slice_plan *plan, const struct mf_view *x, float *pull)
{
    const char *name = plan->ops->kind->name;

    look_at(plan, name, x);
    MF_SHADOW_RUN(name, plan->ops->match(plan->inner, x, pull), x->base, pull);
}

static void *memory(struct mf_slice_plan *plan, size_t *bytes) { return plan->ops->memory(plan->inner, bytes); }

/* A family of cpu behind the shadow's functions. NOLINTBEGIN(bugprone-macro-parentheses) */
#define BEHIND(name, ...)                                                       \
    const struct mf_slice_ops mf_##name##_shadow = {.kind = &mf_kind_##name,    \
                                                    .family = &mf_##name##_cpu, \
                                                    .plan = plan_make,          \
                                                    .free = plan_free,          \
                                                    .eval = eval,               \
                                                    __VA_ARGS__};
/* NOLINTEND(bugprone-macro-parentheses) */

BEHIND(corr, .total = total, .cross = cross)
BEHIND(vari, .total = total)
BEHIND(frac, .total = total)
BEHIND(patch, .pull = mf_patch_pull, .match = match, .memory = memory)
BEHIND(cross, .cross = cross)
BEHIND(gram_cross, .cross = cross)
BEHIND(vgg_all, .join = join)

#define MF_FAMILY(ID, family, ...) BEHIND(family, .total = total)
MF_LIST_PHASE(MF_FAMILY)
#undef MF_FAMILY
#define MF_FAMILY(ID, family, where, work, weight, compat, traits, ...) \
    BEHIND(family, .total = (traits)&MF_OF_PAIRS ? NULL : total, .cross = (traits)&MF_OF_PAIRS ? cross : NULL)
MF_LIST_COUNTED(MF_FAMILY)
