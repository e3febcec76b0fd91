/* Strips of slices on the cpu: plans, comparison, and distribution of slices to threads. The sums are in
 * strips_text.c. */
#include "kernels/cpu/slices/strips.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/fast.h"
#include "kernels/form/compare.h"
#include "kernels/form/lag.h"
#include "src/base/bounds.h"
#include "src/base/err.h"

enum { LANES = MF_STRIP_LANES, AREA_BYTES = 4 << 20 /* about what the spectrum of a block takes: of the last cache */ };

struct mf_strip_plan {
    struct mf_strip_desc desc;
    const struct mf_strip_text *text;
    struct mf_arena *arena;
    int threads;
    size_t block, each; /* own rows at a time; floats of an area */
    struct mf_jump jump;
    struct mf_strip_level level[MF_PYRAMID_MAX];
    struct mf_line line[MF_PYRAMID_MAX];
    float *norms;
    float *memory; /* [threads][each] */
};

/* So that every array begins where a vector may. */
static size_t whole(size_t floats) { return (floats + 15) / 16 * 16; }

const struct mf_strip_text *mf_strip_text_for(const struct mf_corr_engine *lanes)
{
#ifdef __x86_64__
    if (lanes == &mf_corr_lanes16) return &mf_strip_text_16;
    if (lanes == &mf_corr_lanes8) return &mf_strip_text_8;
#endif
    (void)lanes;
    return &mf_strip_text_4;
}

static void strip_free(struct mf_strip_plan *plan)
{
    if (!plan) return;
    for (size_t l = 0; l < plan->desc.levels; ++l) mf_line_close(&plan->line[l]);
    mf_arena_give(plan->arena, plan->memory);
    mf_arena_give(plan->arena, plan->norms);
    free(plan);
}

/* Rows of a block: as many as the area holds beside the rows that every block transforms again. */
static size_t block_of(const struct mf_strip_plan *plan, size_t half)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): there is at least one level */
    const size_t grain = (size_t)1 << (plan->desc.levels - 1), reach = mf_strip_reach(plan->desc.lag);
    const size_t row = half * 2 * plan->text->width * sizeof(float), fits = AREA_BYTES / row;
    const size_t rows = mf_max(fits > 2 * reach ? fits - 2 * reach : 0, 2 * reach);

    return mf_min((rows + grain - 1) / grain * grain, mf_max(plan->desc.rows, grain));
}

/* Weights of unit jumps. */
static void jumps(const struct mf_strip_plan *plan, struct mf_strip_level *l)
{
    const double nu = (double)l->nu, nv = (double)l->nv, norm = plan->desc.smooth > 0 ? plan->jump.norm : 1;

    l->cu = l->cv = norm / (nu * nv);
    if (plan->desc.periodic) return;
    l->cu = l->nu > 1 ? norm / ((nu - 1) * nv) : 0;
    l->cv = l->nv > 1 ? norm / (nu * (nv - 1)) : 0;
}

static int level_open(struct mf_strip_plan *plan, size_t i, float *norm)
{
    const struct mf_strip_desc *d = &plan->desc;
    const size_t lag = d->lag, side = 2 * lag - 1;
    struct mf_strip_level *l = &plan->level[i];

    *l = (struct mf_strip_level){.nu = d->nu >> i, .nv = d->nv >> i, .rows = d->rows >> i, .norm = norm};
    l->mv = d->periodic || !d->s2 ? l->nv : mf_cheap_extent(l->nv + lag - 1);
    l->half = l->mv / 2 + 1;
    l->along = &plan->line[i];
    jumps(plan, l);
    for (size_t u = 0; u < lag; ++u)
        for (size_t v = 0; v < side; ++v) {
            const size_t dv = v + 1 < lag ? lag - 1 - v : v + 1 - lag;

            norm[u * side + v] = (float)(0.25 / (double)l->mv * mf_lag_norm(d->periodic, l->nu, l->nv, u, dv));
        }
    return d->s2 ? mf_line_open(&plan->line[i], l->mv, lag, plan->text->width == 16) : MF_OK;
}

/* The next array of an area, and the floats of all before it. */
static float *next(float *memory, size_t floats, size_t *used)
{
    float *at = memory ? memory + *used : NULL;

    *used += whole(floats);
    return at;
}

/* The arrays of an area, one behind the other; returns the floats of them all. @p memory NULL: to count. */
static size_t lay_out(const struct mf_strip_plan *plan, float *memory, struct mf_strip_area *area)
{
    const size_t w = plan->text->width, cell = 2 * w, reach = mf_strip_reach(plan->desc.lag);
    const struct mf_strip_level *l = plan->level;
    const size_t line = (l->mv + 1) * cell;
    size_t used = 0;

    area->spectrum = next(memory, l->half * ((plan->block + 2 * reach + 1) | 1) * cell, &used);
    area->products = next(memory, l->half * plan->desc.lag * cell, &used);
    for (size_t i = 0; i < 4; ++i) area->line[i] = next(memory, line, &used);
    for (size_t i = 0; i < 2; ++i) area->pair[i] = next(memory, line, &used);
    for (size_t i = 0; i < plan->desc.levels; ++i)
        area->gradient[i] = next(memory, (plan->block >> i) * l[i].nv * w, &used);
    area->out = next(memory, plan->block * cell, &used);
    return used;
}

static int strip_open(struct mf_strip_plan *plan)
{
    const struct mf_strip_desc *d = &plan->desc;
    const size_t each = d->lag * (2 * d->lag - 1);
    struct mf_strip_area area;

    plan->norms = mf_arena_take(plan->arena, d->levels * each * sizeof(float), "strips");
    if (!plan->norms) return MF_MEMORY;
    for (size_t l = 0; l < d->levels; ++l) MF_TRY(level_open(plan, l, plan->norms + l * each));
    plan->block = block_of(plan, plan->level->half);
    for (size_t l = 0; l < d->levels; ++l)
        plan->level[l].zs = ((plan->block >> l) + 2 * mf_strip_reach(d->lag) + 1) | 1;
    plan->each = lay_out(plan, NULL, &area);
    plan->memory = mf_arena_take(plan->arena, (size_t)plan->threads * plan->each * sizeof(float), "strips");
    return plan->memory ? MF_OK : MF_MEMORY;
}

/* No more than there are vectors of slices. */
static int threads_of(const struct mf_queue *queue, size_t vectors)
{
    return queue->threads < 1 || vectors < 1 ? 1 : (int)mf_min((size_t)queue->threads, vectors);
}

static int strip_plan(const struct mf_strip_ops *ops, struct mf_queue *queue, const struct mf_strip_desc *desc,
                      struct mf_strip_plan **out)
{
    struct mf_strip_plan *plan = calloc(1, sizeof *plan);
    int rc;

    MF_ASSERT(desc->lag > 0 && desc->levels > 0 && desc->levels <= MF_PYRAMID_MAX);
    MF_ASSERT(desc->rows % ((size_t)1 << (desc->levels - 1)) == 0);
    if (!plan) return mf_fail(MF_MEMORY, "no memory for a plan of strips");
    plan->desc = *desc;
    plan->text = ops->text ? ops->text : mf_strip_text_for(mf_corr_lanes());
    plan->arena = queue->arena;
    plan->threads = threads_of(queue, (desc->slices + plan->text->width - 1) / plan->text->width);
    plan->jump = mf_jump_of(desc->smooth);
    rc = strip_open(plan);
    if (rc == MF_OK)
        *out = plan;
    else
        strip_free(plan);
    return rc;
}

/* Slices to threads, a vector of them at a time. */
static void each_vector(const struct mf_strip_plan *plan, const struct mf_strip_job *all,
                        void (*work)(const struct mf_strip_job *job, const struct mf_strip_area *area))
{
    const size_t w = plan->text->width, n = (plan->desc.slices + w - 1) / w;
    const size_t each = plan->desc.levels * mf_strip_entries(plan->desc.lag) * LANES;

#pragma omp parallel num_threads(plan->threads)
    {
        struct mf_strip_area area;

        lay_out(plan, plan->memory + (size_t)omp_get_thread_num() * plan->each, &area);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < n; ++i) {
            struct mf_strip_job job = *all;

            job.first = i * w;
            job.count = mf_min(w, plan->desc.slices - job.first);
            job.sums += job.first / LANES * each + job.first % LANES;
            work(&job, &area);
        }
    }
}

static struct mf_strip_job job_of(const struct mf_strip_plan *plan, const struct mf_strip_rows *level, float *sums)
{
    return (struct mf_strip_job){.desc = &plan->desc,
                                 .level = plan->level,
                                 .rows = level,
                                 .block = plan->block,
                                 .jump = plan->jump,
                                 .sums = sums};
}

/* Middle of the windows of level @p l. */
static double middle_of(const struct mf_strip_plan *plan, const float *target, size_t l)
{
    const size_t side = 2 * plan->desc.lag - 1;

    return mf_lag_middle(plan->desc.periodic, side, target + l * side * side);
}

static void strip_values(struct mf_strip_plan *plan, const struct mf_strip_rows *level, const float *target,
                         float *sums)
{
    struct mf_strip_job job = job_of(plan, level, sums);

    for (size_t l = 0; plan->desc.s2 && l < plan->desc.levels; ++l) job.middle[l] = middle_of(plan, target, l);
    each_vector(plan, &job, plan->text->values);
}

static void strip_gradient(struct mf_strip_plan *plan, const struct mf_strip_rows *level, const float *sums, float *g,
                           size_t su)
{
    struct mf_strip_job job = job_of(plan, level, (float *)(uintptr_t)sums); /* read alone */

    job.g = g;
    job.su = su;
    each_vector(plan, &job, plan->text->gradient);
}

/* -- pyramid -- */

MF_CPU_FAST static void coarsen_side(size_t n, const float *restrict a, const float *restrict b, size_t next,
                                     float *restrict to)
{
#pragma omp simd
    for (size_t s = 0; s < n; ++s) to[s] = 0.25f * ((a[s] + a[next + s]) + (b[s] + b[next + s]));
}

MF_CPU_FAST static void coarsen_row(size_t n, const float *restrict a, const float *restrict b, float *restrict to)
{
#pragma omp simd
    for (size_t v = 0; v < n; ++v) to[v] = 0.25f * ((a[2 * v] + a[2 * v + 1]) + (b[2 * v] + b[2 * v + 1]));
}

static void strip_coarsen(struct mf_queue *queue, int side, size_t slices, size_t nv, size_t rows, const float *fine,
                          float *coarse)
{
    const size_t from = slices * nv, to = slices * (nv / 2);

#pragma omp parallel for num_threads(queue->threads > 0 ? queue->threads : 1) schedule(static)
    for (size_t u = 0; u < rows; ++u) {
        const float *a = fine + 2 * u * from, *b = a + from;
        float *out = coarse + u * to;

        for (size_t v = 0; side && v < nv / 2; ++v)
            coarsen_side(slices, a + 2 * v * slices, b + 2 * v * slices, slices, out + v * slices);
        for (size_t s = 0; !side && s < slices; ++s) coarsen_row(nv / 2, a + s * nv, b + s * nv, out + s * (nv / 2));
    }
}

/* -- comparison -- */

/* One lag of 16 slices: its part of A, counted @p times, and what it is worth. */
MF_CPU_FAST static void compare_lag(float *restrict x, float norm, float target, float w, int power, float times,
                                    const float *restrict back, double *restrict a)
{
#pragma omp simd
    for (size_t j = 0; j < LANES; ++j) {
        const float e = w * (x[j] * norm - target), slope = power == 1 ? (float)((e > 0) - (e < 0)) : 2 * e;

        a[j] += times * (power == 1 ? fabs((double)e) : (double)e * (double)e);
        x[j] = w * slope * norm * back[j];
    }
}

static void compare_windows(const struct mf_strip_plan *plan, const struct mf_strip_task *t, size_t l, float *x,
                            const float *back, double *a)
{
    const size_t lag = plan->desc.lag, side = 2 * lag - 1;
    const float *target = t->target[0] + (l * side + lag - 1) * side, *norm = plan->level[l].norm;
    const double middle = middle_of(plan, t->target[0], l);

    for (size_t i = 0; i < lag * side; ++i, x += LANES)
        compare_lag(x, norm[i], (float)((double)target[i] - middle), (float)t->weight[0][l], t->power, i < side ? 1 : 2,
                    back, a);
}

static void compare_jumps(const struct mf_strip_plan *plan, const struct mf_strip_task *t, size_t l, float *x,
                          const float *scale, double *a)
{
    const struct mf_strip_level *at = &plan->level[l];
    const double w = t->weight[1][l];

    for (size_t j = 0; j < LANES; ++j) {
        const double e = w * (at->cu * (double)x[j] + at->cv * (double)x[LANES + j] - (double)t->target[1][l]);
        const double slope = w * mf_compare_slope(t->power, e) * (double)scale[j];

        a[j] += mf_compare_loss(t->power, e);
        x[j] = (float)(at->cu * slope);
        x[LANES + j] = (float)(at->cv * slope);
    }
}

static void compare_group(const struct mf_strip_plan *plan, const struct mf_strip_task *t, size_t first, float *x)
{
    const size_t n = mf_min(LANES, plan->desc.slices - first), entries = mf_strip_entries(plan->desc.lag);
    double a[2][LANES] = {{0}};
    float scale[LANES] = {0}, back[LANES] = {0};

    for (size_t j = 0; j < n; ++j) {
        scale[j] = (float)t->scale[first + j];
        back[j] = 2 * scale[j]; /* a window is symmetric, and a pixel is at both ends of its pairs */
    }
    for (size_t l = 0; l < plan->desc.levels; ++l, x += entries * LANES) {
        if (plan->desc.s2) compare_windows(plan, t, l, x, back, a[0]);
        if (plan->desc.variation) compare_jumps(plan, t, l, x + (entries - 2) * LANES, scale, a[1]);
    }
    for (size_t k = 0; k < 2; ++k)
        for (size_t j = 0; j < n && t->sum[k]; ++j) t->sum[k][first + j] = a[k][j];
}

static void strip_compare(struct mf_strip_plan *plan, const struct mf_strip_task *task, float *sums)
{
    const size_t each = plan->desc.levels * mf_strip_entries(plan->desc.lag) * LANES;

#pragma omp parallel for num_threads(plan->threads) schedule(static)
    for (size_t s = 0; s < plan->desc.slices; s += LANES) compare_group(plan, task, s, sums + s / LANES * each);
}

const struct mf_strip_ops mf_strip_cpu = {.plan = strip_plan,
                                          .free = strip_free,
                                          .coarsen = strip_coarsen,
                                          .values = strip_values,
                                          .compare = strip_compare,
                                          .gradient = strip_gradient};
