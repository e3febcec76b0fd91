/* S2 of slices: the table, plans, and the sums made of single slices. The transforms are in corr_*.c. */
#include "kernels/cpu/slices/corr.h"
#include "kernels/cost.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/lanes.h"
#include "kernels/form/compare.h"
#include "src/base/err.h"

enum { CHUNK_BYTES = 1 << 24 /* about what total() holds of values */, BLOCK = 64 /* entries counted at a time */ };

/* Extents of every level; refuses those on which a lag would meet itself. */
static int levels(struct mf_slice_plan *plan)
{
    const struct mf_slice_desc *d = &plan->desc;

    for (size_t l = 0; l < d->levels; ++l) {
        struct mf_corr_level *v = &plan->level[l];
        const size_t nu = d->nu >> l, nv = d->nv >> l;

        MF_TRY(mf_slices_check_lag(d, l));
        *v = (struct mf_corr_level){.nu = nu, .nv = nv, .mu = nu, .mv = nv};
        if (d->periodic) continue;
        v->mu = mf_cheap_extent(nu + d->lag - 1);
        v->mv = mf_cheap_extent(nv + d->lag - 1);
    }
    return MF_OK;
}

static void corr_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    plan->engine->close(plan);
    mf_arena_give(plan->arena, plan->values);
    free(plan->level);
    free(plan);
}

static int fill(struct mf_slice_plan *plan)
{
    size_t each = plan->entries * plan->desc.levels * sizeof(float);

    MF_ASSERT(each > 0);
    MF_TRY(levels(plan));
    plan->chunk = CHUNK_BYTES / each / 2 * 2;
    if (plan->chunk > plan->desc.count_max) plan->chunk = plan->desc.count_max + plan->desc.count_max % 2;
    if (plan->chunk < 2) plan->chunk = 2;
    plan->values = mf_arena_take(plan->arena, plan->chunk * each, "S2 work");
    if (!plan->values) return MF_MEMORY;
    return plan->engine->open(plan);
}

/* Operations per point of a transform of n points by the lanes; a prime r above 5 costs about 3 r. */
static double on_lanes(size_t n)
{
    double work = 0;

    for (size_t r = 2; n > 1; ++r)
        for (; n % r == 0; n /= r) work += r <= 5 ? 5 * log2((double)r) : 3 * (double)r;
    return work;
}

/* Our own transforms, four times as fast as FFTW (benchmarks/kernels_corr.c), unless large primes eat that up. */
static const struct mf_corr_engine *choose(const struct mf_slice_desc *desc, const struct mf_corr_engine *lanes)
{
    double own = 0, fftw = 0;

    for (size_t l = desc->first; l < desc->levels; ++l) {
        size_t nu = desc->nu >> l, nv = desc->nv >> l;

        if (nu < 2 || nv < 2) break;
        if (!desc->periodic) nu = mf_cheap_extent(nu + desc->lag - 1);
        if (!desc->periodic) nv = mf_cheap_extent(nv + desc->lag - 1);
        own += (double)nu * (double)nv * (on_lanes(nu) + on_lanes(nv));
        fftw += (double)nu * (double)nv * 4 * 5 * log2((double)nu * (double)nv);
    }
    return own <= fftw ? lanes : &mf_corr_fftw;
}

int mf_corr_plan(struct mf_queue *queue, const struct mf_slice_desc *desc, const struct mf_corr_engine *engine,
                 struct mf_slice_plan **out)
{
    struct mf_slice_plan *plan = calloc(1, sizeof *plan);
    int rc;

    MF_ASSERT(desc->lag > 0 && desc->first < desc->levels && desc->nu > 0 && desc->nv > 0);
    if (!plan) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->desc = *desc;
    plan->engine = engine;
    plan->arena = queue->arena;
    plan->threads = queue->threads > 0 ? queue->threads : 1;
    plan->deterministic = queue->deterministic || desc->steady;
    plan->entries = mf_kind_corr.entries(desc);
    plan->level = calloc(desc->levels, sizeof *plan->level);
    rc = plan->level ? fill(plan) : mf_fail(MF_MEMORY, "S2: no memory for a plan");
    if (rc == MF_OK)
        *out = plan;
    else
        corr_free(plan);
    return rc;
}

/* The family: lanes of other vectors than this machine's. */
static int corr_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                     struct mf_slice_plan **plan)
{
    const struct mf_corr_engine *lanes = ops->family ? ops->family : mf_corr_lanes();

    return mf_corr_plan(queue, desc, choose(desc, lanes), plan);
}

static void check(const struct mf_slice_plan *plan, const struct mf_view *x)
{
    MF_ASSERT(x->nu == plan->desc.nu && x->nv == plan->desc.nv);
    MF_ASSERT(x->ss == 1 || x->sv == 1 || x->su == 1);
}

/* tally += values [count][levels][entries] at the first level. Sums of grains are exact, as whole numbers. */
MF_CPU_FAST static void count_block(const struct mf_slice_plan *plan, size_t count, size_t first, size_t n,
                                    const float *values, int64_t *tally)
{
    const size_t stride = plan->desc.levels * plan->entries;
    double sum[BLOCK] = {0};

    values += plan->desc.first * plan->entries + first;
    for (size_t s = 0; s < count; ++s)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) sum[i] += mf_compare_grain((double)values[s * stride + i]);
    for (size_t i = 0; i < n; ++i) tally[first + i] += mf_compare_grains(sum[i]);
}

static void count(const struct mf_slice_plan *plan, size_t slices, const float *values, int64_t *tally)
{
#pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t i = 0; i < plan->entries; i += BLOCK)
        count_block(plan, slices, i, plan->entries - i < BLOCK ? plan->entries - i : BLOCK, values, tally);
}

/* The same slices as of one task, whose values are counted. */
static void eval_counted(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const size_t n = plan->desc.levels * plan->entries;

    for (size_t at = 0; at < task->x.count; at += plan->chunk) {
        struct mf_slice_task some = *task;

        some.x = mf_view_part(&task->x, at, plan->chunk);
        some.g = mf_view_part(&task->g, at, plan->chunk);
        some.values = task->values ? task->values + at * n : plan->values;
        if (some.scale) some.scale += at;
        if (some.sum) some.sum += at;
        plan->engine->eval(plan, &some);
        count(plan, some.x.count, some.values, task->tally);
    }
}

static void corr_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    check(plan, &task->x);
    MF_ASSERT(task->power == 1 || task->power == 2);
    if (task->g.base) {
        check(plan, &task->g);
        MF_ASSERT(task->g.count == task->x.count);
    }
    if (task->tally)
        eval_counted(plan, task);
    else
        plan->engine->eval(plan, task);
}

static void add(const struct mf_slice_plan *plan, size_t count, double *total)
{
    size_t n = plan->desc.levels * plan->entries;

    for (size_t s = 0; s < count; ++s)
        for (size_t i = plan->desc.first * plan->entries; i < n; ++i) total[i] += (double)plan->values[s * n + i];
}

/* Slices of a group: so many that going back costs little, if that leaves enough groups for the threads. */
static size_t group_of(size_t count)
{
    const size_t even = (count / MF_CORR_GROUP + 1) / 2 * 2;

    return even < 2 ? 2 : even < MF_CORR_GROUP ? even : MF_CORR_GROUP;
}

/* Sums of floats in double are exact if their exponents are close. So sums of single slices do not depend on the
 * distribution of slices to ranks. Sums of groups do, by their rounding. */
static void corr_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total)
{
    const size_t each = group_of(x->count), step = plan->deterministic ? plan->chunk : plan->chunk * each;

    check(plan, x);
    for (size_t at = 0; at < x->count; at += step) {
        struct mf_slice_task task = {.x = mf_view_part(x, at, step), .power = 2, .values = plan->values};

        if (!plan->deterministic) {
            plan->engine->total(plan, &task.x, each, plan->values);
            add(plan, (task.x.count + each - 1) / each, total);
            continue;
        }

        plan->engine->eval(plan, &task);
        add(plan, task.x.count, total);
    }
}

static void corr_cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *total)
{
    check(plan, a);
    check(plan, b);
    MF_ASSERT(a->count == b->count);
    for (size_t at = 0; at < a->count; at += plan->chunk) {
        struct mf_view pa = mf_view_part(a, at, plan->chunk), pb = mf_view_part(b, at, plan->chunk);

        plan->engine->cross(plan, &pa, &pb, plan->values);
        add(plan, pa.count, total);
    }
}

const struct mf_slice_kind mf_kind_corr = {"S2", "S2", mf_entries_window, mf_cost_s2};

const struct mf_slice_ops mf_corr_cpu = {
    .kind = &mf_kind_corr,
    .plan = corr_plan,
    .free = corr_free,
    .eval = corr_eval,
    .total = corr_total,
    .cross = corr_cross,
};
