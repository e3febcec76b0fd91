/* See objective.h. Every slice belongs to one rank while it is compared; what crosses ranks are slices (mpi/slab.h) and
 * one vector of numbers per slice at the end. */
#include "src/recon/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernels/stage.h"
#include "src/base/err.h"

enum { SIDES = 3, SUMS = 1 + MF_TERMS_MAX };

/* A plan is shared by all directions whose slices look alike. */
struct plan {
    const struct mf_slice_ops *ops;
    struct mf_slice_desc desc;
    struct mf_slice_plan *plan;
};

struct side {
    size_t nu, nv, slices, levels, entries;
    struct mf_turn **turn;                           /* [phases] */
    struct mf_slice_plan *plan[MF_TERMS_MAX], *mean; /* mean: level 0 of the volume fraction, for q */
    float *target[MF_TERMS_MAX];                     /* [phases][levels][entries of the term], device */
    float *goal[MF_TERMS_MAX];                       /* its mirror */
    float *values[MF_TERMS_MAX];                     /* caller's [phases][slices][levels][entries], or NULL */
    double *sums;                                    /* [slices][SUMS]: E, then the share of each term */
    double *sum;                                     /* [phases][levels][most entries of a term] */
    double *a;                                       /* [terms][phases][slices] sums of this rank's slices */
    double *q, *vf, *scale;                          /* [phases][slices] */
    double *slope;                                   /* [slices] dE/dA */
};

struct mf_objective {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_slab slab;
    struct mf_objective_opts opts;
    const struct mf_target *goal; /* borrowed */
    const struct mf_slice_ops *ops[MF_TERMS_MAX];
    size_t phases, lag, sides, plans;
    struct side side[SIDES];
    struct plan plan[2 * SIDES * (MF_TERMS_MAX + 1)];
    double *sums; /* of all sides, one reduction */
    double *work; /* of all sides: what kernels read and write for every slice */
    float *fixed; /* device: 0 and -1, targets of the volume fraction that give vf and its gradient */
    float *apart; /* [phases][voxels]: gradient of one direction; NULL: straight into the caller's */
    size_t batch;
    double share[MF_TERMS_MAX];
};

int mf_norm_find(const char *name, enum mf_norm *norm)
{
    static const char *const names[] = {"MSE", "SSE", "RMS", "L1", "L2"};

    for (size_t i = 0; i < 5; ++i)
        if (strcasecmp(name, names[i]) == 0) {
            *norm = (enum mf_norm)i;
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "no loss '%s': choose MSE, SSE, RMS, L1 or L2", name);
}

static struct mf_slice_desc desc_of(const struct mf_objective *o, const struct side *s, size_t levels)
{
    return (struct mf_slice_desc){.nu = s->nu,
                                  .nv = s->nv,
                                  .lag = o->lag,
                                  .levels = levels,
                                  .count_max = o->batch,
                                  .periodic = o->opts.periodic,
                                  .seam = o->opts.compat,
                                  .smooth = o->opts.smooth};
}

static int plan_for(struct mf_objective *o, const struct mf_slice_ops *ops, struct mf_slice_desc desc,
                    struct mf_slice_plan **plan)
{
    for (size_t i = 0; i < o->plans; ++i)
        if (o->plan[i].ops == ops && o->plan[i].desc.nu == desc.nu && o->plan[i].desc.nv == desc.nv &&
            o->plan[i].desc.levels == desc.levels) {
            *plan = o->plan[i].plan;
            return MF_OK;
        }
    MF_TRY(ops->plan(o->queue, &desc, plan));
    o->plan[o->plans++] = (struct plan){ops, desc, *plan};
    return MF_OK;
}

static int side_target(struct mf_objective *o, struct side *s, const struct mf_target *target, size_t normal, size_t t)
{
    const struct mf_target_side *from = mf_target_for(target, (enum mf_normal)normal);
    struct mf_slice_desc desc = desc_of(o, s, s->levels);
    size_t entries = o->ops[t]->entries(&desc), n = s->levels * entries;

    s->target[t] = mf_arena_take(o->queue->arena, o->phases * n * sizeof(float), "target");
    if (s->target[t]) s->goal[t] = mf_mirror_take(o->queue, s->target[t], o->phases * n * sizeof(float), "target");
    if (!s->goal[t]) return MF_MEMORY;
    s->entries += o->phases * n;
    for (size_t p = 0; p < o->phases; ++p) {
        size_t phase = o->phases == 1 && target->phases > 1 ? 1 : p;
        const double *values = mf_descriptor_values(o->opts.term[t].row, from, o->lag, (int)phase);

        if (!values) return mf_fail(MF_INPUT, "the target '%s' has no %s", target->source, o->opts.term[t].row->name);
        for (size_t i = 0; i < n; ++i) s->goal[t][p * n + i] = (float)values[o->opts.level_first * entries + i];
    }
    mf_mirror_put(o->queue, s->target[t], s->goal[t], o->phases * n * sizeof(float));
    return MF_OK;
}

/* Extents of the slices of one direction and the levels that target and field share. */
static int side_shape(struct mf_objective *o, struct side *s, const struct mf_target *target, size_t normal)
{
    const size_t *n = o->slab.dims;
    const struct mf_target_side *from = mf_target_for(target, (enum mf_normal)normal);
    size_t mine;
    double weights = 0;

    s->nu = normal == MF_Z ? n[1] : n[0];
    s->nv = normal == MF_X ? n[1] : n[2];
    s->slices = n[normal];
    mine = mf_levels(s->nu, s->nv, o->lag);
    if (mine == 0)
        return mf_fail(MF_USAGE, "--limit_to %zu is too large for slices of %zu x %zu: at most %zu", o->lag, s->nu,
                       s->nv, (s->nu < s->nv ? s->nu : s->nv) / 2);
    if (from->levels <= o->opts.level_first)
        return mf_fail(MF_USAGE, "the target has %zu pyramid levels, level %zu is asked for", from->levels,
                       o->opts.level_first);
    s->levels = from->levels - o->opts.level_first;
    if (s->levels > mine) s->levels = mine;
    if (o->opts.levels_max && s->levels > o->opts.levels_max) s->levels = o->opts.levels_max;
    for (size_t l = 0; l < s->levels; ++l) weights += o->opts.level_weight[l];
    if (!(weights > 0))
        return mf_fail(MF_USAGE, "--level_weights leaves no weight to the %zu levels there are", s->levels);
    return MF_OK;
}

static int side_turns(struct mf_objective *o, struct side *s, size_t normal)
{
    s->turn = mf_fault("recon.turns") ? NULL : calloc(o->phases, sizeof *s->turn);
    MF_TRY(mf_agree(o->comm, s->turn ? MF_OK : mf_fail(MF_MEMORY, "no memory for the slices' plan")));
    for (size_t p = 0; p < o->phases; ++p) {
        MF_TRY(mf_turn_new(o->comm, &o->slab, (enum mf_normal)normal, o->opts.batch, o->queue, &s->turn[p]));
        if (mf_turn_batch(s->turn[p]) > o->batch) o->batch = mf_turn_batch(s->turn[p]);
    }
    return MF_OK;
}

static int side_plans(struct mf_objective *o, struct side *s, const struct mf_target *target, size_t normal)
{
    for (size_t t = 0; t < o->opts.terms; ++t) {
        MF_TRY(plan_for(o, o->ops[t], desc_of(o, s, s->levels), &s->plan[t]));
        MF_TRY(side_target(o, s, target, normal, t));
    }
    if (o->opts.multiphase) MF_TRY(plan_for(o, o->backend->frac, desc_of(o, s, 1), &s->mean));
    s->sum = mf_arena_take(o->queue->host, s->entries * sizeof *s->sum, "slice sums");
    return s->sum ? MF_OK : MF_MEMORY;
}

/* Several ranks add the gradient of a direction up beside the volume, one rank in it: other roundings. Where the bits
 * count, one rank does it beside the volume too. */
static int take_apart(struct mf_objective *o)
{
    if (!o->queue->deterministic || o->comm->size > 1 || o->sides == 1) return MF_OK;
    o->apart =
        mf_arena_take(o->queue->arena, o->phases * mf_slab_voxels(&o->slab) * sizeof(float), "gradient of a direction");
    return o->apart ? MF_OK : MF_MEMORY;
}

/* Doubles of the work areas of a slice. */
static size_t work_size(const struct mf_objective *o) { return (o->opts.terms + 3) * o->phases + 1; }

static void deal_work(struct mf_objective *o)
{
    double *sums = o->sums, *work = o->work;

    for (size_t d = 0; d < o->sides; ++d) {
        struct side *s = &o->side[d];
        size_t each = o->phases * s->slices;

        s->sums = sums;
        s->a = work;
        s->q = s->a + o->opts.terms * each;
        s->vf = s->q + each;
        s->scale = s->vf + each;
        s->slope = s->scale + each;
        sums += s->slices * SUMS;
        work += s->slices * work_size(o);
    }
}

static int take_fixed(struct mf_objective *o)
{
    const float fixed[2] = {0, -1};

    o->fixed = mf_arena_take(o->queue->arena, sizeof fixed, "target");
    if (!o->fixed) return MF_MEMORY;
    o->backend->put(o->queue, o->fixed, fixed, sizeof fixed);
    return MF_OK;
}

/* What this rank needs by itself once the batch is known. */
static int prepare(struct mf_objective *o, const struct mf_target *target)
{
    size_t slices = 0;

    if (o->batch == 0) o->batch = 1;
    for (size_t d = 0; d < o->sides; ++d) {
        MF_TRY(side_plans(o, &o->side[d], target, d));
        slices += o->side[d].slices;
    }
    o->sums = mf_arena_take(o->queue->host, slices * SUMS * sizeof(double), "slice losses");
    o->work = mf_arena_take(o->queue->host, slices * work_size(o) * sizeof(double), "slice sums");
    if (!o->sums || !o->work) return MF_MEMORY;
    deal_work(o);
    if (o->opts.multiphase) MF_TRY(take_fixed(o));
    return take_apart(o);
}

static int build(struct mf_objective *o, const struct mf_target *target)
{
    int rc = MF_OK;

    for (size_t t = 0; t < o->opts.terms && rc == MF_OK; ++t)
        rc = mf_descriptor_ops(o->opts.term[t].row, o->backend, &o->ops[t]);
    for (size_t d = 0; d < o->sides && rc == MF_OK; ++d) rc = side_shape(o, &o->side[d], target, d);
    MF_TRY(mf_agree(o->comm, rc));
    for (size_t d = 0; d < o->sides; ++d) MF_TRY(side_turns(o, &o->side[d], d));
    return mf_agree(o->comm, prepare(o, target));
}

int mf_objective_new(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     const struct mf_slab *slab, size_t phases, const struct mf_target *target,
                     const struct mf_objective_opts *opts, struct mf_objective **objective)
{
    struct mf_objective *o = mf_fault("recon.objective") ? NULL : calloc(1, sizeof *o);
    int rc = mf_agree(comm, o ? MF_OK : mf_fail(MF_MEMORY, "no memory for the objective"));

    if (rc != MF_OK) {
        free(o);
        return rc;
    }
    o->comm = comm;
    o->backend = backend;
    o->queue = queue;
    o->slab = *slab;
    o->opts = *opts;
    o->phases = phases;
    o->lag = target->lag;
    o->goal = target;
    o->sides = slab->dims[0] > 1 ? SIDES : 1;
    rc = build(o, target);
    if (rc != MF_OK) {
        mf_objective_free(o);
        return rc;
    }
    *objective = o;
    return MF_OK;
}

void mf_objective_free(struct mf_objective *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->plans; ++i) o->plan[i].ops->free(o->plan[i].plan);
    for (size_t d = 0; d < o->sides; ++d) {
        mf_arena_give(o->queue->host, o->side[d].sum);
        for (size_t t = 0; t < o->opts.terms; ++t) {
            mf_mirror_give(o->queue, o->side[d].target[t], o->side[d].goal[t]);
            mf_arena_give(o->queue->arena, o->side[d].target[t]);
        }
        for (size_t p = 0; o->side[d].turn && p < o->phases; ++p) mf_turn_free(o->side[d].turn[p]);
        free(o->side[d].turn);
    }
    mf_arena_give(o->queue->host, o->work);
    mf_arena_give(o->queue->host, o->sums);
    mf_arena_give(o->queue->arena, o->fixed);
    mf_arena_give(o->queue->arena, o->apart);
    free(o);
}

/* One round: the slices that this rank holds now, all phases. */
struct round {
    struct side *side;
    struct mf_span span;
    struct mf_view *x, *g; /* [phases]; g->base NULL: no gradient */
    double share;          /* of one slice in the loss: 1 / (directions * slices), or 1 */
    double factor;
};

static struct mf_slice_task task_of(const struct mf_objective *o, const struct round *r, size_t t, size_t p,
                                    double *weight)
{
    const struct side *s = r->side;
    struct mf_slice_desc desc = desc_of(o, s, s->levels);
    size_t entries = o->ops[t]->entries(&desc);

    float *values = s->values[t];

    if (values) values += (p * s->slices + r->span.first) * s->levels * entries;
    for (size_t l = 0; l < s->levels; ++l) weight[l] = o->opts.term[t].weight * o->opts.level_weight[l];
    return (struct mf_slice_task){.x = r->x[p],
                                  .g = r->g[p],
                                  .target = s->target[t] + p * s->levels * entries,
                                  .weight = weight,
                                  .power = o->opts.norm == MF_L1 ? 1 : 2,
                                  .scale = s->scale + p * s->slices + r->span.first,
                                  .sum = s->a + (t * o->phases + p) * s->slices + r->span.first,
                                  .values = values};
}

/* What so many slices cost by their formula. */
static struct mf_cost cost_of(const struct mf_objective *o, const struct side *s, size_t t, size_t count,
                              enum mf_cost_of what)
{
    struct mf_slice_desc desc = desc_of(o, s, s->levels);

    return o->opts.term[t].row->cost(&desc, count, what);
}

/* The same of the volume fractions that q comes from. */
static struct mf_cost mean_cost(const struct mf_objective *o, const struct round *r, enum mf_cost_of what)
{
    struct mf_slice_desc desc = desc_of(o, r->side, 1);

    return mf_cost_fraction(&desc, r->span.count, what);
}

/* What vf of a slice is multiplied by. */
static double part_of(const struct mf_objective *o, const struct side *s)
{
    size_t volume = o->slab.dims[0] * o->slab.dims[1] * o->slab.dims[2];

    return o->opts.compat ? (double)(s->nu * s->nv) / (double)volume : 1;
}

/* q of every slice and phase from the slices' means; 1 with one phase. */
static void phase_weights(struct mf_objective *o, const struct round *r)
{
    const double one = 1, part = part_of(o, r->side);
    struct side *s = r->side;

    for (size_t p = 0; p < o->phases; ++p)
        for (size_t i = 0; i < r->span.count; ++i) s->q[p * s->slices + r->span.first + i] = 1;
    if (!o->opts.multiphase) return;
    for (size_t p = 0; p < o->phases; ++p) {
        struct mf_slice_task task = {
            .x = r->x[p], .target = o->fixed, .weight = &one, .power = 1, .sum = s->vf + p * s->slices + r->span.first};
        MF_PHASE(MF_PHASE_FRACTION);

        mf_phase_count(mean_cost(o, r, MF_COST_VALUES));
        o->backend->frac->eval(s->mean, &task);
    }
    o->backend->sync(o->queue);
    for (size_t p = 0; p < o->phases; ++p)
        for (size_t i = p * s->slices + r->span.first; i < p * s->slices + r->span.first + r->span.count; ++i) {
            s->vf[i] *= part;
            s->q[i] = (1 - s->vf[i]) * (1 - s->vf[i]) + 0.01;
        }
}

static double power_of(double q, int power) { return power == 1 ? q : q * q; }

/* E of slice i from its sums, dE/dA into *slope; the shares of the terms into sums[1..]. */
static double slice_loss(const struct mf_objective *o, const struct side *s, size_t i, double *slope, double *sums)
{
    double a = 0, m = (double)s->entries;
    int power = o->opts.norm == MF_L1 ? 1 : 2;

    for (size_t t = 0; t < o->opts.terms; ++t) {
        double part = 0;

        for (size_t p = 0; p < o->phases; ++p)
            part += power_of(s->q[p * s->slices + i], power) * s->a[(t * o->phases + p) * s->slices + i];
        sums[1 + t] = part;
        a += part;
    }
    switch (o->opts.norm) {
    case MF_MSE: *slope = 1 / m; return a / m;
    case MF_RMS: *slope = a > 0 ? 0.5 / sqrt(a * m) : 0; return sqrt(a / m);
    case MF_L2: *slope = a > 0 ? 0.5 / sqrt(a) : 0; return sqrt(a);
    default: *slope = 1; return a;
    }
}

static void run_terms(struct mf_objective *o, const struct round *r, int gradient)
{
    double weight[MF_LEVELS_MAX];

    for (size_t t = 0; t < o->opts.terms; ++t)
        for (size_t p = 0; p < o->phases; ++p) {
            struct mf_slice_task task = task_of(o, r, t, p, weight);
            MF_PHASE(o->opts.term[t].row->phase);

            mf_phase_count(cost_of(o, r->side, t, r->span.count, gradient ? MF_COST_GRADIENT : MF_COST_VALUES));
            if (!gradient) task.g.base = NULL;
            o->ops[t]->eval(r->side->plan[t], &task);
        }
}

/* The gradient that comes through q: the same number for every pixel of a slice, dq/dx = -2 (1 - vf) / pixels. */
static void through_weights(struct mf_objective *o, const struct round *r)
{
    const double one = 1, part = part_of(o, r->side);
    int power = o->opts.norm == MF_L1 ? 1 : 2;
    struct side *s = r->side;

    o->backend->sync(o->queue); /* a is there, and scale is read */
    for (size_t p = 0; p < o->phases; ++p) {
        size_t from = p * s->slices;
        struct mf_slice_task task = {.x = r->x[p],
                                     .g = r->g[p],
                                     .target = o->fixed + 1,
                                     .weight = &one,
                                     .power = 1,
                                     .scale = s->scale + from + r->span.first};
        MF_PHASE(MF_PHASE_FRACTION);

        mf_phase_count(mean_cost(o, r, MF_COST_GRADIENT));
        for (size_t i = r->span.first; i < r->span.first + r->span.count; ++i) {
            double q = s->q[from + i], a = 0;

            for (size_t t = 0; t < o->opts.terms; ++t) a += s->a[(t * o->phases + p) * s->slices + i];
            s->scale[from + i] =
                r->factor * r->share * s->slope[i] * a * (power == 1 ? 1 : 2 * q) * -2 * (1 - s->vf[from + i]) * part;
        }
        o->backend->frac->eval(s->mean, &task);
    }
}

static void set_scale(struct mf_objective *o, const struct round *r)
{
    struct side *s = r->side;
    int power = o->opts.norm == MF_L1 ? 1 : 2;

    for (size_t p = 0; p < o->phases; ++p)
        for (size_t i = r->span.first; i < r->span.first + r->span.count; ++i)
            s->scale[p * s->slices + i] = r->factor * r->share * s->slope[i] * power_of(s->q[p * s->slices + i], power);
}

/* Puts sums and gradient of the slices at hand on the queue. RMS and L2 need the whole norm before the gradient: one
 * more forward pass. */
static void compare(struct mf_objective *o, const struct round *r)
{
    int root = o->opts.norm == MF_RMS || o->opts.norm == MF_L2, gradient = r->g[0].base != NULL;
    size_t end = r->span.first + r->span.count;
    struct side *s = r->side;

    phase_weights(o, r);
    for (size_t i = r->span.first; i < end; ++i) s->slope[i] = o->opts.norm == MF_MSE ? 1 / (double)s->entries : 1;
    if (root && gradient) {
        run_terms(o, r, 0);
        o->backend->sync(o->queue);
        for (size_t i = r->span.first; i < end; ++i) {
            double sums[SUMS];

            slice_loss(o, s, i, &s->slope[i], sums);
        }
    }
    set_scale(o, r);
    run_terms(o, r, gradient);
    if (o->opts.multiphase && gradient) through_weights(o, r);
}

/* 1 / (directions * slices), or 1. */
static double share_of(const struct mf_objective *o, const struct side *s)
{
    return o->opts.compat ? 1 : 1 / ((double)o->sides * (double)s->slices);
}

/* The slices of one direction; gradients += into @p g. */
static void eval_slices(struct mf_objective *o, size_t d, float *x, float *g, double factor)
{
    struct side *s = &o->side[d];
    struct mf_view vx[MF_PHASES_MAX], vg[MF_PHASES_MAX] = {{0}};
    size_t voxels = mf_slab_voxels(&o->slab);
    struct round r = {.side = s, .x = vx, .g = vg, .factor = factor, .share = share_of(o, s)};

    for (size_t k = 0; k < mf_turn_rounds(s->turn[0]); ++k) {
        r.span = mf_turn_span(s->turn[0], k);
        for (size_t p = 0; p < o->phases; ++p) {
            mf_turn_fetch(s->turn[p], k, x + p * voxels, &vx[p]);
            if (g)
                mf_turn_open(s->turn[p], k, g + p * voxels, &vg[p]);
            else
                vg[p] = (struct mf_view){.base = NULL};
        }
        if (r.span.count) compare(o, &r);
        for (size_t p = 0; g && p < o->phases; ++p) mf_turn_add(s->turn[p], k, g + p * voxels);
    }
}

/* Losses of this rank's slices of one direction from what the kernels have left. */
static void collect(struct mf_objective *o, struct side *s)
{
    double share = share_of(o, s), ignored;

    for (size_t k = 0; k < mf_turn_rounds(s->turn[0]); ++k) {
        struct mf_span span = mf_turn_span(s->turn[0], k);

        for (size_t i = span.first; i < span.first + span.count; ++i) {
            double *sums = s->sums + i * SUMS;

            sums[0] = share * slice_loss(o, s, i, &ignored, sums);
        }
    }
}

static void eval_side(struct mf_objective *o, size_t d, float *x, float *g, double factor)
{
    size_t n = o->phases * mf_slab_voxels(&o->slab);

    if (!g || d == MF_Z || !o->apart) {
        eval_slices(o, d, x, g, factor);
        return;
    }
    o->backend->field->fill(o->queue, n, 0, o->apart);
    eval_slices(o, d, x, o->apart, factor);
    {
        MF_PHASE(MF_PHASE_FIELD);

        mf_phase_count(mf_cost_pass((struct mf_extent){1, 1, n}, 4, 2));
        o->backend->field->axpy(o->queue, n, 1, o->apart, g);
    }
}

void mf_objective_eval(struct mf_objective *o, float *x, float *g, double factor, double *loss)
{
    size_t slices = 0;
    double share[MF_TERMS_MAX] = {0}, all = 0;

    for (size_t d = 0; d < o->sides; ++d) slices += o->side[d].slices;
    memset(o->sums, 0, slices * SUMS * sizeof *o->sums);
    for (size_t d = 0; d < o->sides; ++d) eval_side(o, d, x, g, factor);
    o->backend->sync(o->queue);
    for (size_t d = 0; d < o->sides; ++d) collect(o, &o->side[d]);
    mf_comm_sum(o->comm, slices * SUMS, o->sums);
    *loss = 0;
    for (size_t i = 0; i < slices; ++i) {
        *loss += o->sums[i * SUMS];
        for (size_t t = 0; t < o->opts.terms; ++t) share[t] += o->sums[i * SUMS + 1 + t];
    }
    for (size_t t = 0; t < o->opts.terms; ++t) all += share[t];
    for (size_t t = 0; t < o->opts.terms; ++t) o->share[t] = all > 0 ? share[t] / all : 0;
}

void mf_objective_capture(struct mf_objective *o, size_t t, float *const values[3])
{
    for (size_t d = 0; d < o->sides; ++d) o->side[d].values[t] = values ? values[d] : NULL;
}

/* Target of phase p of a term in direction d from the first level that is compared on. */
static const double *goal_of(const struct mf_objective *o, size_t t, size_t d, size_t p, size_t entries)
{
    const struct mf_target_side *from = mf_target_for(o->goal, (enum mf_normal)d);
    size_t phase = o->phases == 1 && o->goal->phases > 1 ? 1 : p;

    return mf_descriptor_values(o->opts.term[t].row, from, o->lag, (int)phase) + o->opts.level_first * entries;
}

static size_t entries_of(const struct mf_objective *o, size_t t, size_t d)
{
    struct mf_slice_desc desc = desc_of(o, &o->side[d], 1);

    return o->ops[t]->entries(&desc);
}

void mf_objective_miss(struct mf_objective *o, size_t t, float *x, double *const miss[3])
{
    size_t voxels = mf_slab_voxels(&o->slab);

    for (size_t d = 0; d < o->sides; ++d) {
        struct side *s = &o->side[d];
        size_t entries = entries_of(o, t, d);
        struct mf_view view;
        MF_PHASE(o->opts.term[t].row->phase);

        memset(s->sum, 0, o->phases * s->levels * entries * sizeof *s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t k = 0; k < mf_turn_rounds(s->turn[p]); ++k) {
                mf_turn_fetch(s->turn[p], k, x + p * voxels, &view);
                mf_phase_count(cost_of(o, s, t, view.count, MF_COST_TOTAL));
                if (view.count) o->ops[t]->total(s->plan[t], &view, s->sum + p * s->levels * entries);
            }
        o->backend->sync(o->queue);
        mf_comm_sum(o->comm, o->phases * s->levels * entries, s->sum);
        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                miss[d][p * entries + i] =
                    s->sum[p * s->levels * entries + i] / (double)s->slices - goal_of(o, t, d, p, entries)[i];
    }
}

void mf_objective_lead(struct mf_objective *o, size_t t, double gain, double *const miss[3])
{
    for (size_t d = 0; d < o->sides; ++d) {
        struct side *s = &o->side[d];
        size_t entries = entries_of(o, t, d);

        for (size_t p = 0; p < o->phases; ++p)
            for (size_t i = 0; i < entries; ++i)
                s->goal[t][p * s->levels * entries + i] =
                    (float)(goal_of(o, t, d, p, entries)[i] - (miss ? gain * miss[d][p * entries + i] : 0));
        mf_mirror_put(o->queue, s->target[t], s->goal[t], o->phases * s->levels * entries * sizeof(float));
    }
}

double mf_objective_share(const struct mf_objective *o, size_t t) { return o->share[t]; }
size_t mf_objective_sides(const struct mf_objective *o) { return o->sides; }
size_t mf_objective_levels(const struct mf_objective *o, size_t side) { return o->side[side].levels; }
size_t mf_objective_entries(const struct mf_objective *o, size_t side) { return o->side[side].entries; }
