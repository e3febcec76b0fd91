/* Interface density of slices: see kernels/slices/slices.h.
 *   V = cu sum |x(u+1,v) - x(u,v)| + cv sum |x(u,v+1) - x(u,v)|
 * cu = cv = 1 / (nu nv) on a periodic slice, else one over the number of jumps along that axis. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/slice.h"
#include "src/base/err.h"

/* One level of a group: pixel (u, v) of lane s is x[u * xu + v * xv + s]. The gradient g is contiguous,
 * [nu][nv][lanes]. */
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
    size_t pool, row; /* floats of a lane: pooled slices or their gradients; a row of slopes */
    size_t size;      /* floats of a lane altogether */
    float *scratch;   /* slots of [wide lanes][size]: pooled x, pooled g, then four rows */
    double *value;    /* [count_max][levels] */
};

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
    for (size_t l = 1; l < p->desc.levels; ++l) p->pool += (p->desc.nu >> l) * (p->desc.nv >> l);
    p->pool = (p->pool + 15) / 16 * 16;
    p->row = (longest + 2 + 15) / 16 * 16;
    p->size = 2 * p->pool + 4 * p->row;
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
    p->jump = mf_jump_of(desc->smooth);
    sizes(p);
    p->value = mf_arena_take(queue->arena, desc->count_max * desc->levels * sizeof *p->value, "slice values");
    p->scratch = mf_arena_take(
        queue->arena, mf_cpu_room(queue, p->lanes, desc->count_max) * p->size * sizeof *p->scratch, "slice rows");
    if (!p->value || !p->scratch) {
        plan_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

/* -- levels -- */

static float *scratch_of(const struct mf_slice_plan *plan, const struct mf_cpu_group *group, size_t slot)
{
    return plan->scratch + slot * group->wide * plan->size;
}

static void levels_of(const struct mf_slice_plan *plan, const struct mf_cpu_group *group, size_t slot,
                      struct level *level)
{
    float *x = scratch_of(plan, group, slot), *g = x + plan->pool * group->wide;

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

/* Weights of a unit jump along u and along v. */
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

/* Adds the jumps out of rows [from, to) to the next rows, and those inside these rows. */
static void add_rows(const struct mf_slice_plan *plan, const struct level *level, size_t lanes, size_t from, size_t to,
                     struct sums *sums)
{
    const enum mf_cpu_term term = plan->desc.smooth > 0 ? MF_CPU_SOFT : MF_CPU_HARD;
    const struct mf_cpu_block all = {to - from, level->xu, level->nv, level->xv, lanes};
    const float *row = level->x + from * level->xu, *last = level->x + (level->nu - 1) * level->xu;
    const size_t wraps = to == level->nu, end = (level->nv - 1) * level->xv;
    struct mf_cpu_block down = all, across = all, over = all, column = all;

    down.rows = column.rows = all.rows - wraps;
    across.n = level->nv - 1;
    over.n = column.n = 1;
    mf_cpu_block_sum(term, plan->jump, &down, row + level->xu, row, sums->u);
    mf_cpu_block_sum(term, plan->jump, &across, row + level->xv, row, sums->v);
    if (!plan->desc.periodic) return;
    mf_cpu_block_sum(term, plan->jump, &over, row, row + end, sums->v);
    down.rows = 1;
    if (wraps) mf_cpu_block_sum(term, plan->jump, &down, level->x, last, sums->u);
    if (!plan->desc.seam) return;
    mf_cpu_block_sum(term, plan->jump, &column, row + level->xu, row, sums->u);
    column.rows = across.rows = over.rows = 1;
    if (wraps) mf_cpu_block_sum(term, plan->jump, &column, level->x, last, sums->u);
    if (from > 0) return;
    mf_cpu_block_sum(term, plan->jump, &across, row + level->xv, row, sums->v);
    mf_cpu_block_sum(term, plan->jump, &over, row, row + end, sums->v);
}

static void value_of_level(const struct mf_slice_plan *plan, const struct mf_cpu_group *group,
                           const struct level *level, size_t l)
{
    const size_t nu = level[l].nu, band = mf_cpu_band(level[l].nv);
    const int pools = l + 1 < plan->desc.levels;
    struct sums sums;
    double cu, cv;

    memset(&sums, 0, sizeof sums);
    for (size_t u = 0, to; u < nu; u = to) {
        to = nu - u < band ? nu : u + band;
        if (l >= plan->desc.first) add_rows(plan, &level[l], group->lanes, u, to, &sums);
        for (size_t k = u / 2; pools && k < to / 2; ++k) pool(&level[l], &level[l + 1], group->lanes, k);
    }
    weights(plan, &level[l], &cu, &cv);
    for (size_t s = 0; s < group->lanes; ++s)
        plan->value[(group->first + s) * plan->desc.levels + l] = cu * sums.u[s] + cv * sums.v[s];
}

static void values(void *args, const struct mf_cpu_group *group, size_t slot)
{
    const struct mf_slice_plan *plan = args;
    struct level level[MF_PYRAMID_MAX];

    levels_of(plan, group, slot, level);
    for (size_t l = 0; l < plan->desc.levels; ++l) value_of_level(plan, group, level, l);
}

/* -- gradients -- */

/* One row of a gradient. The buffers are rows of slopes: of the jumps into this row, out of it, and inside it. Entry v
 * + 1 of the last is the jump from pixel v to v + 1. Entries 0 and nv are the jump over the border. */
struct row {
    size_t nv, lanes, stride;
    const float *x, *next; /* NULL: nothing follows */
    int periodic, seam;
    float *in, *out, *across;
    const float *cu, *cv; /* [lanes] what a slope counts */
    float *to;            /* [v * to_stride + s] */
    size_t to_stride;
    int add; /* to +=, else to = */
};

enum { WIDE = 16 };

#define ALWAYS static inline __attribute__((always_inline))

/* slope[s] = slope of the jump p - q, s < n */
ALWAYS void slopes_lane(int soft, struct mf_jump jump, size_t n, const float *restrict p, const float *restrict q,
                        float *restrict slope)
{
#pragma omp simd
    for (size_t s = 0; s < n; ++s) {
        const float d = p[s] - q[s];

        slope[s] = soft ? mf_jump_soft_slope(jump, d) : mf_jump_hard_slope(d);
    }
}

/* slope[i * lanes + s] = slope of the jump p - q */
ALWAYS void slopes(int soft, struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p, const float *q,
                   float *slope)
{
    size_t i = 0;

    if (stride > 1) {
        for (; i < n; ++i) slopes_lane(soft, jump, lanes, p + i * stride, q + i * stride, slope + i * lanes);
    } else if (n < WIDE) {
        slopes_lane(soft, jump, n, p, q, slope);
    } else { /* the end of a row as one more vector, some of it twice */
        for (; i + WIDE <= n; i += WIDE) slopes_lane(soft, jump, WIDE, p + i, q + i, slope + i);
        if (i < n) slopes_lane(soft, jump, WIDE, p + n - WIDE, q + n - WIDE, slope + n - WIDE);
    }
}

/* Jumps out of a row; column 0 twice at a seam. */
ALWAYS void slopes_down(int soft, struct mf_jump jump, const struct row *r, const float *from, const float *to,
                        float *slope)
{
    if (!to || !from) {
        memset(slope, 0, r->nv * r->lanes * sizeof *slope);
        return;
    }
    slopes(soft, jump, r->nv, r->lanes, r->stride, to, from, slope);
    for (size_t s = 0; r->seam && s < r->lanes; ++s) slope[s] *= 2.0f;
}

ALWAYS void slopes_across(int soft, struct mf_jump jump, const struct row *r)
{
    const size_t last = r->nv - 1;
    float *end = r->across + r->nv * r->lanes;

    slopes(soft, jump, last, r->lanes, r->stride, r->x + r->stride, r->x, r->across + r->lanes);
    for (size_t s = 0; s < r->lanes; ++s) {
        const float d = r->x[s] - r->x[last * r->stride + s];

        end[s] = !r->periodic ? 0.0f : soft ? mf_jump_soft_slope(jump, d) : mf_jump_hard_slope(d);
        r->across[s] = end[s];
    }
}

ALWAYS void join(const struct row *r, size_t rows, size_t wide, int add)
{
    const float *restrict in = r->in, *restrict out = r->out, *left = r->across, *right = r->across + r->lanes;
    const float *restrict cu = r->cu, *restrict cv = r->cv;
    float *restrict to = r->to;

    for (size_t v = 0; v < rows; ++v) {
        const size_t i = v * wide;

#pragma omp simd
        for (size_t s = 0; s < wide; ++s) {
            const size_t c = rows == 1 ? 0 : s;
            const float g = cu[c] * (in[i + s] - out[i + s]) + cv[c] * (left[i + s] - right[i + s]);

            to[v * r->to_stride + s] = add ? to[v * r->to_stride + s] + g : g;
        }
    }
}

ALWAYS void gradient_row(int soft, struct mf_jump jump, const struct row *r)
{
    slopes_across(soft, jump, r);
    slopes_down(soft, jump, r, r->x, r->next, r->out);
    if (r->lanes == 1 && r->add)
        join(r, 1, r->nv, 1);
    else if (r->lanes == 1)
        join(r, 1, r->nv, 0);
    else if (r->lanes == MF_CPU_LANES && r->add)
        join(r, r->nv, MF_CPU_LANES, 1);
    else
        join(r, r->nv, r->lanes, r->add);
}

MF_CPU_FAST static void row_hard(struct mf_jump jump, const struct row *r) { gradient_row(0, jump, r); }
MF_CPU_FAST static void row_soft(struct mf_jump jump, const struct row *r) { gradient_row(1, jump, r); }

/* grad += a quarter of the coarser level's gradient, which every one of its four pixels gets. */
MF_CPU_FAST static void spread(size_t nv, size_t lanes, const float *restrict coarse, float *restrict grad)
{
    if (lanes == 1) {
#pragma omp simd
        for (size_t v = 0; v < nv; ++v) {
            grad[2 * v] += 0.25f * coarse[v];
            grad[2 * v + 1] += 0.25f * coarse[v];
        }
        return;
    }
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

/* Can a row of slopes be added to g as it lies? */
static int lies_well(const struct mf_cpu_group *group) { return group->lanes == 1 ? group->gv == 1 : group->gs == 1; }

/* A row whose buffers are in the slot's scratch; out holds the jumps into row 0. */
static struct row first_row(const struct mf_slice_plan *plan, const struct mf_cpu_group *group,
                            const struct level *level, size_t slot)
{
    float *scratch = scratch_of(plan, group, slot) + 2 * plan->pool * group->wide;
    const size_t lanes = group->lanes, row = plan->row * group->wide;
    struct row r = {level->nv, lanes, level->xv, NULL, NULL, plan->desc.periodic, 0, NULL, NULL, NULL,
                    NULL,      NULL,  NULL,      0,    0};

    r.seam = plan->desc.periodic && plan->desc.seam;
    r.in = scratch;
    r.out = scratch + row;
    r.across = scratch + 2 * row;
    if (!plan->desc.periodic)
        memset(r.out, 0, level->nv * lanes * sizeof *r.out);
    else if (plan->desc.smooth > 0)
        slopes_down(1, plan->jump, &r, level->x + (level->nu - 1) * level->xu, level->x, r.out);
    else
        slopes_down(0, plan->jump, &r, level->x + (level->nu - 1) * level->xu, level->x, r.out);
    return r;
}

static void gradient_of_level(const struct mf_slice_plan *plan, const struct mf_cpu_group *group,
                              const struct level *level, size_t l, const struct slope *c, size_t slot)
{
    const struct level *at = &level[l], *coarse = l + 1 < plan->desc.levels ? at + 1 : NULL;
    const size_t lanes = group->lanes;
    struct row r = first_row(plan, group, at, slot);
    float *buffer = r.across + plan->row * group->wide;

    r.cu = c->u;
    r.add = !at->g && !coarse && lies_well(group);
    for (size_t u = 0; u < at->nu; ++u) {
        float *in = r.in;

        r.in = r.out;
        r.out = in;
        r.x = at->x + u * at->xu;
        r.next = u + 1 < at->nu ? r.x + at->xu : plan->desc.periodic ? at->x : NULL;
        r.cv = u == 0 ? c->v0 : c->v;
        r.to = at->g ? at->g + u * at->nv * lanes : r.add ? group->g + u * group->gu : buffer;
        r.to_stride = r.add && lanes > 1 ? group->gv : lanes;
        (plan->desc.smooth > 0 ? row_soft : row_hard)(plan->jump, &r);
        if (coarse && u / 2 < coarse->nu) spread(coarse->nv, lanes, coarse->g + u / 2 * coarse->nv * lanes, r.to);
        if (!at->g && !r.add) mf_cpu_row_add(group, at->nv, r.to, group->g + u * group->gu);
    }
}

struct work {
    struct mf_slice_plan *plan;
    const struct mf_slice_task *task;
};

static void compare(void *args, const struct mf_cpu_group *group, size_t slot)
{
    const struct work *work = args;
    const struct mf_slice_plan *plan = work->plan;
    const size_t levels = plan->desc.levels;
    const double seam = plan->desc.periodic && plan->desc.seam ? 2.0 : 1.0;
    double *const slope = plan->value + group->first * levels;
    struct level level[MF_PYRAMID_MAX];
    struct slope c;

    values(work->plan, group, slot);
    for (size_t s = 0; s < group->lanes; ++s)
        mf_cpu_compare(work->task, &plan->desc, group->first + s, 1, slope + s * levels, 1);
    if (!group->g) return;
    levels_of(plan, group, slot, level);
    for (size_t l = levels; l-- > 0;) {
        double cu, cv;

        weights(plan, &level[l], &cu, &cv);
        for (size_t s = 0; s < group->lanes; ++s) {
            c.u[s] = (float)(cu * slope[s * levels + l]);
            c.v[s] = (float)(cv * slope[s * levels + l]);
            c.v0[s] = (float)(cv * seam * slope[s * levels + l]);
        }
        gradient_of_level(plan, group, level, l, &c, slot);
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
        for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
            sum[l] += mf_compare_grain(plan->value[s * plan->desc.levels + l]);
}

const struct mf_slice_kind mf_kind_vari = {"vari", "interface densities", mf_entries_one, mf_cost_variation};

const struct mf_slice_ops mf_vari_cpu = {
    .kind = &mf_kind_vari,
    .plan = plan_make,
    .free = plan_free,
    .eval = eval,
    .total = total,
};
