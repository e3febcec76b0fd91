/* See grid.h. The gradient stages minimise
 *
 *   F = c loss + lambda mean_i sum_p x (1 - x) + mu sum_p (mean x_p - fraction_p)^2 + errors of properties
 *
 * lambda grows over the stages and penalises grey values. The mean is held because of the later cut at the exact volume
 * fraction: it spoils the correlations of a field whose mean has drifted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/grid.h"
#include "src/recon/meanfield.h"
#include "src/recon/phases.h"

enum { STEPS_MAX = 3 + 2 * MF_RAMP_STAGES, LEAST = 4 /* evaluations of a stage, on the average */ };
static const struct mf_ramp USUAL = {5, 0.03, 1, 0.5};
static const double MU = 1e4, SCALE = 1e4;
/* Factor by which targets of slices overshoot the mean slice's error (objective.h). A stage may follow completely, so
 * with a factor above 1 the errors of successive stages would grow. */
static const double GAIN = 1;

struct mf_extent mf_grid_extent(const struct mf_grid *r)
{
    return (struct mf_extent){r->fields, r->slab.count, r->slab.dims[1] * r->slab.dims[2]};
}

double mf_grid_voxels(const struct mf_grid *r)
{
    return (double)r->slab.dims[0] * (double)r->slab.dims[1] * (double)r->slab.dims[2];
}

/* Sums over all planes in global order; what every rank has of the others' planes is exactly zero. */
void mf_grid_add(void *context, size_t n, const double *values, int largest, double *total)
{
    struct mf_grid *r = context;
    size_t nz = r->slab.dims[0];

    if (r->comm->size > 1) {
        memset(r->global, 0, nz * n * sizeof *r->global);
        memcpy(r->global + r->slab.first * n, values, r->slab.count * n * sizeof *values);
        mf_comm_sum(r->comm, nz * n, r->global);
        values = r->global;
    }
    for (size_t k = 0; k < n; ++k) {
        total[k] = 0;
        for (size_t z = 0; z < nz; ++z) {
            double v = values[z * n + k];

            total[k] = (int)k == largest ? (v > total[k] ? v : total[k]) : total[k] + v;
        }
    }
}

/* Means of the fields over the volume. */
static void means(struct mf_grid *r, const float *x, double *mean)
{
    MF_PHASE(&mf_phase_field);

    mf_phase_count(mf_cost_pass(mf_grid_extent(r), 1, 1));
    r->backend->field->sum(r->queue, mf_grid_extent(r), x, r->plane);
    r->backend->sync(r->queue);
    for (size_t p = 0; p < r->fields; ++p) {
        mf_grid_add(r, 1, r->plane + p * r->slab.count, -1, &mean[p]);
        mean[p] /= mf_grid_voxels(r);
    }
}

static void clear(struct mf_grid *r, struct mf_extent e, float *g)
{
    MF_PHASE(&mf_phase_field);

    mf_phase_count(mf_cost_pass(e, 1, 0));
    r->backend->field->fill(r->queue, e.phases * e.planes * e.plane, 0, g);
}

void mf_grid_hold(struct mf_grid *r, float value, float *x)
{
    struct mf_extent e = mf_grid_extent(r);

    if (!r->fixed) return;
    MF_PHASE(&mf_phase_field);
    mf_phase_count(mf_cost_pass(e, 2, 0));
    r->backend->label->hold(r->queue, e, r->fixed, value, x);
}

/* Leaves the grey of every plane in r->plane. */
static void guide(struct mf_grid *r, struct mf_extent e, const float *shift, const float *x, float *g)
{
    MF_PHASE(&mf_phase_field);

    mf_phase_count(mf_cost_guide(e));
    r->backend->field->guide(r->queue, e, (float)(r->lambda / mf_grid_voxels(r)), shift, x, g, r->plane, NULL);
}

static int evaluate(void *context, float *x, float *g, double *loss)
{
    struct mf_grid *r = context;
    struct mf_extent e = mf_grid_extent(r);
    double mean[MF_PHASES_MAX], grey, pull = 0;
    float shift[MF_PHASES_MAX];

    means(r, x, mean);
    for (size_t p = 0; p < r->fields; ++p) {
        double off = mean[p] - r->fraction[p];

        pull += MU * off * off;
        shift[p] = (float)(2 * MU * off / mf_grid_voxels(r));
    }
    clear(r, e, g);
    mf_objective_draw(r->objective, (uint64_t)(r->before + r->optimiser.evaluations));
    mf_objective_start(r->objective, x, g, r->scale);
    guide(r, e, shift, x, g);
    mf_objective_finish(r->objective, &r->loss);
    if (r->property && !mf_grid_uses_mean_field(r)) /* which melts the field first */
        MF_TRY(mf_property_eval(r->property, x, g, SCALE, 1, INFINITY, &pull));
    mf_grid_hold(r, 0, g);
    if (r->slab.count > 0 && mf_fault("recon.gradient")) r->backend->field->fill(r->queue, 1, NAN, g);
    mf_grid_add(r, 1, r->plane, -1, &grey);
    *loss = r->scale * r->loss + r->lambda * grey / mf_grid_voxels(r) + pull;
    if (!isfinite(*loss)) return mf_fail(MF_NUMERIC, "the loss is not finite");
    if (!r->optimiser.aside) mf_grid_snapshot(r, x);
    return MF_OK;
}

/* One row of convergence: without memory for it the run goes on, it only lacks the row. */
static void note_metrics(struct mf_grid *r, long evaluations, double seconds)
{
    static const char *const keys[] = {"conductivity_z", "conductivity_y", "conductivity_x"};
    const struct mf_property_opts *p = &r->opts->property;
    size_t n = 5;
    struct mf_metric row[5 + MF_PROPERTIES] = {
        {.key = "seed", .kind = MF_METRIC_INT, .whole = r->opts->seed},
        {.key = "step", .kind = MF_METRIC_INT, .whole = (uint64_t)evaluations},
        {.key = "time", .kind = MF_METRIC_SECONDS, .real = seconds},
        {.key = "loss", .kind = MF_METRIC_REAL, .real = r->loss},
        {.key = "stage", .kind = MF_METRIC_TEXT, .text = r->stage ? r->stage : "start"}};

    for (size_t i = 0; r->property && i < p->count; ++i)
        if (mf_property_last(r->property, i) > 0)
            row[n++] = (struct mf_metric){
                .key = keys[p->at[i].axis], .kind = MF_METRIC_REAL, .real = mf_property_last(r->property, i) * p->unit};
    mf_metrics_row(&r->metrics, n, row);
}

void mf_grid_note(struct mf_grid *r, long evaluations)
{
    struct mf_solve_result *out = r->result;
    double seconds = mf_now() - r->start, *more;

    note_metrics(r, evaluations, seconds);
    more = realloc(out->convergence, (out->rows + 1) * 3 * sizeof *more);
    if (!more) return;
    out->convergence = more;
    more[out->rows * 3] = (double)evaluations;
    more[out->rows * 3 + 1] = seconds;
    more[out->rows * 3 + 2] = r->loss;
    ++out->rows;
}

/* Evaluations at the last row. */
static long noted(const struct mf_solve_result *out)
{
    return out->rows ? (long)out->convergence[3 * (out->rows - 1)] : 0;
}

/* The remaining time is that of the whole run: of all grids by their voxels, of what comes behind them, and of the runs
 * that follow. */
static void say_progress(const struct mf_grid *r, long evaluations, long total, const char *text)
{
    const struct mf_solve_opts *o = r->opts;
    const double turns = o->turns > 1 ? (double)o->turns : 1;
    double done = 0, one = o->after;

    for (long level = r->grids - 1; level >= 0; --level) {
        const double share = mf_solve_share(r->slab.dims, (size_t)level);
        const double each = (double)mf_grid_evaluations(o, level == 0);

        one += share * each;
        if (level >= r->level) done += share * (level > r->level ? each : fmin(each, (double)evaluations));
    }
    mf_progress_of("evaluations", r->before + evaluations, total, (double)o->turn * one + done, turns * one, text);
}

/* A step may take several evaluations, so a row is written at the first step at or past a multiple of the interval. */
int mf_grid_after_step(struct mf_grid *r, long evaluations, double loss)
{
    const long all = r->before + evaluations, every = r->opts->report_every > 0 ? r->opts->report_every : 10;
    const long coarse = r->level * mf_grid_evaluations(r->opts, 0);
    const long planned = r->before + coarse + mf_grid_evaluations(r->opts, 1);
    char text[80];

    (void)loss;
    if (all / every > noted(r->result) / every) mf_grid_note(r, all);
    snprintf(text, sizeof text, "%s, loss %.4e", r->stage, r->loss);
    say_progress(r, evaluations, all < planned ? planned : all + 1, text);
    r->stepped = r->loss;
    return mf_objective_renew(r->objective) ? mf_grid_keep(r, all, NULL) : mf_grid_asked(r) != MF_OK;
}

static int after_step(void *context, long evaluations, double loss)
{
    return mf_grid_after_step(context, evaluations, loss);
}

static int descend(struct mf_grid *r, const char *stage, double lambda, long evaluations)
{
    const struct mf_problem problem = {r, evaluate, mf_grid_add, after_step, mf_grid_asked};

    r->stage = stage;
    r->lambda = lambda;
    MF_TRY(mf_optimiser_run(&r->optimiser, &problem, evaluations));
    return r->failed;
}

/* Number of the S2 term; terms when there is none. */
size_t mf_grid_s2_term(const struct mf_objective_opts *o)
{
    size_t t = 0;

    while (t < o->terms && (o->term[t].row->kind != MF_S2 || o->term[t].weight == 0)) ++t;
    return t;
}

void mf_grid_correct(struct mf_grid *r)
{
    mf_objective_correct(r->objective, mf_grid_s2_term(&r->opts->objective), GAIN, r->mean_error);
    r->corrected = 1;
}

/* Every slice is compared separately. The mean slice's error is small compared with that of a slice, but it is what
 * counts in the end. */
static void correct(struct mf_grid *r)
{
    size_t t = mf_grid_s2_term(&r->opts->objective);

    if (mf_objective_sides(r->objective) == 1 || t == r->opts->objective.terms || r->opts->objective.compat ||
        r->opts->objective.mean)
        return;
    mf_objective_mean_error(r->objective, t, r->optimiser.x, r->mean_error);
    mf_grid_correct(r);
}

/* A step of the script of a grid. */
struct step {
    const char *stage; /* NULL: no descent, only a correction */
    double lambda;
    long evaluations;
    int mean_field; /* instead of a descent */
};

static size_t push(struct step *script, size_t n, const char *stage, double lambda, long evaluations)
{
    script[n] = (struct step){stage, lambda, evaluations, 0};
    return n + 1;
}

static const struct mf_ramp *ramp_of(const struct mf_solve_opts *o) { return o->ramp ? o->ramp : &USUAL; }

long mf_grid_evaluations(const struct mf_solve_opts *o, int last)
{
    return !last && o->coarse_evaluations ? o->coarse_evaluations : o->evaluations;
}

int mf_grid_one_descent(const struct mf_solve_opts *o, int last)
{
    return mf_grid_evaluations(o, last) < (2 + (last ? ramp_of(o)->stages : 0)) * LEAST;
}

int mf_grid_uses_mean_field(const struct mf_grid *r)
{
    return r->level == 0 && mf_solve_mean_field(r->slab.dims, r->target, r->opts);
}

/* The script: two descents; on the last grid, then mean-field annealing or the stages of growing lambda. Each descent
 * begins with an extra evaluation, so few evaluations are used for one descent. */
static size_t script_of(const struct mf_grid *r, int last, struct step script[STEPS_MAX])
{
    const struct mf_ramp *ramp = ramp_of(r->opts);
    const int annealed = last && mf_grid_uses_mean_field(r);
    const double share = annealed ? MF_SOLVE_BEFORE : last ? ramp->share : 1;
    long all = mf_grid_evaluations(r->opts, last), first = (long)(share * (double)all), rest = all - first;
    size_t n;

    MF_ASSERT(ramp->stages > 1 && ramp->stages <= MF_RAMP_STAGES);
    if (mf_grid_one_descent(r->opts, last)) return push(script, 0, "descend", 0, all);
    n = push(script, 0, "descend", 0, first / 2);
    n = push(script, n, NULL, 0, 0);
    n = push(script, n, "descend", 0, first - first / 2);
    if (annealed) {
        n = push(script, n, "binarise", 0, rest);
        script[n - 1].mean_field = 1;
        return n;
    }
    for (int s = 0; last && s < ramp->stages; ++s) {
        double lambda = ramp->first * pow(ramp->last / ramp->first, s / (double)(ramp->stages - 1));

        n = push(script, n, NULL, 0, 0);
        n = push(script, n, "binarise", lambda, rest * (s + 1) / ramp->stages - rest * s / ramp->stages);
    }
    return n;
}

/* By the objective at work: |d| is as it is once mf_grid_sharpen() has replaced that of the descent. */
void mf_grid_loss(struct mf_grid *r, float *x, double *loss) { mf_objective_eval(r->objective, x, NULL, 1, loss); }

/* c: the loss of a mean square over slices as it is; any other norm is brought to the size that one has at the start.
 */
static double scale_for(struct mf_grid *r, double first)
{
    if (r->opts->objective.norm == MF_MSE && !r->opts->objective.compat) return SCALE;
    return first > 0 ? 10 / first : 1;
}

static void grid_name(const struct mf_grid *r, char *text, size_t size)
{
    if (r->slab.dims[0] > 1)
        snprintf(text, size, "%zu x %zu x %zu", r->slab.dims[0], r->slab.dims[1], r->slab.dims[2]);
    else
        snprintf(text, size, "%zu x %zu", r->slab.dims[1], r->slab.dims[2]);
}

static int has_rounded(const struct mf_grid *r)
{
    for (size_t t = 0; t < r->opts->objective.terms; ++t)
        if (r->opts->objective.term[t].row->kind == MF_VARIATION) return mf_grid_rounds(r);
    return 0;
}

/* First loss, its shares, the scale; said once. */
int mf_grid_look(struct mf_grid *r)
{
    char name[80], shares[256] = "";
    double first;

    mf_grid_loss(r, r->optimiser.x, &first);
    if (!isfinite(first))
        return mf_fail(MF_NUMERIC, "the loss of the initial field is not finite; try: smaller --descriptor-weights, "
                                   "--level-weights or --phase-weights");
    r->scale = scale_for(r, first);
    r->loss = r->stepped = first;
    r->seen = 1;
    for (size_t t = 0; t < r->opts->objective.terms; ++t) {
        size_t used = strlen(shares);

        r->result->share[t] = mf_objective_share(r->objective, t);
        snprintf(shares + used, sizeof shares - used, "%s%s %.3g %%", t ? ", " : "",
                 r->opts->objective.term[t].row->name, 100 * r->result->share[t]);
    }
    grid_name(r, name, sizeof name);
    mf_info("grid %s (%sy x), %zu pyramid level%s, first loss %.4e: %s%s", name, r->slab.dims[0] > 1 ? "z " : "",
            mf_objective_levels(r->objective, 0), MF_S(mf_objective_levels(r->objective, 0)), first, shares,
            has_rounded(r) ? " (the descent smooths small jumps of Variation, the final loss does not)" : "");
    mf_grid_note(r, r->before);
    return MF_OK;
}

int mf_grid_in_mean_field(const struct mf_grid *r)
{
    struct step script[STEPS_MAX];
    const size_t n = script_of(r, r->level == 0, script);

    return (size_t)r->step < n && script[r->step].mean_field;
}

static int anneal(struct mf_grid *r, const struct step *s)
{
    if (!r->optimiser.under_way) r->result->loss = r->loss;
    r->stage = s->stage;
    r->lambda = 0;
    return mf_meanfield_run(r, s->evaluations);
}

int mf_grid_descend(struct mf_grid *r, int last)
{
    struct step script[STEPS_MAX];
    size_t n = script_of(r, last, script);

    r->stage_start = mf_now();
    if (!r->optimiser.under_way) { /* else it was loaded */
        MF_PHASE(&mf_phase_descent);

        MF_TRY(mf_grid_look(r));
        r->step = 0;
        r->corrected = 0;
    }
    for (; (size_t)r->step < n; ++r->step) {
        const struct step *s = &script[r->step];
        const int binarises = s->lambda > 0 || s->mean_field;
        MF_PHASE(binarises || r->lambda > 0 ? &mf_phase_continuation : &mf_phase_descent);

        if (binarises && !r->result->binarise) r->result->binarise = r->before + r->optimiser.evaluations;
        if (s->mean_field)
            MF_TRY(anneal(r, s));
        else if (s->stage)
            MF_TRY(descend(r, s->stage, s->lambda, s->evaluations));
        else
            correct(r);
        if (r->leaving) return MF_OK;
    }
    r->result->seconds += mf_now() - r->stage_start;
    if (last) say_progress(r, r->optimiser.evaluations, r->before + r->optimiser.evaluations, "all evaluated");
    r->before += r->optimiser.evaluations;
    return MF_OK;
}
