/* Evaluates the loss (objective.h). One rank at a time works on a slice. Ranks exchange slices (mpi/redistribute.h),
 * and finally one vector of numbers per slice. */
#include "src/recon/objective_impl.h"

#include <math.h>
#include <string.h>

#include "kernels/segment.h"
#include "src/base/err.h"
#include "src/desc/phases.h"
#include "src/recon/phases.h"

/* One round: the slices that this rank holds now, all phases. */
struct round {
    struct mf_objective_side *side;
    struct mf_span span;
    size_t before;         /* slices of this rank in earlier rounds */
    struct mf_view *x, *g; /* [phases]; g->base NULL: no gradient */
    double share;          /* of one slice in the loss: 1 / (directions * slices), or 1 */
    double factor;
};

static struct mf_slice_task task_of(const struct mf_objective *o, const struct round *r, size_t t, size_t p)
{
    const struct mf_objective_side *s = r->side;
    struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);
    size_t entries = o->ops[t]->kind->entries(&desc), a = p, b = p;
    const int pair = mf_descriptor_is(o->opts.term[t].row, MF_OF_PAIRS), joint = mf_objective_joint(o, t);
    float *values = s->values[t];

    if (pair) mf_descriptor_pair(o->phases, p, &a, &b);
    if (values) values += (p * s->slices + r->span.first) * s->levels * entries;
    return (struct mf_slice_task){.x = r->x[a],
                                  .g = r->g[a],
                                  .y = r->x[b],
                                  .h = r->g[b],
                                  .fields = r->x,
                                  .slopes = r->g,
                                  .target = s->target[t] + p * s->levels * entries,
                                  .weight = o->weight[t],
                                  .power = o->opts.norm == MF_L1 ? 1 : 2,
                                  .scale = s->scale + (joint ? o->phases : a) * s->slices + r->span.first,
                                  .sum = s->a + (t * o->parts + p) * s->slices + r->span.first,
                                  .values = values,
                                  .tally = s->tally[t] ? s->tally[t] + p * entries : NULL,
                                  .phase = p,
                                  .pull = s->pull[t] ? s->pull[t] + r->before * s->pull_size[t] : NULL};
}

struct mf_cost mf_objective_cost(const struct mf_objective *o, const struct mf_objective_side *s, size_t t,
                                 size_t count, enum mf_cost_of what)
{
    struct mf_slice_desc desc = mf_objective_desc(o, s, s->levels);

    return o->opts.term[t].row->form->cost(&desc, count, what);
}

/* The same of the volume fractions that q comes from. */
static struct mf_cost mean_cost(const struct mf_objective *o, const struct round *r, enum mf_cost_of what)
{
    struct mf_slice_desc desc = mf_objective_desc(o, r->side, 1);

    return mf_cost_fraction(&desc, r->span.count, what);
}

/* What vf of a slice is multiplied by. */
static double part_of(const struct mf_objective *o, const struct mf_objective_side *s)
{
    size_t volume = o->slab.dims[0] * o->slab.dims[1] * o->slab.dims[2];

    return o->opts.compat ? (double)(s->nu * s->nv) / (double)volume : 1;
}

/* q of every slice and phase from the slices' means; 1 with one phase. */
static void phase_weights(struct mf_objective *o, const struct round *r)
{
    const double one = 1, part = part_of(o, r->side);
    struct mf_objective_side *s = r->side;

    for (size_t p = 0; p < o->phases; ++p)
        for (size_t i = 0; i < r->span.count; ++i) s->q[p * s->slices + r->span.first + i] = o->opts.phase_weight[p];
    if (!mf_objective_weighs(&o->opts)) return;
    for (size_t p = 0; p < o->phases; ++p) {
        struct mf_slice_task task = {
            .x = r->x[p], .target = o->fixed, .weight = &one, .power = 1, .sum = s->vf + p * s->slices + r->span.first};
        MF_PHASE(&mf_phase_fraction);

        mf_phase_count(mean_cost(o, r, MF_COST_VALUES));
        o->backend->slices->frac->eval(s->mean, &task);
    }
    o->backend->sync(o->queue);
    for (size_t p = 0; p < o->phases; ++p)
        for (size_t i = p * s->slices + r->span.first; i < p * s->slices + r->span.first + r->span.count; ++i) {
            s->vf[i] *= part;
            s->q[i] = (1 - s->vf[i]) * (1 - s->vf[i]) + 0.01;
        }
}

static double power_of(double q, int power) { return power == 1 ? q : q * q; }

double mf_objective_norm(enum mf_norm norm, double a, double m, double *slope)
{
    switch (norm) {
    case MF_MSE: *slope = 1 / m; return a / m;
    case MF_RMS: *slope = a > 0 ? 0.5 / sqrt(a * m) : 0; return sqrt(a / m);
    case MF_L2: *slope = a > 0 ? 0.5 / sqrt(a) : 0; return sqrt(a);
    default: *slope = 1; return a;
    }
}

/* E of slice i from its sums, dE/dA into *slope; the shares of the terms into sums[1..]. */
static double slice_loss(const struct mf_objective *o, const struct mf_objective_side *s, size_t i, double *slope,
                         double *sums)
{
    double a = 0;
    int power = o->opts.norm == MF_L1 ? 1 : 2;

    for (size_t t = 0; t < o->opts.terms; ++t) {
        double part = 0;

        for (size_t p = 0; o->ops[t] && p < mf_objective_parts(o, t); ++p) {
            double q = mf_objective_joint(o, t) ? 1 : s->q[p * s->slices + i];

            part += power_of(q, power) * s->a[(t * o->parts + p) * s->slices + i];
        }
        sums[1 + t] = part;
        a += part;
    }
    return mf_objective_norm(o->opts.norm, a, (double)s->entries, slope);
}

/* What the calls of a segment depend on beside the objective itself; every member a word. */
struct key {
    unsigned long name;
    const float *x, *g;
    size_t side, first, gradient; /* side: MF_SIDES, all of them */
};

/* Tasks that wait for each other go to the back end at once. */
static void run_waiting(struct mf_objective *o)
{
    if (o->calls == 0) return;
    MF_PHASE(o->phase[0]);

    o->backend->slices->all(o->queue, o->call, o->calls);
    o->calls = 0;
}

/* What is seen of an image is seen once. */
static int help_with(const struct mf_objective *o, size_t t, struct mf_slice_task *task)
{
    task->values = NULL;
    task->tally = NULL;
    return o->ops[t]->shares;
}

static void run_calls(struct mf_objective *o, const struct round *r, int gradient)
{
    for (size_t t = 0; t < o->opts.terms; ++t)
        for (size_t p = 0; o->ops[t] && p < mf_objective_parts(o, t); ++p) {
            struct mf_slice_task task = task_of(o, r, t, p);
            MF_PHASE(o->phase[t]);

            if (o->helps && !help_with(o, t, &task)) continue;
            if (!o->helps)
                mf_phase_count(
                    mf_objective_cost(o, r->side, t, r->span.count, gradient ? MF_COST_GRADIENT : MF_COST_VALUES));
            if (!gradient || mf_descriptor_is(o->opts.term[t].row, MF_IS_COUNTED)) task.g.base = task.h.base = NULL;
            if (o->calls == o->most_calls) run_waiting(o);
            if (o->backend->slices->all)
                o->call[o->calls++] = (struct mf_slice_call){o->ops[t], r->side->plan[t], task};
            else
                o->ops[t]->eval(r->side->plan[t], &task);
        }
    if (!o->waits) run_waiting(o);
}

/* An evaluation that is one segment has no others in it; descriptors by example change with what they match. */
static void run_terms(struct mf_objective *o, const struct round *r, int gradient)
{
    const struct key key = {.name = o->name,
                            .x = r->x[0].base,
                            .g = gradient ? r->g[0].base : NULL,
                            .side = (size_t)(r->side - o->side),
                            .first = r->span.first,
                            .gradient = gradient != 0};

    if (o->whole || o->drawn || o->side[0].example.x) {
        run_calls(o, r, gradient);
        return;
    }
    if (mf_segment_begin(o->queue, &key, sizeof key)) run_calls(o, r, gradient);
    mf_segment_end(o->queue);
}

/* The gradient through q: the same number for every pixel of a slice, dq/dx = -2 (1 - vf) / pixels. */
static void through_weights(struct mf_objective *o, const struct round *r)
{
    const double one = 1, part = part_of(o, r->side);
    int power = o->opts.norm == MF_L1 ? 1 : 2;
    struct mf_objective_side *s = r->side;

    o->backend->sync(o->queue); /* a is there, and scale is read */
    for (size_t p = 0; p < o->phases; ++p) {
        size_t from = p * s->slices;
        struct mf_slice_task task = {.x = r->x[p],
                                     .g = r->g[p],
                                     .target = o->fixed + 1,
                                     .weight = &one,
                                     .power = 1,
                                     .scale = s->scale + from + r->span.first};
        MF_PHASE(&mf_phase_fraction);

        mf_phase_count(mean_cost(o, r, MF_COST_GRADIENT));
        for (size_t i = r->span.first; i < r->span.first + r->span.count; ++i) {
            double q = s->q[from + i], a = 0;

            for (size_t t = 0; t < o->opts.terms; ++t)
                if (!mf_objective_joint(o, t)) a += s->a[(t * o->parts + p) * s->slices + i];
            s->scale[from + i] =
                r->factor * r->share * s->slope[i] * a * (power == 1 ? 1 : 2 * q) * -2 * (1 - s->vf[from + i]) * part;
        }
        o->backend->slices->frac->eval(s->mean, &task);
    }
}

static void set_scale(struct mf_objective *o, const struct round *r)
{
    struct mf_objective_side *s = r->side;
    int power = o->opts.norm == MF_L1 ? 1 : 2;

    for (size_t i = r->span.first; i < r->span.first + r->span.count; ++i) {
        const double scale = r->factor * r->share * s->slope[i];

        for (size_t p = 0; p < o->scales; ++p)
            s->scale[p * s->slices + i] = scale * (p < o->phases ? power_of(s->q[p * s->slices + i], power) : 1);
    }
}

/* Are the scales of all slices known before one of them is looked at? */
static int is_plain(const struct mf_objective *o)
{
    return !mf_objective_weighs(&o->opts) && !o->opts.mean && !o->drawn && !o->side[0].example.x &&
           o->opts.norm != MF_RMS && o->opts.norm != MF_L2;
}

/* Computes q, slopes and scales of the current slices. RMS and L2 need the whole norm before the gradient, so they take
 * one more forward pass. For a plain objective nothing is enqueued. */
static void weigh(struct mf_objective *o, const struct round *r, int gradient)
{
    int root = o->opts.norm == MF_RMS || o->opts.norm == MF_L2;
    size_t end = r->span.first + r->span.count;
    struct mf_objective_side *s = r->side;

    phase_weights(o, r);
    if (o->matching) mf_objective_match(o, r->side, r->x, r->span.count, r->before);
    for (size_t i = r->span.first; i < end; ++i) s->slope[i] = o->opts.norm == MF_MSE ? 1 / (double)s->entries : 1;
    if (root && gradient) {
        run_terms(o, r, 0);
        o->backend->sync(o->queue);
        for (size_t i = r->span.first; i < end; ++i) {
            double sums[MF_OBJECTIVE_SUMS];

            slice_loss(o, s, i, &s->slope[i], sums);
        }
    }
    set_scale(o, r);
    if (o->team.parts > 1) mf_comm_bcast(&o->crew, 0, s->scale, o->scales * s->slices * sizeof *s->scale);
}

/* Tasks of all fields point to the views of their round, so they cannot wait for other rounds. */
static int may_wait(const struct mf_objective *o)
{
    for (size_t t = 0; t < o->opts.terms; ++t)
        if (mf_descriptor_is(o->opts.term[t].row, MF_OF_ALL)) return 0;
    return o->whole && !o->apart;
}

/* Puts sums and gradient of the slices at hand on the queue. */
static void compare(struct mf_objective *o, const struct round *r)
{
    int gradient = r->g[0].base != NULL;

    if (!is_plain(o)) weigh(o, r, gradient);
    run_terms(o, r, gradient);
    if (gradient && mf_objective_weighs(&o->opts)) through_weights(o, r);
}

/* 1 / (directions * slices), or 1. */
static double share_of(const struct mf_objective *o, const struct mf_objective_side *s)
{
    return o->opts.compat ? 1 : 1 / ((double)o->sides * (double)(o->drawn ? s->draws : s->slices));
}

/* Scales of all slices of one direction, of a plain objective. */
static void weigh_side(struct mf_objective *o, size_t d, double factor)
{
    struct mf_objective_side *s = &o->side[d];
    const struct round r = {.side = s, .span = {0, s->slices}, .factor = factor, .share = share_of(o, s)};

    weigh(o, &r, 0);
}

/* Those of them that are drawn, one after the other. */
static void compare_drawn(struct mf_objective *o, const struct round *r)
{
    const struct mf_objective_side *s = r->side;

    for (size_t i = 0; i < r->span.count; ++i) {
        struct mf_view x[MF_PHASES_MAX] = {{0}}, g[MF_PHASES_MAX] = {{0}};
        struct round one = *r;

        if (!s->drawn[r->span.first + i]) continue;
        one.x = x;
        one.g = g;
        for (size_t p = 0; p < o->phases; ++p) {
            x[p] = r->x[p];
            g[p] = r->g[p];
            x[p].base += i * x[p].ss;
            if (g[p].base) g[p].base += i * g[p].ss;
            x[p].count = g[p].count = 1;
        }
        one.span = (struct mf_span){r->span.first + i, 1};
        one.before += i;
        one.share *= (double)s->drawn[one.span.first];
        compare(o, &one);
    }
}

/* The slices of one direction; gradients += into @p g. */
static void eval_slices(struct mf_objective *o, size_t d, float *x, float *g, double factor)
{
    struct mf_objective_side *s = &o->side[d];
    struct mf_view vx[MF_PHASES_MAX], vg[MF_PHASES_MAX] = {{0}};
    size_t voxels = mf_slab_voxels(&o->slab);
    struct round r = {.side = s, .x = vx, .g = vg, .factor = factor, .share = share_of(o, s)};

    for (size_t k = 0; k < mf_redistribute_rounds(s->redistribution[0]); ++k) {
        r.span = mf_redistribute_span(s->redistribution[0], k);
        for (size_t p = 0; p < o->phases; ++p) {
            mf_redistribute_fetch(s->redistribution[p], k, x + p * voxels, &vx[p]);
            if (g)
                mf_redistribute_open(s->redistribution[p], k, g + p * voxels, &vg[p]);
            else
                vg[p] = (struct mf_view){.base = NULL};
        }
        if (r.span.count) (o->drawn ? compare_drawn : compare)(o, &r);
        r.before += r.span.count;
        for (size_t p = 0; g && p < o->phases; ++p) mf_redistribute_add(s->redistribution[p], k, g + p * voxels);
    }
}

/* -- an image that several ranks work on -- */

static void eval_image(struct mf_objective *o, float *x, float *g, double factor)
{
    struct mf_objective_side *s = &o->side[0];
    struct mf_view vx[MF_PHASES_MAX], vg[MF_PHASES_MAX];
    const struct round r = {.side = s, .span = {0, 1}, .x = vx, .g = vg, .factor = factor, .share = share_of(o, s)};

    mf_objective_team_begin(o, x, g, vx, vg);
    (o->drawn ? compare_drawn : compare)(o, &r);
}

/* -- slices that are distributed dynamically -- */

/* Number of slices to take at a time: those that share a vector of a kernel; few at the end, so that no rank waits
 * long. */
static size_t handful(const struct mf_objective *o, size_t d)
{
    const size_t wanted = (d == MF_X ? 16 : 4) * (size_t)o->queue->threads;

    return wanted < o->batch ? wanted : o->batch / 2 * 2;
}

static void take_slices(struct mf_objective *o, size_t d, size_t k, double factor, int gradient)
{
    struct mf_objective_side *s = &o->side[d];
    struct mf_view vx[MF_PHASES_MAX], vg[MF_PHASES_MAX] = {{0}};
    struct round r = {.side = s, .x = vx, .g = vg, .factor = factor, .share = share_of(o, s)};
    const size_t most = handful(o, d);
    struct mf_taken taken;

    while (mf_redistribute_take(s->redistribution[0], k, most, &taken)) {
        for (size_t p = 0; p < o->phases; ++p) {
            mf_redistribute_taken(s->redistribution[p], k, &taken, &vx[p], gradient ? &vg[p] : NULL);
        }
        r.span = taken.span;
        memset(s->done + r.span.first, 1, r.span.count);
        compare(o, &r);
    }
}

/* Round @p k of the directions first .. end - 1. Directions with whole slices on every rank come first, while other
 * ranks still copy. The direction with the smallest pieces comes last. */
static void eval_dynamic(struct mf_objective *o, size_t first, size_t end, size_t k, float *x, float *g, double factor)
{
    struct mf_redistribution *plan[MF_SIDES * MF_PHASES_MAX];
    float *from[MF_SIDES * MF_PHASES_MAX], *to[MF_SIDES * MF_PHASES_MAX];
    size_t n = 0, voxels = mf_slab_voxels(&o->slab);

    for (size_t d = first; d < end; ++d)
        for (size_t p = 0; p < o->phases; ++p, ++n) {
            plan[n] = o->side[d].redistribution[p];
            from[n] = x + p * voxels;
            to[n] = g ? g + p * voxels : NULL;
        }
    mf_redistribute_spread(plan, n, k, from);
    if (first == MF_Y && k == 0) eval_slices(o, MF_Z, x, g, factor);
    for (size_t d = end; d-- > first;) take_slices(o, d, k, factor, g != NULL);
    if (g) mf_redistribute_gather(plan, n, k, to);
}

static size_t rounds_of(const struct mf_objective *o, size_t d)
{
    return mf_redistribute_rounds(o->side[d].redistribution[0]);
}

/* Gradients are added direction by direction; where all slices are in one round, both directions are distributed at
 * once. */
static void eval_all_dynamic(struct mf_objective *o, float *x, float *g, double factor)
{
    const int once = rounds_of(o, MF_Y) == 1 && rounds_of(o, MF_X) == 1;

    for (size_t d = MF_Y; d < o->sides; ++d) memset(o->side[d].done, 0, o->side[d].slices);
    if (once)
        eval_dynamic(o, MF_Y, MF_SIDES, 0, x, g, factor);
    else
        for (size_t d = MF_Y; d < o->sides; ++d)
            for (size_t k = 0; k < rounds_of(o, d); ++k) eval_dynamic(o, d, d + 1, k, x, g, factor);
    mf_objective_watch_drain(o);
}

/* Alike on all ranks. */
static int may_be_dynamic(const struct mf_objective *o)
{
    if (!is_plain(o) || o->sides == 1 || !o->slicewise) return 0;
    for (size_t d = MF_Y; d < o->sides; ++d) {
        for (size_t p = 0; p < o->phases; ++p)
            if (!mf_redistribute_is_dynamic(o->side[d].redistribution[p])) return 0;
        for (size_t t = 0; t < o->opts.terms; ++t)
            if (o->side[d].values[t]) return 0;
    }
    return 1;
}

/* Has this rank worked on slice @p i of direction @p d? */
static int is_mine(const struct mf_objective *o, size_t d, size_t i)
{
    const struct mf_objective_side *s = &o->side[d];
    struct mf_span share;

    if (o->dynamic && d != MF_Z) return s->done[i];
    share = mf_redistribute_share(s->redistribution[0]);
    return i >= share.first && i < share.first + share.count;
}

/* Losses of this rank's slices of one direction from what the kernels have left. */
static void collect(struct mf_objective *o, size_t d)
{
    struct mf_objective_side *s = &o->side[d];
    double share = share_of(o, s), ignored;

    if (o->opts.mean && o->comm->rank == 0) memcpy(s->sums, s->mean_sums, mf_objective_row(o) * sizeof *s->sums);
    if (o->opts.mean) return;
    for (size_t i = 0; i < s->slices; ++i) {
        double *sums = s->sums + i * mf_objective_row(o), times = o->drawn ? (double)s->drawn[i] : 1;

        if (times > 0 && is_mine(o, d, i)) sums[0] = times * share * slice_loss(o, s, i, &ignored, sums);
    }
}

float *mf_objective_beside(struct mf_objective *o, size_t d, float *g)
{
    if (!g || d == MF_Z || !o->apart) return g;
    o->backend->field->fill(o->queue, o->phases * mf_slab_voxels(&o->slab), 0, o->apart);
    return o->apart;
}

void mf_objective_beside_add(struct mf_objective *o, float *at, float *g)
{
    size_t n = o->phases * mf_slab_voxels(&o->slab);
    MF_PHASE(&mf_phase_field);

    if (at == g) return;
    mf_phase_count(mf_cost_pass((struct mf_extent){1, 1, n}, 4, 2));
    o->backend->field->axpy(o->queue, n, 1, at, g);
}

static void eval_side(struct mf_objective *o, size_t d, float *x, float *g, double factor)
{
    float *at;

    if (o->opts.mean) {
        mf_objective_mean_eval(o, d, x, g, factor);
        return;
    }
    at = mf_objective_beside(o, d, g);
    eval_slices(o, d, x, at, factor);
    mf_objective_beside_add(o, at, g);
}

static void eval_sides(struct mf_objective *o, float *x, float *g, double factor)
{
    if (o->team.parts > 1)
        eval_image(o, x, g, factor);
    else
        for (size_t d = 0; o->slicewise && d < o->sides; ++d) eval_side(o, d, x, g, factor);
    run_waiting(o);
    mf_objective_watch_drain(o);
}

/* Slices that are whole are compared while planes are on their way. */
static void eval_strips(struct mf_objective *o, float *x, float *g, double factor)
{
    mf_objective_strips_start(o, x);
    eval_slices(o, MF_Z, x, g, factor);
    mf_objective_strips_finish(o, g);
}

void mf_objective_start(struct mf_objective *o, float *x, float *g, double factor)
{
    const struct key key = {.name = o->name, .x = x, .g = g, .side = MF_SIDES, .gradient = g != NULL};

    mf_objective_aims_send(o);
    o->matching = o->side[0].example.x && (!g || !o->opts.hold || o->drawn || o->age == 0);
    o->whole = is_plain(o) && o->comm->size == 1 && !o->comm->transport && o->home == o->queue;
    o->waits = may_wait(o);
    for (size_t d = 0; is_plain(o) && d < o->sides; ++d) weigh_side(o, d, factor);
    o->dynamic = 0;
    if (is_plain(o) && mf_objective_strips_serve(o))
        eval_strips(o, x, g, factor);
    else if ((o->dynamic = may_be_dynamic(o)))
        eval_all_dynamic(o, x, g, factor);
    else if (!o->whole || mf_segment_begin(o->queue, &key, sizeof key))
        eval_sides(o, x, g, factor);
    if (o->whole) mf_segment_end(o->queue);
    if (o->space.space) mf_objective_space_eval(o, x, g, factor);
    o->age = o->side[0].example.x && g && o->opts.hold && !o->drawn ? o->age + 1 : 0;
}

/* Every rank's part of the losses, in one reduction. */
static void gather(struct mf_objective *o, size_t slices)
{
    const size_t n = mf_objective_sums(o, slices);
    double *volume = o->sums + slices * mf_objective_row(o);

    memset(o->sums, 0, n * sizeof *o->sums);
    o->backend->sync(o->queue);
    for (size_t d = 0; o->slicewise && d < o->sides; ++d) collect(o, d);
    if (o->space.space && o->comm->rank == 0) { /* what one rank has computed holds for all */
        volume[0] = o->space.loss;
        memcpy(volume + 1, o->space.sum, sizeof o->space.sum);
    }
    mf_comm_sum(o->comm, n, o->sums);
    mf_objective_watch_gather(o);
}

void mf_objective_finish(struct mf_objective *o, double *loss)
{
    const size_t row = mf_objective_row(o);
    size_t slices = 0;
    double share[MF_TERMS_MAX] = {0}, all = 0;

    for (size_t d = 0; d < o->sides; ++d) slices += o->side[d].slices;
    gather(o, slices);
    *loss = 0;
    for (size_t i = 0; i < slices; ++i) {
        *loss += o->sums[i * row];
        for (size_t t = 0; t < o->opts.terms; ++t) share[t] += o->sums[i * row + 1 + t];
    }
    if (o->space.space) {
        *loss += o->sums[slices * row];
        for (int k = 0; k < MF_WHOLE; ++k)
            if (o->space.term[k] < o->opts.terms)
                share[o->space.term[k]] = o->sums[slices * row + 1 + (size_t)k] * (double)slices;
    }
    for (size_t t = 0; t < o->opts.terms; ++t) all += share[t];
    for (size_t t = 0; t < o->opts.terms; ++t) o->share[t] = all > 0 ? share[t] / all : 0;
    o->drawn = 0;
}

void mf_objective_eval(struct mf_objective *o, float *x, float *g, double factor, double *loss)
{
    mf_objective_start(o, x, g, factor);
    mf_objective_finish(o, loss);
}

int mf_objective_renew(struct mf_objective *o)
{
    if (o->age >= o->opts.hold) o->age = 0;
    return o->age == 0;
}
