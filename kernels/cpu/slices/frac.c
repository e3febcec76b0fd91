/* Volume fraction of slices: see kernels/slices/slices.h. On level l it is the mean of the pooled slice. That is the
 * mean over its first floor(nu / 2^l) 2^l rows and floor(nv / 2^l) 2^l columns. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/slice.h"
#include "src/base/err.h"

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    double *value; /* [count_max][levels] */
    float *row;    /* slots of [wide lanes][row_size]: a row of a gradient */
    size_t row_size;
};

static void plan_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    mf_arena_give(plan->queue->arena, plan->row);
    mf_arena_give(plan->queue->arena, plan->value);
    free(plan);
}

static int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                     struct mf_slice_plan **plan)
{
    struct mf_slice_plan *p;

    MF_TRY(mf_slices_check(desc));
    p = calloc(1, sizeof *p);
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", ops->kind->what);
    p->queue = queue;
    p->desc = *desc;
    p->row_size = ((desc->nu > desc->nv ? desc->nu : desc->nv) + 15) / 16 * 16;
    p->value = mf_arena_take(queue->arena, desc->count_max * desc->levels * sizeof *p->value, "slice values");
    p->row = mf_arena_take(
        queue->arena, mf_cpu_room(queue, MF_CPU_LANES, desc->count_max) * p->row_size * sizeof *p->row, "slice rows");
    if (!p->value || !p->row) {
        plan_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

static size_t cropped(size_t n, size_t level) { return n >> level << level; }

/* Does level l look at other pixels than the level before it? */
static int differs(const struct mf_cpu_group *group, size_t l)
{
    return l == 0 || cropped(group->nu, l) != cropped(group->nu, l - 1) ||
           cropped(group->nv, l) != cropped(group->nv, l - 1);
}

static void means(void *args, const struct mf_cpu_group *group, size_t slot)
{
    const struct mf_slice_plan *plan = args;
    const size_t levels = plan->desc.levels;
    double sum[MF_CPU_LANES];

    (void)slot;
    for (size_t l = plan->desc.first; l < levels; ++l) {
        const size_t nu = cropped(group->nu, l), nv = cropped(group->nv, l);

        if (l == plan->desc.first || differs(group, l)) {
            memset(sum, 0, sizeof sum);
            mf_cpu_block_sum(MF_CPU_VALUE, (struct mf_jump){0, 0, 0},
                             &(struct mf_cpu_block){nu, group->xu, nv, group->xv, group->lanes}, group->x, group->x,
                             sum);
        }
        for (size_t s = 0; s < group->lanes; ++s)
            plan->value[(group->first + s) * levels + l] = sum[s] / ((double)nu * (double)nv);
    }
}

struct work {
    struct mf_slice_plan *plan;
    const struct mf_slice_task *task;
};

/* Adds slope[s] to every pixel of the first nu rows and nv columns. */
static void add(const struct mf_slice_plan *plan, const struct mf_cpu_group *group, size_t slot, size_t l,
                const double *slope)
{
    const size_t nu = cropped(group->nu, l), nv = cropped(group->nv, l);
    float *row = plan->row + slot * group->wide * plan->row_size;

    for (size_t v = 0; v < nv; ++v)
        for (size_t s = 0; s < group->lanes; ++s) row[v * group->lanes + s] = (float)slope[s];
    for (size_t u = 0; u < nu; ++u) mf_cpu_row_add(group, nv, row, group->g + u * group->gu);
}

static void compare(void *args, const struct mf_cpu_group *group, size_t slot)
{
    const struct work *work = args;
    const size_t levels = work->plan->desc.levels;
    double *const slope = work->plan->value + group->first * levels, sum[MF_CPU_LANES] = {0};

    means(work->plan, group, slot);
    for (size_t s = 0; s < group->lanes; ++s)
        mf_cpu_compare(work->task, &work->plan->desc, group->first + s, 1, slope + s * levels, 1);
    if (!group->g) return;
    for (size_t l = work->plan->desc.first; l < levels; ++l) {
        const double pixels = (double)cropped(group->nu, l) * (double)cropped(group->nv, l);

        for (size_t s = 0; s < group->lanes; ++s) sum[s] += slope[s * levels + l] / pixels;
        if (l + 1 < levels && !differs(group, l + 1)) continue;
        add(work->plan, group, slot, l, sum);
        memset(sum, 0, sizeof sum);
    }
}

static void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    struct work work = {plan, task};

    MF_ASSERT(task->x.count <= plan->desc.count_max);
    mf_cpu_groups(plan->queue, MF_CPU_LANES, &task->x, &task->g, compare, &work);
}

static void total(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    MF_ASSERT(x->count <= plan->desc.count_max);
    mf_cpu_groups(plan->queue, MF_CPU_LANES, x, NULL, means, plan);
    for (size_t s = 0; s < x->count; ++s)
        for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
            sum[l] += mf_compare_grain(plan->value[s * plan->desc.levels + l]);
}

const struct mf_slice_kind mf_kind_frac = {"frac", "volume fractions", mf_entries_one, mf_cost_fraction};

const struct mf_slice_ops mf_frac_cpu = {
    .kind = &mf_kind_frac,
    .plan = plan_make,
    .free = plan_free,
    .eval = eval,
    .total = total,
};
