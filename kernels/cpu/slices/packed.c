/* See packed.h. */
#include "kernels/cpu/slices/packed.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/slice.h"
#include "kernels/form/compare.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { ALIGN = 16 /* floats */, SERIAL = 1 << 17 /* pixels times entries: below, threads cost more than they save */ };

static size_t aligned(size_t floats) { return (floats + ALIGN - 1) / ALIGN * ALIGN; }

void mf_cpu_packed_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    if (plan->family->close) plan->family->close(plan);
    mf_arena_give(plan->queue->arena, plan->area);
    mf_arena_give(plan->queue->arena, plan->value);
    free(plan);
}

static size_t fields_of(const struct mf_slice_plan *plan) { return plan->triple ? 3 : plan->pair ? 2 : 1; }

static int take(struct mf_slice_plan *p)
{
    const struct mf_slice_desc *d = &p->desc;

    if (p->family->open) MF_TRY(p->family->open(p));
    for (size_t l = 0; l < d->levels; ++l) p->pixels += aligned((d->nu >> l) * (d->nv >> l));
    p->size = 2 * fields_of(p) * p->pixels + aligned(p->scratch);
    p->slots = (size_t)p->queue->threads < d->count_max ? (size_t)p->queue->threads : d->count_max;
    if (p->slots == 0) p->slots = 1;
    p->value = mf_arena_take(p->queue->arena, p->slots * d->levels * p->entries * sizeof *p->value, "slice values");
    p->area = mf_arena_take(p->queue->arena, p->slots * p->size * sizeof *p->area, "slice rows");
    return p->value && p->area ? MF_OK : MF_MEMORY;
}

int mf_cpu_packed_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                       struct mf_slice_plan **plan)
{
    struct mf_slice_plan *p;
    int rc;

    MF_TRY(mf_slices_check(desc));
    p = calloc(1, sizeof *p);
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", ops->kind->what);
    p->queue = queue;
    p->desc = *desc;
    p->kind = ops->kind;
    p->family = ops->family;
    p->entries = ops->kind->entries(desc);
    rc = take(p);
    if (rc == MF_OK)
        *plan = p;
    else
        mf_cpu_packed_free(p);
    return rc;
}

/* -- a slice and its pyramid -- */

/* Field f of a slot: its levels, and then their gradients. */
static float *field_of(const struct mf_slice_plan *plan, size_t slot, size_t f)
{
    return f < fields_of(plan) ? plan->area + slot * plan->size + 2 * f * plan->pixels : NULL;
}

static void levels_of(const struct mf_slice_plan *plan, size_t slot, struct mf_cpu_level *level)
{
    float *x = field_of(plan, slot, 0), *y = field_of(plan, slot, 1), *z = field_of(plan, slot, 2);
    size_t at = 0;

    for (size_t l = 0; l < plan->desc.levels; ++l) {
        const size_t nu = plan->desc.nu >> l, nv = plan->desc.nv >> l, g = at + plan->pixels;

        level[l] = (struct mf_cpu_level){
            nu, nv, x + at, x + g, y ? y + at : NULL, z ? z + at : NULL, y ? y + g : NULL, z ? z + g : NULL};
        at += aligned(nu * nv);
    }
}

static void gather(const struct mf_view *x, size_t s, float *restrict to)
{
    const float *from = x->base + s * x->ss;

    for (size_t u = 0; u < x->nu; ++u)
        for (size_t v = 0; v < x->nv; ++v) to[u * x->nv + v] = from[u * x->su + v * x->sv];
}

static void scatter(const struct mf_view *g, size_t s, const float *restrict from)
{
    float *to = g->base + s * g->ss;

    for (size_t u = 0; u < g->nu; ++u)
        for (size_t v = 0; v < g->nv; ++v) to[u * g->su + v * g->sv] += from[u * g->nv + v];
}

/* A family reads the pixels; here they are made. */
static float *made(const float *pixels) { return (float *)(uintptr_t)pixels; }

static void clear(const struct mf_cpu_level *level)
{
    for (size_t i = 0; i < level->nu * level->nv; ++i) level->g[i] = 0;
    for (size_t i = 0; level->h && i < level->nu * level->nv; ++i) level->h[i] = 0;
    for (size_t i = 0; level->k && i < level->nu * level->nv; ++i) level->k[i] = 0;
}

static struct mf_cpu_job job_of(const struct mf_slice_plan *plan, const struct mf_cpu_level *level, size_t slot,
                                int threads)
{
    float *scratch = plan->area + (slot + 1) * plan->size - aligned(plan->scratch);

    return (struct mf_cpu_job){plan, level, scratch, threads, slot};
}

/* A job for each level, or one for all. */
static size_t first_job(const struct mf_slice_plan *plan) { return plan->together ? 0 : plan->desc.first; }
static size_t end_of_jobs(const struct mf_slice_plan *plan) { return plan->together ? 1 : plan->desc.levels; }

/* The fields that a family looks at, among those of a caller. */
struct fields {
    const struct mf_view *at[MF_CPU_FIELDS];
};

static struct fields fields_among(const struct mf_slice_plan *plan, const struct mf_view *all)
{
    return (struct fields){{&all[plan->field[0]], &all[plan->field[1]], &all[plan->field[2]]}};
}

static void pool(const struct mf_cpu_level *fine, const struct mf_cpu_level *to)
{
    mf_cpu_coarsen(fine->nu, fine->nv, fine->x, made(to->x));
    if (to->y) mf_cpu_coarsen(fine->nu, fine->nv, fine->y, made(to->y));
    if (to->z) mf_cpu_coarsen(fine->nu, fine->nv, fine->z, made(to->z));
}

/* D of slice s on all levels into the slot's values. */
static double *values(const struct mf_slice_plan *plan, const struct fields *x, size_t s, size_t slot, int threads)
{
    double *d = plan->value + slot * plan->desc.levels * plan->entries;
    struct mf_cpu_level level[MF_PYRAMID_MAX];

    levels_of(plan, slot, level);
    for (size_t f = 0; f < fields_of(plan); ++f) gather(x->at[f], s, field_of(plan, slot, f));
    for (size_t l = 1; l < plan->desc.levels; ++l) pool(&level[l - 1], &level[l]);
    for (size_t l = first_job(plan); l < end_of_jobs(plan); ++l) {
        const struct mf_cpu_job job = job_of(plan, &level[l], slot, threads);

        plan->family->value(&job, d + l * plan->entries);
    }
    return d;
}

/* -- gradients -- */

static void spread(const struct mf_cpu_level *coarse, const struct mf_cpu_level *to)
{
    mf_cpu_spread(to->nu, to->nv, 0.25f, coarse->g, to->g);
    if (to->h) mf_cpu_spread(to->nu, to->nv, 0.25f, coarse->h, to->h);
    if (to->k) mf_cpu_spread(to->nu, to->nv, 0.25f, coarse->k, to->k);
}

static void gradients(const struct mf_slice_plan *plan, const struct fields *g, size_t s, size_t slot, int threads)
{
    const double *slope = plan->value + slot * plan->desc.levels * plan->entries;
    struct mf_cpu_level level[MF_PYRAMID_MAX];

    levels_of(plan, slot, level);
    for (size_t l = 0; l < plan->desc.levels; ++l) clear(&level[l]);
    for (size_t l = first_job(plan); l < end_of_jobs(plan); ++l) {
        const struct mf_cpu_job job = job_of(plan, &level[l], slot, threads);

        plan->family->gradient(&job, slope + l * plan->entries);
    }
    for (size_t l = plan->desc.levels; l-- > 1;) spread(&level[l], &level[l - 1]);
    for (size_t f = 0; f < fields_of(plan); ++f) scatter(g->at[f], s, field_of(plan, slot, f) + plan->pixels);
}

static void slice(const struct mf_slice_plan *plan, const struct mf_slice_task *task, size_t s, size_t slot,
                  int threads)
{
    const struct fields pair[2] = {{{&task->x, &task->y, NULL}}, {{&task->g, &task->h, NULL}}};
    const struct fields x = plan->family->all ? fields_among(plan, task->fields) : pair[0];
    double *d = values(plan, &x, s, slot, threads);

    mf_cpu_compare(task, &plan->desc, s, plan->entries, d, threads);
    if (task->g.base) {
        const struct fields g = plan->family->all ? fields_among(plan, task->slopes) : pair[1];

        gradients(plan, &g, s, slot, threads);
    }
}

/* Threads for @p count slices: a thread for each of several; those of a single one are the family's. */
static int threads_for(const struct mf_slice_plan *plan, size_t count)
{
    const double work = (double)count * (double)plan->desc.nu * (double)plan->desc.nv * (double)plan->entries;

    return work < SERIAL ? 1 : plan->queue->threads;
}

void mf_cpu_packed_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const int wanted = threads_for(plan, task->x.count);
    const size_t threads = (size_t)wanted < task->x.count ? (size_t)wanted : task->x.count;
    size_t taken = 0;

    MF_ASSERT(task->x.count <= plan->desc.count_max && (!task->g.base || plan->family->gradient));
    if (threads < 2) {
        for (size_t s = 0; s < task->x.count; ++s) {
            mf_pulse_tell("evaluation");
            slice(plan, task, s, 0, wanted);
        }
        return;
    }
#pragma omp parallel num_threads((int)threads)
    {
        size_t slot;

#pragma omp atomic capture
        slot = taken++;
#pragma omp for schedule(dynamic, 1)
        for (size_t s = 0; s < task->x.count; ++s) slice(plan, task, s, slot, 1);
    }
}

static void add_values(struct mf_slice_plan *plan, const struct fields *x, double *total)
{
    const size_t n = plan->desc.levels * plan->entries;
    const double most = plan->family->most > 0 ? plan->family->most : 1;
    int stopped = 0;

    MF_ASSERT(x->at[0]->count <= plan->desc.count_max);
    for (size_t at = 0; at < x->at[0]->count; at += plan->slots) {
        const size_t left = x->at[0]->count - at, count = left < plan->slots ? left : plan->slots;

        const int wanted = threads_for(plan, count);

        if (mf_cpu_breaks("measuring", &stopped)) return;
        if (count < 2)
            (void)values(plan, x, at, 0, wanted);
        else {
#pragma omp parallel for num_threads(wanted < (int)count ? wanted : (int)count) schedule(static)
            for (size_t k = 0; k < count; ++k) (void)values(plan, x, at + k, k, 1);
        }
        for (size_t k = 0; k < count; ++k)
            for (size_t i = plan->desc.first * plan->entries; i < n; ++i)
                total[i] += most * mf_compare_grain(plan->value[k * n + i] / most);
    }
}

void mf_cpu_packed_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total)
{
    MF_ASSERT(fields_of(plan) == 1 && !plan->family->all);
    add_values(plan, &(struct fields){{x, NULL, NULL}}, total);
}

void mf_cpu_packed_cross(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total)
{
    MF_ASSERT(plan->pair);
    add_values(plan, &(struct fields){{x, y, NULL}}, total);
}

void mf_cpu_packed_join(struct mf_slice_plan *plan, const struct mf_view *fields, double *total)
{
    const struct fields x = fields_among(plan, fields);

    MF_ASSERT(plan->family->all);
    add_values(plan, &x, total);
}

/* -- frames -- */

/* Column -left of a frame, in [0, nv). */
static size_t leftmost(const struct mf_cpu_frame *f, size_t nv) { return (nv - f->left % nv) % nv; }

void mf_cpu_frame_fill(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, float *base)
{
    const size_t stride = mf_cpu_frame_stride(f, level->nv), nu = level->nu, nv = level->nv;
    const size_t all = f->left + nv + f->right;

    for (size_t u = 0; u < nu + f->below; ++u) {
        const float *from = level->x + u % nu * nv;
        float *to = base + u * stride;

        memset(to, 0, stride * sizeof *to);
        if (!periodic && u < nu) memcpy(to + f->left, from, nv * sizeof *to);
        for (size_t i = 0, v = leftmost(f, nv), n; periodic && i < all; i += n, v = 0) {
            n = nv - v < all - i ? nv - v : all - i;
            memcpy(to + i, from + v, n * sizeof *to);
        }
    }
}

MF_CPU_FAST static void add_run(size_t n, const float *restrict from, float *restrict to)
{
    for (size_t i = 0; i < n; ++i) to[i] += from[i];
}

void mf_cpu_frame_fold(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, const float *base)
{
    const size_t stride = mf_cpu_frame_stride(f, level->nv), nu = level->nu, nv = level->nv;
    const size_t all = f->left + nv + f->right;

    for (size_t u = 0; u < (periodic ? nu + f->below : nu); ++u) {
        const float *from = base + u * stride;
        float *to = level->g + u % nu * nv;

        if (!periodic) add_run(nv, from + f->left, to);
        for (size_t i = 0, v = leftmost(f, nv), n; periodic && i < all; i += n, v = 0) {
            n = nv - v < all - i ? nv - v : all - i;
            add_run(n, from + i, to + v);
        }
    }
}
