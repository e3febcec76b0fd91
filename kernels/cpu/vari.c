/* Interface density of slices: see kernels/slices.h.
 *   V = cu sum |x(u+1,v) - x(u,v)| + cv sum |x(u,v+1) - x(u,v)|
 * cu = cv = 1 / (nu nv) on a periodic slice, else one over the number of jumps of that kind. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slice.h"
#include "src/base/err.h"

/* One level of a group: pixel (u, v) of lane s is x[u * xu + v * xv + s]; g lies densely, [nu][nv][lanes]. */
struct level {
    size_t nu, nv, xu, xv;
    const float *x;
    float *g; /* NULL on level 0 */
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct mf_jump jump;
    size_t lanes;     /* most slices of a group */
    size_t pool, row; /* floats of a thread: pooled slices or their gradients; a row of slopes */
    size_t size;      /* floats of a thread altogether */
    float *scratch;   /* [threads][size]: pooled x, pooled g, then five rows */
    double *value;    /* [count_max][levels] */
};

static size_t entries(const struct mf_slice_desc *desc)
{
    (void)desc;
    return 1;
}

static void plan_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    mf_arena_give(plan->queue->arena, plan->scratch);
    mf_arena_give(plan->queue->arena, plan->value);
    free(plan);
}

static void sizes(struct mf_slice_plan *p)
{
    const size_t longest = p->desc.nu > p->desc.nv ? p->desc.nu : p->desc.nv;

    p->lanes = p->desc.levels > 1 ? MF_CPU_LANES / 2 : MF_CPU_LANES;
    for (size_t l = 1; l < p->desc.levels; ++l) p->pool += (p->desc.nu >> l) * (p->desc.nv >> l) * p->lanes;
    p->row = (longest + 2) * p->lanes;
    p->size = (2 * p->pool + 5 * p->row + 15) / 16 * 16;
}

static int plan_make(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    struct mf_slice_plan *p;

    MF_TRY(mf_cpu_slices_check(desc));
    p = calloc(1, sizeof *p);
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of interface densities");
    p->queue = queue;
    p->desc = *desc;
    p->jump = mf_jump_of(desc->smooth);
    sizes(p);
    p->value = mf_arena_take(queue->arena, desc->count_max * desc->levels * sizeof *p->value, "slice values");
    p->scratch = mf_arena_take(queue->arena, (size_t)queue->threads * p->size * sizeof *p->scratch, "slice rows");
    if (!p->value || !p->scratch) {
        plan_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

/* -- levels -- */

static void levels_of(const struct mf_slice_plan *plan, const struct mf_cpu_group *group, int thread,
                      struct level *level)
{
    float *x = plan->scratch + (size_t)thread * plan->size, *g = x + plan->pool;

    level[0] = (struct level){group->nu, group->nv, group->xu, group->xv, group->x, NULL};
    for (size_t l = 1; l < plan->desc.levels; ++l) {
        const size_t nu = group->nu >> l, nv = group->nv >> l, size = nu * nv * group->lanes;

        level[l] = (struct level){nu, nv, nv * group->lanes, group->lanes, x, g};
        x += size;
        g += size;
    }
}

/* Row u of the next level: means of 2 x 2 pixels. */
MF_CPU_FAST static void pool_row(size_t nv, size_t lanes, size_t stride, const float *restrict a,
                                 const float *restrict b, float *restrict out)
{
    if (stride == 1) {
#pragma omp simd
        for (size_t v = 0; v < nv; ++v) out[v] = 0.25f * ((a[2 * v] + a[2 * v + 1]) + (b[2 * v] + b[2 * v + 1]));
        return;
    }
    for (size_t v = 0; v < nv; ++v) {
        const float *p = a + 2 * v * stride, *q = b + 2 * v * stride;

#pragma omp simd
        for (size_t s = 0; s < lanes; ++s)
            out[v * lanes + s] = 0.25f * ((p[s] + p[stride + s]) + (q[s] + q[stride + s]));
    }
}

static void pool(const struct level *fine, const struct level *coarse, size_t lanes, size_t u)
{
    const float *row = fine->x + 2 * u * fine->xu;

    pool_row(coarse->nv, lanes, fine->xv, row, row + fine->xu, (float *)(uintptr_t)coarse->x + u * coarse->xu);
}

/* -- values -- */

/* What a unit jump along u and along v counts. */
static void weights(const struct mf_slice_plan *plan, const struct level *level, double *cu, double *cv)
{
    const double nu = (double)level->nu, nv = (double)level->nv, norm = plan->desc.smooth > 0 ? plan->jump.norm : 1.0;

    if (plan->desc.periodic) {
        *cu = *cv = norm / (nu * nv);
        return;
    }
    *cu = level->nu > 1 ? norm / ((nu - 1) * nv) : 0.0;
    *cv = level->nv > 1 ? norm / (nu * (nv - 1)) : 0.0;
}

struct sums {
    double u[MF_CPU_LANES], v[MF_CPU_LANES];
};

/* Adds the jumps from row u to the next, and those inside row u. */
static void add_row(const struct mf_slice_plan *plan, const struct level *level, size_t lanes, size_t u,
                    struct sums *sums)
{
    const enum mf_cpu_term term = plan->desc.smooth > 0 ? MF_CPU_SOFT : MF_CPU_HARD;
    const float *row = level->x + u * level->xu, *next = u + 1 < level->nu ? row + level->xu : level->x;
    const size_t stride = level->xv, last = (level->nv - 1) * stride;
    const int seam = plan->desc.periodic && plan->desc.seam;
    double across[MF_CPU_LANES] = {0};

    if (u + 1 < level->nu || plan->desc.periodic) {
        mf_cpu_row_sum(term, plan->jump, level->nv, lanes, stride, next, row, sums->u);
        if (seam) mf_cpu_row_sum(term, plan->jump, 1, lanes, stride, next, row, sums->u);
    }
    mf_cpu_row_sum(term, plan->jump, level->nv - 1, lanes, stride, row + stride, row, across);
    if (plan->desc.periodic) mf_cpu_row_sum(term, plan->jump, 1, lanes, stride, row, row + last, across);
    for (size_t s = 0; s < lanes; ++s) sums->v[s] += seam && u == 0 ? 2.0 * across[s] : across[s];
}

static void value_of_level(const struct mf_slice_plan *plan, const struct mf_cpu_group *group,
                           const struct level *level, size_t l)
{
    const int pools = l + 1 < plan->desc.levels;
    struct sums sums;
    double cu, cv;

    memset(&sums, 0, sizeof sums);
    for (size_t u = 0; u < level[l].nu; ++u) {
        add_row(plan, &level[l], group->lanes, u, &sums);
        if (pools && u % 2 == 1) pool(&level[l], &level[l + 1], group->lanes, u / 2);
    }
    weights(plan, &level[l], &cu, &cv);
    for (size_t s = 0; s < group->lanes; ++s)
        plan->value[(group->first + s) * plan->desc.levels + l] = cu * sums.u[s] + cv * sums.v[s];
}

static void values(void *args, const struct mf_cpu_group *group, int thread)
{
    const struct mf_slice_plan *plan = args;
    struct level level[MF_PYRAMID_MAX];

    levels_of(plan, group, thread, level);
    for (size_t l = 0; l < plan->desc.levels; ++l) value_of_level(plan, group, level, l);
}

/* -- gradients -- */

/* The rows a thread needs: slopes of the jumps into a row, out of it, inside it, and the gradient. */
struct rows {
    float *in, *out, *across, *grad;
};

/* slope[i * lanes + s] = slope of the jump p - q */
MF_CPU_FAST static void slopes_hard(size_t n, size_t lanes, size_t stride, const float *restrict p,
                                    const float *restrict q, float *restrict slope)
{
    for (size_t i = 0; i < n; ++i) {
#pragma omp simd
        for (size_t s = 0; s < lanes; ++s)
            slope[i * lanes + s] = mf_jump_hard_slope(p[i * stride + s] - q[i * stride + s]);
    }
}

MF_CPU_FAST static void slopes_soft(struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *restrict p,
                                    const float *restrict q, float *restrict slope)
{
    for (size_t i = 0; i < n; ++i) {
#pragma omp simd
        for (size_t s = 0; s < lanes; ++s)
            slope[i * lanes + s] = mf_jump_soft_slope(jump, p[i * stride + s] - q[i * stride + s]);
    }
}

static void slopes(const struct mf_slice_plan *plan, size_t n, size_t lanes, size_t stride, const float *p,
                   const float *q, float *slope)
{
    const size_t rows = stride == 1 ? 1 : n, wide = stride == 1 ? n : lanes; /* a dense row is one long lane loop */

    if (plan->desc.smooth > 0)
        slopes_soft(plan->jump, rows, wide, stride, p, q, slope);
    else
        slopes_hard(rows, wide, stride, p, q, slope);
}

/* Jumps from row u to the next; column 0 twice at a seam. */
static void slopes_down(const struct mf_slice_plan *plan, const struct level *level, size_t lanes, size_t u, float *out)
{
    const float *row = level->x + u * level->xu, *next = u + 1 < level->nu ? row + level->xu : level->x;

    if (u + 1 == level->nu && !plan->desc.periodic) {
        memset(out, 0, level->nv * lanes * sizeof *out);
        return;
    }
    slopes(plan, level->nv, lanes, level->xv, next, row, out);
    if (plan->desc.periodic && plan->desc.seam)
        for (size_t s = 0; s < lanes; ++s) out[s] *= 2.0f;
}

/* Jumps inside row u: entry v + 1 is the jump from v to v + 1, entries 0 and nv that over the border. */
static void slopes_across(const struct mf_slice_plan *plan, const struct level *level, size_t lanes, size_t u,
                          float *across)
{
    const float *row = level->x + u * level->xu;
    const size_t stride = level->xv, last = level->nv - 1;
    float *end = across + level->nv * lanes;

    slopes(plan, last, lanes, stride, row + stride, row, across + lanes);
    if (plan->desc.periodic)
        slopes(plan, 1, lanes, stride, row, row + last * stride, end);
    else
        memset(end, 0, lanes * sizeof *end);
    memcpy(across, end, lanes * sizeof *end);
}

MF_CPU_FAST static void join_rows(size_t nv, size_t lanes, const float *restrict cu, const float *restrict cv,
                                  const struct rows *r)
{
    const float *restrict in = r->in, *restrict out = r->out, *restrict left = r->across, *right = r->across + lanes;
    float *restrict grad = r->grad;

    if (lanes == 1) {
        const float a = cu[0], b = cv[0];

#pragma omp simd
        for (size_t v = 0; v < nv; ++v) grad[v] = a * (in[v] - out[v]) + b * (left[v] - right[v]);
        return;
    }
    for (size_t v = 0; v < nv; ++v) {
        const size_t i = v * lanes;

#pragma omp simd
        for (size_t s = 0; s < lanes; ++s)
            grad[i + s] = cu[s] * (in[i + s] - out[i + s]) + cv[s] * (left[i + s] - right[i + s]);
    }
}

/* grad += a quarter of the coarser level's gradient, which every one of its four pixels gets. */
MF_CPU_FAST static void spread(size_t nv, size_t lanes, const float *restrict coarse, float *restrict grad)
{
    for (size_t v = 0; v < nv; ++v) {
        const float *from = coarse + v * lanes;
        float *to = grad + 2 * v * lanes;

#pragma omp simd
        for (size_t s = 0; s < lanes; ++s) {
            to[s] += 0.25f * from[s];
            to[lanes + s] += 0.25f * from[s];
        }
    }
}

struct slope {
    float u[MF_CPU_LANES], v[MF_CPU_LANES], v0[MF_CPU_LANES]; /* what a slope counts; v0: in row 0 */
};

static struct rows rows_of(const struct mf_slice_plan *plan, int thread)
{
    float *row = plan->scratch + (size_t)thread * plan->size + 2 * plan->pool;

    return (struct rows){row, row + plan->row, row + 2 * plan->row, row + 3 * plan->row};
}

static void gradient_of_level(const struct mf_slice_plan *plan, const struct mf_cpu_group *group,
                              const struct level *level, size_t l, const struct slope *c, int thread)
{
    const struct level *at = &level[l], *coarse = l + 1 < plan->desc.levels ? at + 1 : NULL;
    const size_t lanes = group->lanes;
    struct rows rows = rows_of(plan, thread);

    slopes_down(plan, at, lanes, at->nu - 1, rows.in);
    for (size_t u = 0; u < at->nu; ++u) {
        float *in = rows.in;

        if (at->g) rows.grad = at->g + u * at->nv * lanes;
        slopes_down(plan, at, lanes, u, rows.out);
        slopes_across(plan, at, lanes, u, rows.across);
        join_rows(at->nv, lanes, c->u, u == 0 ? c->v0 : c->v, &rows);
        if (coarse && u / 2 < coarse->nu) spread(coarse->nv, lanes, coarse->g + u / 2 * coarse->nv * lanes, rows.grad);
        if (!at->g) mf_cpu_row_add(group, at->nv, rows.grad, group->g + u * group->gu);
        rows.in = rows.out;
        rows.out = in;
    }
}

struct work {
    struct mf_slice_plan *plan;
    const struct mf_slice_task *task;
};

static void compare(void *args, const struct mf_cpu_group *group, int thread)
{
    const struct work *work = args;
    const struct mf_slice_plan *plan = work->plan;
    const size_t levels = plan->desc.levels;
    const double seam = plan->desc.periodic && plan->desc.seam ? 2.0 : 1.0;
    double slope[MF_CPU_LANES][MF_PYRAMID_MAX];
    struct level level[MF_PYRAMID_MAX];
    struct slope c;

    values(work->plan, group, thread);
    for (size_t s = 0; s < group->lanes; ++s)
        mf_cpu_compare(work->task, levels, group->first + s, plan->value + (group->first + s) * levels, slope[s]);
    if (!group->g) return;
    levels_of(plan, group, thread, level);
    for (size_t l = levels; l-- > 0;) {
        double cu, cv;

        weights(plan, &level[l], &cu, &cv);
        for (size_t s = 0; s < group->lanes; ++s) {
            c.u[s] = (float)(cu * slope[s][l]);
            c.v[s] = (float)(cv * slope[s][l]);
            c.v0[s] = (float)(cv * seam * slope[s][l]);
        }
        gradient_of_level(plan, group, level, l, &c, thread);
    }
}

static void eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    struct work work = {plan, task};

    MF_ASSERT(task->x.count <= plan->desc.count_max);
    mf_cpu_groups(plan->queue, plan->lanes, &task->x, &task->g, compare, &work);
}

static void total(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    MF_ASSERT(x->count <= plan->desc.count_max);
    mf_cpu_groups(plan->queue, plan->lanes, x, NULL, values, plan);
    for (size_t s = 0; s < x->count; ++s)
        for (size_t l = 0; l < plan->desc.levels; ++l) sum[l] += plan->value[s * plan->desc.levels + l];
}

const struct mf_slice_ops mf_vari_cpu = {
    .name = "vari",
    .entries = entries,
    .plan = plan_make,
    .free = plan_free,
    .eval = eval,
    .total = total,
};
