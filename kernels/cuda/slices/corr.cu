/* S2 of slices: the table, plans, levels, and the sums made of single slices. The kernels are in corr_*.cu. */
#include <stdlib.h>

#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/corr.cuh"

namespace
{

void *take(struct mf_slice_plan *plan, size_t bytes) { return mf_arena_take(plan->queue->arena, bytes, "S2 work"); }

int memory(struct mf_slice_plan *plan)
{
    const struct mf_corr_areas *a = &plan->areas;

    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
        MF_TRY(mf_corr_lines_open(plan->queue, &a->level[l], &plan->line[l], &plan->tables[l]));
    plan->loss = static_cast<double *>(take(plan, a->loss));
    plan->values = static_cast<float *>(take(plan, a->values));
    plan->lines = static_cast<float2 *>(take(plan, a->lines));
    if (!plan->loss || !plan->values || !plan->lines) return MF_MEMORY;
    return mf_pyramid_open(&plan->pyramid, plan->queue, &plan->desc, 2);
}

void corr_free(struct mf_slice_plan *plan)
{
    struct mf_arena *arena;

    if (!plan) return;
    arena = plan->queue->arena;
    mf_backend_cuda.sync(plan->queue);
    mf_pyramid_close(&plan->pyramid, plan->queue);
    for (size_t l = 0; l < plan->desc.levels; ++l) mf_arena_give(arena, plan->tables[l]);
    mf_arena_give(arena, plan->lines);
    mf_arena_give(arena, plan->values);
    mf_arena_give(arena, plan->loss);
    free(plan);
}

int corr_plan(const struct mf_slice_ops *, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **out)
{
    struct mf_slice_plan *plan = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *plan));
    int rc;

    if (!plan) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->queue = queue;
    plan->desc = *desc;
    rc = mf_areas_corr(desc, mf_cuda_of(queue)->shared, &plan->areas);
    if (rc == MF_OK) rc = memory(plan);
    if (rc == MF_OK)
        *out = plan;
    else
        corr_free(plan);
    return rc;
}

/* -- evaluation -- */

struct finish_body {
    const double *loss; /* [levels][blocks][count_max] */
    size_t first, end, count_max;
    double *sum;
    __device__ void operator()(size_t s) const
    {
        double all = 0.0;

        for (size_t i = first; i < end; ++i) all += loss[i * count_max + s];
        sum[s] = all;
    }
};

void check(const struct mf_slice_plan *plan, const struct mf_view *x)
{
    MF_ASSERT(x->nu == plan->desc.nu && x->nv == plan->desc.nv && x->count <= plan->desc.count_max);
    MF_ASSERT(x->ss == 1 || x->sv == 1 || x->su == 1);
}

/* Slices [at, at + n) of a view, n at most `most`. */
struct mf_view part(const struct mf_view *x, size_t at, size_t most)
{
    struct mf_view v = *x;

    v.base += at * x->ss;
    v.count = x->count - at < most ? x->count - at : most;
    return v;
}

/* Level l of a task, whose slices begin at slice `first` of eval(). */
struct mf_corr_level level_of(struct mf_slice_plan *plan, const struct mf_slice_task *t, const struct mf_view *y,
                              size_t l, size_t first)
{
    struct mf_corr_level w = {};

    w.x = mf_pyramid_view(&plan->pyramid, &t->x, l, 0);
    if (y) w.y = mf_pyramid_view(&plan->pyramid, y, l, 1);
    if (t->g.base) w.g = mf_pyramid_gradient(&plan->pyramid, &t->g, l);
    if (t->g.base && l + 1 < plan->desc.levels) w.coarse = mf_pyramid_gradient(&plan->pyramid, &t->g, l + 1);
    w.add = l == 0;
    w.lag = int(plan->desc.lag);
    w.periodic = plan->desc.periodic;
    w.target = t->target ? t->target + l * plan->areas.entries : nullptr;
    w.weight = t->target ? t->weight[l] : 0.0;
    w.scale = t->scale ? t->scale + first : nullptr;
    w.power = t->power;
    w.count_max = plan->desc.count_max;
    w.loss = plan->loss + l * plan->areas.blocks * w.count_max + first;
    w.stride = plan->desc.levels * plan->areas.entries;
    w.values = t->values ? t->values + first * w.stride + l * plan->areas.entries : nullptr;
    return w;
}

/* From the coarsest level down: each gradient takes what the one before has for it. */
void run_slices(struct mf_slice_plan *plan, const struct mf_slice_task *t, const struct mf_view *y, size_t first)
{
    struct mf_corr_level level[MF_PYRAMID_MAX];

    mf_pyramid_fill(&plan->pyramid, plan->queue, &t->x, 0);
    if (y) mf_pyramid_fill(&plan->pyramid, plan->queue, y, 1);
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) level[l] = level_of(plan, t, y, l, first);
    mf_corr_compare(plan, level);
    for (size_t l = plan->desc.levels; t->g.base && l-- > plan->desc.first;) mf_corr_gradient(plan, l, level[l]);
    for (size_t l = plan->desc.first; t->g.base && l-- > 0;)
        mf_pyramid_pass(plan->queue, mf_pyramid_gradient(&plan->pyramid, &t->g, l + 1),
                        mf_pyramid_gradient(&plan->pyramid, &t->g, l), l == 0);
}

void run(struct mf_slice_plan *plan, const struct mf_slice_task *t, const struct mf_view *y)
{
    const size_t most = plan->areas.slices;

    for (size_t first = 0; first < t->x.count; first += most) {
        const struct mf_view second = y ? part(y, first, most) : mf_view{};
        struct mf_slice_task some = *t;

        some.x = part(&t->x, first, most);
        if (t->g.base) some.g = part(&t->g, first, most);
        run_slices(plan, &some, y ? &second : nullptr, first);
    }
}

void corr_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const size_t count = task->x.count;

    check(plan, &task->x);
    MF_ASSERT(task->power == 1 || task->power == 2);
    if (task->g.base) {
        check(plan, &task->g);
        MF_ASSERT(task->g.count == count);
    }
    if (!count) return;
    MF_SPOIL(task->sum, task->sum ? count * sizeof *task->sum : 0);
    run(plan, task, nullptr);
    if (task->sum)
        mf_each(plan->queue, count,
                finish_body{plan->loss, plan->desc.first * plan->areas.blocks, plan->desc.levels * plan->areas.blocks,
                            plan->desc.count_max, task->sum});
}

/* -- totals -- */

struct total_body {
    const float *values; /* [count][size] */
    size_t count, from, size;
    double *total;
    __device__ void operator()(size_t k) const
    {
        const size_t i = from + k;
        double sum = 0.0;

        for (size_t s = 0; s < count; ++s) sum += double(values[s * size + i]);
        total[i] += sum;
    }
};

void add(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total)
{
    const size_t size = plan->desc.levels * plan->areas.entries, from = plan->desc.first * plan->areas.entries;

    for (size_t at = 0; at < x->count; at += plan->areas.chunk) {
        struct mf_slice_task task = {};
        const struct mf_view second = y ? part(y, at, plan->areas.chunk) : mf_view{};

        task.x = part(x, at, plan->areas.chunk);
        task.power = 2;
        task.values = plan->values;
        run(plan, &task, y ? &second : nullptr);
        mf_each(plan->queue, size - from, total_body{plan->values, task.x.count, from, size, total});
    }
}

void corr_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total)
{
    check(plan, x);
    add(plan, x, nullptr, total);
}

void corr_cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *total)
{
    check(plan, a);
    check(plan, b);
    MF_ASSERT(a->count == b->count);
    add(plan, a, b, total);
}

} // namespace

const struct mf_slice_ops mf_corr_cuda = {
    .kind = &mf_kind_corr,
    .family = nullptr,
    .plan = corr_plan,
    .free = corr_free,
    .eval = corr_eval,
    .total = corr_total,
    .cross = corr_cross,
    .join = nullptr,
    .pull = nullptr,
    .match = nullptr,
    .cost = nullptr,
};
