/* See dry.h. Plans that take the same memory as those of the cuda back end. If a dry run needs a result (a micrograph's
 * descriptors), a plan of cpu computes it. Its memory is not counted. */
#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "kernels/slices/areas.h"
#include "src/base/err.h"

enum { AREAS = 8 + MF_PYRAMID_MAX };

/** Memory that a family takes. */
struct family {
    size_t at; /* its pointer in struct mf_slices */
    /** NULL: the cuda back end has none. */
    int (*take)(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc);
    const struct mf_packed_memory *memory; /* of take_packed(), take_vgg() */
};

struct mf_slice_plan {
    const struct family *family;
    struct mf_arena *arena;
    size_t areas;
    void *area[AREAS];
    struct mf_vgg *vgg; /* held in both memories */
    struct mf_arena *host;
    /* what computes, once it is asked for */
    const struct mf_slice_ops *ops;
    struct mf_slice_desc desc;
    struct mf_queue queue; /* a copy whose arena is not counted */
    struct mf_slice_plan *worker;
};

static int capability_of(const struct mf_queue *queue)
{
    return ((const struct mf_backend_dry *)(const void *)queue->backend)->capability;
}

static void plan_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    if (plan->worker) {
        plan->ops->free(plan->worker);
        mf_arena_close(plan->queue.arena);
    }
    while (plan->areas > 0) mf_arena_give(plan->arena, plan->area[--plan->areas]);
    if (plan->vgg) mf_vgg_let_go(plan->vgg, plan->arena);
    if (plan->vgg) mf_vgg_let_go(plan->vgg, plan->host);
    free(plan);
}

static int take(struct mf_slice_plan *plan, size_t bytes, const char *tag)
{
    void *memory = mf_arena_take(plan->arena, bytes, tag);

    if (!memory) return MF_MEMORY;
    MF_ASSERT(plan->areas < AREAS);
    plan->area[plan->areas++] = memory;
    return MF_OK;
}

static int take_pyramid(struct mf_slice_plan *plan, const struct mf_slice_desc *desc, size_t slices)
{
    struct mf_pyramid_areas a;

    mf_areas_pyramid(desc, slices, &a);
    MF_TRY(take(plan, a.bytes, "slice levels"));
    return take(plan, a.bytes, "slice levels");
}

static int take_single(struct mf_slice_plan *plan, const struct mf_slice_desc *desc, int pooled)
{
    struct mf_single_areas a;

    mf_areas_single(desc, pooled, &a);
    MF_TRY(take(plan, a.part, "slice values"));
    MF_TRY(take(plan, a.slope, "slice values"));
    return pooled ? take_pyramid(plan, desc, a.slices) : MF_OK;
}

static int take_corr(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    struct mf_corr_areas a;

    MF_TRY(mf_areas_corr(desc, mf_gpu_shared(capability_of(queue)), &a));
    for (size_t l = desc->first; l < desc->levels; ++l) MF_TRY(take(plan, a.level[l].tables, "S2 work"));
    MF_TRY(take(plan, a.loss, "S2 work"));
    MF_TRY(take(plan, a.values, "S2 work"));
    MF_TRY(take(plan, a.lines, "S2 work"));
    MF_TRY(take(plan, a.jumps, "S2 work"));
    MF_TRY(take(plan, a.slope, "S2 work"));
    return take_pyramid(plan, desc, a.slices);
}

static int take_vari(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    (void)queue;
    MF_TRY(mf_slices_check(desc));
    return take_single(plan, desc, 1);
}

static int take_frac(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    (void)queue;
    MF_TRY(mf_slices_check(desc));
    return take_single(plan, desc, 0);
}

static int take_packed(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    struct mf_packed_areas a;

    (void)queue;
    MF_TRY(mf_slices_check(desc));
    mf_areas_packed(desc, plan->family->memory, &a);
    MF_TRY(take(plan, a.pixels, "slice rows"));
    MF_TRY(take(plan, a.value, "slice values"));
    MF_TRY(take(plan, a.part, "slice values"));
    MF_TRY(take(plan, a.scratch, "slice rows"));
    return take(plan, a.table, "slice rows");
}

/* The weights are held as on the GPU, and nobody copies them. */
static int take_vgg(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    int fresh, rc;

    MF_TRY(mf_vgg_check(desc, plan->family->memory->fields == MF_PACKED_ALL));
    MF_TRY(mf_vgg_hold(desc->vgg, queue->host));
    rc = mf_vgg_hold_copy(desc->vgg, plan->arena, &fresh);
    if (rc != MF_OK) {
        mf_vgg_let_go(desc->vgg, queue->host);
        return rc;
    }
    plan->vgg = desc->vgg;
    plan->host = queue->host;
    return take_packed(plan, queue, desc);
}

static int take_patch(struct mf_slice_plan *plan, const struct mf_queue *queue, const struct mf_slice_desc *desc)
{
    struct mf_patch_areas a;

    (void)queue;
    MF_TRY(mf_slices_check(desc));
    mf_areas_patch(desc, &a);
    MF_TRY(take(plan, a.images, "example"));
    MF_TRY(take(plan, a.axes, "example"));
    MF_TRY(take(plan, a.points, "example"));
    MF_TRY(take(plan, a.pixels, "patches"));
    MF_TRY(take(plan, a.work, "patch search"));
    MF_TRY(take(plan, a.near, "patch search"));
    MF_TRY(take(plan, a.sums, "patch search"));
    MF_TRY(take(plan, a.part, "patches"));
    return take(plan, a.slope, "patches");
}

/* ---- results ---- */

static struct mf_slice_plan *worker_of(struct mf_slice_plan *plan)
{
    if (plan->worker) return plan->worker;
    if (mf_arena_open(&plan->queue.arena, NULL, 0) != MF_OK ||
        mf_slices_plan(plan->ops, &plan->queue, &plan->desc, &plan->worker) != MF_OK)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "a dry run: %s", mf_err_text());
    return plan->worker;
}

static void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    plan->ops->eval(worker_of(plan), task);
}

static void total(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    plan->ops->total(worker_of(plan), x, sum);
}

static void cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *sum)
{
    plan->ops->cross(worker_of(plan), a, b, sum);
}

static void join(struct mf_slice_plan *plan, const struct mf_view *fields, double *sum)
{
    plan->ops->join(worker_of(plan), fields, sum);
}

static void match(struct mf_slice_plan *plan, const struct mf_view *x, float *pull)
{
    plan->ops->match(worker_of(plan), x, pull);
}

/* ---- tables ---- */

static int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                     struct mf_slice_plan **out)
{
    struct mf_slice_plan *plan = calloc(1, sizeof *plan);
    int rc;

    if (!plan) return mf_fail(MF_MEMORY, "no memory for a plan");
    *plan = (struct mf_slice_plan){.family = ops->family, .arena = queue->arena, .desc = *desc, .queue = *queue};
    plan->ops = mf_slices_of(&mf_backend_cpu, plan->family->at);
    rc = plan->family->take(plan, queue, desc);
    if (rc == MF_OK)
        *out = plan;
    else
        plan_free(plan);
    return rc;
}

static struct mf_slice_ops table_of(const struct family *family)
{
    const struct mf_slice_ops *cpu = mf_slices_of(&mf_backend_cpu, family->at);

    return (struct mf_slice_ops){.kind = cpu->kind,
                                 .family = family,
                                 .plan = plan_make,
                                 .free = plan_free,
                                 .eval = cpu->eval ? eval : NULL,
                                 .total = cpu->total ? total : NULL,
                                 .cross = cpu->cross ? cross : NULL,
                                 .join = cpu->join ? join : NULL,
                                 .pull = cpu->pull,
                                 .match = cpu->match ? match : NULL};
}

/* In the order of struct mf_slices; what stays on the cores takes nothing. */
#define MF_AT(family)             offsetof(struct mf_slices, family)
#define MF_OWN(ID, family, ...)   {MF_AT(family), take_##family, NULL},
#define MF_ON_GPU(family, take)   {MF_AT(family), take, &mf_packed_##family},
#define MF_ON_CORES(family, take) {MF_AT(family), NULL, NULL},
#define MF_PACKED(ID, family, where, wo, we, c, traits, ...) \
    MF_ON_##where(family, (traits)&MF_OF_VGG ? take_vgg : take_packed)

static const struct family families[MF_FAMILIES] = {MF_LIST_FIXED(MF_OWN) MF_LIST_CROSS(MF_PACKED)
                                                        MF_LIST_FURTHER(MF_PACKED)};

void mf_dry_gpu(struct mf_backend_dry *dry)
{
    dry->backend.name = "cuda";
    mf_dry_gpu_net(&dry->net);
    dry->backend.net = &dry->net;
    for (size_t i = 0; i < MF_FAMILIES; ++i) {
        const struct mf_slice_ops *table = families[i].take ? &dry->gpu[i] : NULL;

        dry->gpu[i] = table_of(&families[i]);
        memcpy((char *)&dry->slices + families[i].at, &table, sizeof table);
    }
    dry->slices.space = &mf_space_dry;
}
