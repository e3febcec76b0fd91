/* See solve.h. What is minimised by the gradient stages is
 *
 *   F = c loss + lambda mean_i sum_p x (1 - x) + mu sum_p (mean x_p - fraction_p)^2
 *
 * lambda grows over the stages and makes grey expensive; the mean is held because a cut at the exact volume fraction
 * spoils the correlations of a field whose mean has drifted. */
#include "src/recon/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/recon/metrics.h"
#include "src/recon/polish.h"
#include "src/recon/select.h"
#include "src/recon/start.h"

enum { STAGES = 5, WIDTH = 2 + 3 * MF_HISTORY_MAX };
static const double LAMBDA_FIRST = 0.03, LAMBDA_LAST = 1, MU = 1e4, SCALE = 1e4, MAIN_SHARE = 0.5, SMOOTH = 0.1;
/* Slices of a volume are led to overshoot by so many times what their mean misses (objective.h). A stage may follow its
 * lead fully, so with more than 1 the misses of successive stages grow instead of shrinking. */
static const double LEAD = 1;

/* A run on one grid. */
struct grid {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    const struct mf_solve_opts *opts;
    const struct mf_target *target;
    struct mf_slab slab;
    size_t fields;
    double fraction[MF_PHASES_MAX]; /* of each field */
    struct mf_objective *objective;
    struct mf_optimiser optimiser;
    double *global;  /* [nz][WIDTH]: sums of all planes */
    double *plane;   /* [planes][1 + fields] */
    double *miss[3]; /* [fields][(2L-1)^2]: what the mean slice misses in S2 */
    double scale, lambda;
    double loss, start;   /* of the last evaluation; wall clock at the begin of the run */
    long before, planned; /* evaluations of coarser grids; of this run, for the progress line */
    const char *stage;
    int dry; /* memory is taken and given back, and nothing is computed */
    struct mf_solve_result *result;
    struct mf_metrics metrics;
};

size_t mf_solve_fields(const struct mf_target *target, const struct mf_solve_opts *opts)
{
    return opts->objective.multiphase && target->phases > 1 ? (size_t)target->phases : 1;
}

static struct mf_extent extent_of(const struct grid *r)
{
    return (struct mf_extent){r->fields, r->slab.count, r->slab.dims[1] * r->slab.dims[2]};
}

static double voxels_of(const struct grid *r)
{
    return (double)r->slab.dims[0] * (double)r->slab.dims[1] * (double)r->slab.dims[2];
}

/* Sums over all planes in global order; what every rank has of the others' planes is exactly zero. */
static void add(void *context, size_t n, const double *values, int largest, double *total)
{
    struct grid *r = context;
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
static void means(struct grid *r, const float *x, double *mean)
{
    r->backend->field->sum(r->queue, extent_of(r), x, r->plane);
    for (size_t p = 0; p < r->fields; ++p) {
        add(r, 1, r->plane + p * r->slab.count, -1, &mean[p]);
        mean[p] /= voxels_of(r);
    }
}

static int evaluate(void *context, float *x, float *g, double *loss)
{
    struct grid *r = context;
    struct mf_extent e = extent_of(r);
    double mean[MF_PHASES_MAX], grey, pull = 0;
    float shift[MF_PHASES_MAX];

    means(r, x, mean);
    for (size_t p = 0; p < r->fields; ++p) {
        double off = mean[p] - r->fraction[p];

        pull += MU * off * off;
        shift[p] = (float)(2 * MU * off / voxels_of(r));
    }
    r->backend->field->fill(r->queue, e.phases * e.planes * e.plane, 0, g);
    mf_objective_eval(r->objective, x, g, r->scale, &r->loss);
    r->backend->field->guide(r->queue, e, (float)(r->lambda / voxels_of(r)), shift, x, g, r->plane, NULL);
    add(r, 1, r->plane, -1, &grey);
    *loss = r->scale * r->loss + r->lambda * grey / voxels_of(r) + pull;
    if (!isfinite(*loss)) return mf_fail(MF_NUMERIC, "the loss is not finite");
    return MF_OK;
}

/* One row of convergence: without memory for it the run goes on, it only lacks the row. */
static void note(struct grid *r, long evaluations)
{
    struct mf_solve_result *out = r->result;
    double seconds = mf_now() - r->start, *more;

    mf_metrics_row(&r->metrics, r->opts->seed, evaluations, seconds, r->loss, r->stage ? r->stage : "start");
    more = realloc(out->convergence, (out->rows + 1) * 3 * sizeof *more);
    if (!more) return;
    out->convergence = more;
    more[out->rows * 3] = (double)evaluations;
    more[out->rows * 3 + 1] = seconds;
    more[out->rows * 3 + 2] = r->loss;
    ++out->rows;
}

static int after_step(void *context, long evaluations, double loss)
{
    struct grid *r = context;
    long all = r->before + evaluations;
    char text[80];

    (void)loss;
    if (all % (r->opts->report_every > 0 ? r->opts->report_every : 10) == 0) note(r, all);
    snprintf(text, sizeof text, "%s, loss %.4e", r->stage, r->loss);
    mf_progress("evaluations", evaluations < r->planned ? evaluations : r->planned - 1, r->planned, text);
    return 0;
}

static int descend(struct grid *r, const char *stage, double lambda, long evaluations)
{
    const struct mf_problem problem = {r, evaluate, add, after_step};

    r->stage = stage;
    r->lambda = lambda;
    if (r->opts->method == MF_ADAM) return mf_adam_run(&r->optimiser, &problem, evaluations, &r->opts->adam);
    return mf_lbfgs_run(&r->optimiser, &problem, evaluations, r->opts->tolerance);
}

/* Number of the S2 term; terms when there is none. */
static size_t s2_term(const struct mf_objective_opts *o)
{
    size_t t = 0;

    while (t < o->terms && (o->term[t].row->kind != MF_S2 || o->term[t].weight == 0)) ++t;
    return t;
}

/* Every slice is compared by itself; what their mean misses is small beside that, and is what counts in the end. */
static void lead(struct grid *r)
{
    size_t t = s2_term(&r->opts->objective);

    if (mf_objective_sides(r->objective) == 1 || t == r->opts->objective.terms || r->opts->objective.compat) return;
    mf_objective_miss(r->objective, t, r->optimiser.x, r->miss);
    mf_objective_lead(r->objective, t, LEAD, r->miss);
}

/* Stages of growing lambda: geometric from the first to the last. */
static int blacken(struct grid *r, long evaluations)
{
    for (int s = 0; s < STAGES; ++s) {
        double lambda = LAMBDA_FIRST * pow(LAMBDA_LAST / LAMBDA_FIRST, s / (double)(STAGES - 1));

        lead(r);
        MF_TRY(descend(r, "binarise", lambda, evaluations * (s + 1) / STAGES - evaluations * s / STAGES));
    }
    return MF_OK;
}

/* Share of voxels that are neither nearly 0 nor nearly 1 in some field. */
static double grey_share(struct grid *r, const float *x)
{
    size_t n = mf_slab_voxels(&r->slab);
    int64_t grey = 0;

    for (size_t i = 0; i < n; ++i) {
        int is = 0;

        for (size_t p = 0; p < r->fields; ++p) is |= x[p * n + i] > 0.05f && x[p * n + i] < 0.95f;
        grey += is;
    }
    mf_comm_sum_int(r->comm, 1, &grey);
    return (double)grey / voxels_of(r);
}

/* Loss of a field with |d| as it is. */
static void plain_loss(struct grid *r, float *x, double *loss) { mf_objective_eval(r->objective, x, NULL, 1, loss); }

/* Volume fractions of the target, meant over its sides. */
static void fractions(const struct mf_target *target, size_t fields, double *fraction)
{
    for (size_t p = 0; p < fields; ++p) {
        size_t phase = fields == 1 && target->phases > 1 ? 1 : p;

        fraction[p] = 0;
        for (int s = 0; s < target->sides; ++s)
            fraction[p] += target->side[s].fraction[phase * target->side[s].levels] / target->sides;
    }
}

static void grid_close(struct grid *r)
{
    mf_objective_free(r->objective);
    r->objective = NULL;
    mf_optimiser_free(&r->optimiser);
    mf_arena_give(r->queue->arena, r->global);
    mf_arena_give(r->queue->arena, r->plane);
    mf_arena_give(r->queue->arena, r->miss[0]);
    r->miss[0] = NULL;
    r->global = r->plane = NULL;
}

static int grid_memory(struct grid *r, size_t history)
{
    size_t window = r->fields * (2 * r->target->lag - 1) * (2 * r->target->lag - 1);

    r->global = mf_arena_take(r->queue->arena, r->slab.dims[0] * WIDTH * sizeof(double), "plane sums");
    r->plane = mf_arena_take(r->queue->arena, (r->slab.count + 1) * (1 + r->fields) * sizeof(double), "plane sums");
    r->miss[0] = mf_arena_take(r->queue->arena, 3 * window * sizeof(double), "S2 of the mean slice");
    if (!r->global || !r->plane || !r->miss[0]) return MF_MEMORY;
    for (int d = 1; d < 3; ++d) r->miss[d] = r->miss[d - 1] + window;
    return mf_optimiser_new(&r->optimiser, r->backend, r->queue, extent_of(r), history);
}

static int grid_open(struct grid *r, const size_t dims[3], size_t level, double smooth)
{
    struct mf_objective_opts objective = r->opts->objective;

    r->slab = mf_slab_of(r->comm, dims, r->comm->rank);
    objective.level_first += level;
    objective.smooth = smooth;
    if (objective.levels_max > level) objective.levels_max -= level;
    MF_TRY(mf_agree(r->comm, grid_memory(r, r->opts->method == MF_ADAM ? 1 : r->opts->history)));
    return mf_objective_new(r->comm, r->backend, r->queue, &r->slab, r->fields, r->target, &objective, &r->objective);
}

/* The caller's initial field on this grid. */
static int begin_from(struct grid *r, const struct mf_micro *start)
{
    float *field = NULL;
    int rc = MF_OK;

    if (start->grey && start->fields != (int)r->fields)
        rc = mf_fail(MF_INPUT, "the initial field has %d phases, %zu are optimised", start->fields, r->fields);
    if (rc == MF_OK && !start->grey) {
        field = mf_arena_take(r->queue->arena, r->fields * mf_slab_voxels(&start->slab) * sizeof *field, "start");
        if (field)
            mf_start_labels(&start->slab, r->fields, start->phase, field);
        else
            rc = MF_MEMORY;
    }
    rc = mf_agree(r->comm, rc);
    if (rc == MF_OK)
        rc = mf_start_refine(r->comm, r->queue->arena, &start->slab, start->grey ? start->grey : field, &r->slab,
                             r->fields, r->optimiser.x);
    mf_arena_give(r->queue->arena, field);
    return rc;
}

static int begin(struct grid *r)
{
    if (r->opts->start)
        MF_TRY(begin_from(r, r->opts->start));
    else
        mf_start_noise(&r->slab, r->fields, r->fraction, r->opts->seed, r->optimiser.x);
    r->backend->field->project(r->queue, extent_of(r), r->optimiser.x);
    return MF_OK;
}

/* c: the loss of a mean square over slices as it is; any other norm is brought to the size that one has at the start.
 */
static double scale_for(struct grid *r, double first)
{
    if (r->opts->objective.norm == MF_MSE && !r->opts->objective.compat) return SCALE;
    return first > 0 ? 10 / first : 1;
}

static void grid_name(const struct grid *r, char *text, size_t size)
{
    if (r->slab.dims[0] > 1)
        snprintf(text, size, "%zu x %zu x %zu", r->slab.dims[0], r->slab.dims[1], r->slab.dims[2]);
    else
        snprintf(text, size, "%zu x %zu", r->slab.dims[1], r->slab.dims[2]);
}

/* First loss, its shares, the scale; said once. */
static void look(struct grid *r)
{
    char name[80], shares[256] = "";
    double first;

    plain_loss(r, r->optimiser.x, &first);
    r->scale = scale_for(r, first);
    r->loss = first;
    for (size_t t = 0; t < r->opts->objective.terms; ++t) {
        size_t used = strlen(shares);

        r->result->share[t] = mf_objective_share(r->objective, t);
        snprintf(shares + used, sizeof shares - used, "%s%s %.3g %%", t ? ", " : "",
                 r->opts->objective.term[t].row->name, 100 * r->result->share[t]);
    }
    grid_name(r, name, sizeof name);
    mf_info("grid %s (z y x), %zu pyramid level%s, first loss %.4e: %s", name, mf_objective_levels(r->objective, 0),
            mf_objective_levels(r->objective, 0) == 1 ? "" : "s", first, shares);
}

static int gradient_stages(struct grid *r, int last)
{
    long all = r->opts->evaluations, first = last ? (long)(MAIN_SHARE * (double)all) : all;
    double start = mf_now();

    r->planned = all;
    look(r);
    note(r, r->before);
    MF_TRY(descend(r, "descend", 0, first / 2));
    lead(r);
    MF_TRY(descend(r, "descend", 0, first - first / 2));
    if (last) MF_TRY(blacken(r, all - first));
    r->result->seconds += mf_now() - start;
    r->before += r->optimiser.evaluations;
    mf_progress("evaluations", r->planned, r->planned, "done");
    return MF_OK;
}

/* From the grey field in optimiser.x to labels with exact counts. */
static int cut(struct grid *r)
{
    uint64_t counts[MF_PHASES_MAX];
    double fraction[MF_PHASES_MAX];
    int phases = r->result->phases;

    memcpy(fraction, r->fraction, sizeof fraction);
    if (r->fields == 1) {
        fraction[1] = r->fraction[0];
        fraction[0] = 1 - fraction[1];
    }
    mf_phase_counts((uint64_t)voxels_of(r), (size_t)phases, fraction, counts);
    r->result->grey = grey_share(r, r->optimiser.x);
    return mf_binarise(r->comm, &r->slab, r->fields, r->optimiser.x, (size_t)phases, counts, r->optimiser.d,
                       (uint8_t *)r->optimiser.g_new, r->result->label);
}

static struct mf_polish polish_of(const struct grid *r)
{
    return (struct mf_polish){.comm = r->comm,
                              .backend = r->backend,
                              .queue = r->queue,
                              .slab = r->slab,
                              .fields = r->fields,
                              .phases = r->result->phases,
                              .target = r->target,
                              .objective = &r->opts->objective,
                              .x = r->optimiser.x,
                              .g = r->optimiser.g,
                              .label = r->result->label,
                              .rounds = r->opts->polish_rounds};
}

static int polish(struct grid *r)
{
    struct mf_polish p = polish_of(r);
    double start = mf_now();

    MF_TRY(mf_polish_run(&p));
    r->result->swaps_tried = p.tried;
    r->result->swaps = p.swaps;
    r->result->polish_seconds = mf_now() - start;
    mf_info("polish: %ld swaps of %ld tried, %.2f s", p.swaps, p.tried, r->result->polish_seconds);
    return MF_OK;
}

static int polishes(const struct grid *r)
{
    return r->opts->polish && s2_term(&r->opts->objective) < r->opts->objective.terms;
}

/* Losses of the labels; the objective that rounds |d| has been replaced by one that does not. */
static int finish(struct grid *r)
{
    struct mf_solve_result *out = r->result;

    plain_loss(r, r->optimiser.x, &out->loss);
    MF_TRY(cut(r));
    mf_optimiser_trim(&r->optimiser);
    mf_start_labels(&r->slab, r->fields, out->label, r->optimiser.x);
    plain_loss(r, r->optimiser.x, &out->loss_cut);
    out->loss_final = out->loss_cut;
    if (polishes(r)) {
        MF_TRY(polish(r));
        mf_start_labels(&r->slab, r->fields, out->label, r->optimiser.x);
        plain_loss(r, r->optimiser.x, &out->loss_final);
    } else if (r->opts->polish) {
        mf_info("no polish: it needs S2 among the descriptors");
    }
    r->loss = out->loss_final;
    r->stage = "final";
    note(r, r->before);
    return MF_OK;
}

/* The objective of the last stage replaces the one of the gradient stages. */
static int sharpen(struct grid *r)
{
    struct mf_objective_opts o = r->opts->objective;

    mf_objective_free(r->objective);
    r->objective = NULL;
    o.smooth = 0;
    return mf_objective_new(r->comm, r->backend, r->queue, &r->slab, r->fields, r->target, &o, &r->objective);
}

/* What the start of a grid has in use for a moment: planes of @p from, or of the caller's field. Local. */
static int measure_start(struct grid *r, const struct mf_slab *from)
{
    const struct mf_micro *start = r->opts->start;
    ptrdiff_t bytes = 0;

    if (!from && !start) return MF_OK;
    if (!from && !start->grey) bytes = (ptrdiff_t)(r->fields * mf_slab_voxels(&start->slab) * sizeof(float));
    if (!from) from = &start->slab;
    bytes += (ptrdiff_t)((from->count + 1) * from->dims[1] * from->dims[2] * sizeof(float));
    MF_TRY(mf_arena_book(r->queue->arena, bytes, "start"));
    return mf_arena_book(r->queue->arena, -bytes, "start");
}

static int measure_finish(struct grid *r)
{
    struct mf_polish p = polish_of(r);

    mf_optimiser_trim(&r->optimiser);
    return polishes(r) ? mf_polish_measure(&p) : MF_OK;
}

/* One grid of a coarse-to-fine run: starts from @p coarse (over @p from) or anew, leaves its field in the optimiser. */
static int run_grid(struct grid *r, const size_t dims[3], size_t level, const struct mf_slab *from, const float *coarse)
{
    double smooth = r->opts->objective.compat ? 0 : SMOOTH;

    MF_TRY(grid_open(r, dims, level, smooth));
    if (r->dry) return mf_agree(r->comm, measure_start(r, coarse ? from : NULL));
    if (coarse)
        MF_TRY(mf_start_refine(r->comm, r->queue->arena, from, coarse, &r->slab, r->fields, r->optimiser.x));
    else
        MF_TRY(begin(r));
    if (!coarse && r->opts->metrics && r->comm->rank == 0) /* not before: a refusal leaves another run's file alone */
        mf_metrics_open(&r->metrics, r->opts->metrics, r->opts->metrics_append);
    return gradient_stages(r, level == 0);
}

/* Coarsest level of a coarse-to-fine run: as many grids as the target has levels and every grid holds a window. */
static size_t coarsest(const struct grid *r, const size_t dims[3])
{
    size_t n = dims[0] > 1 && dims[0] < dims[1] ? dims[0] : dims[1], levels = r->target->side[0].levels;

    if (!r->opts->coarse_to_fine) return 0;
    if (dims[2] < n) n = dims[2];
    while (levels > 1 && (n >> (levels - 1)) / 2 < r->target->lag) --levels;
    return levels - 1;
}

static int run(struct grid *r, const size_t dims[3])
{
    struct mf_slab from;
    float *coarse = NULL;
    int rc = MF_OK;

    for (size_t level = coarsest(r, dims) + 1; level-- > 0 && rc == MF_OK;) {
        size_t n[3];

        for (int a = 0; a < 3; ++a) n[a] = dims[a] > 1 ? dims[a] >> level : 1;
        rc = run_grid(r, n, level, &from, coarse);
        mf_arena_give(r->queue->arena, coarse);
        coarse = NULL;
        if (level == 0 || rc != MF_OK) break;
        from = r->slab;
        coarse = r->optimiser.x; /* kept: the next grid starts from it */
        r->optimiser.x = NULL;
        grid_close(r);
    }
    if (rc != MF_OK) return rc;
    MF_TRY(sharpen(r));
    r->result->label = mf_arena_take(r->queue->arena, mf_slab_voxels(&r->slab), "labels");
    MF_TRY(mf_agree(r->comm, r->result->label ? MF_OK : MF_MEMORY));
    return r->dry ? measure_finish(r) : finish(r);
}

static void set_up(struct grid *r, const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                   const struct mf_target *target, const struct mf_solve_opts *opts)
{
    *r = (struct grid){.comm = comm, .backend = backend, .queue = queue, .opts = opts, .target = target};
    r->fields = mf_solve_fields(target, opts);
    r->start = mf_now();
    fractions(target, r->fields, r->fraction);
}

int mf_solve(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue, const size_t dims[3],
             const struct mf_target *target, const struct mf_solve_opts *opts, struct mf_solve_result *result)
{
    struct grid r;
    int rc;

    set_up(&r, comm, backend, queue, target, opts);
    *result = (struct mf_solve_result){.phases = r.fields == 1 ? 2 : target->phases};
    r.result = result;
    rc = run(&r, dims);
    result->evaluations = r.before;
    grid_close(&r);
    mf_metrics_close(&r.metrics);
    result->metrics_lost = r.metrics.lost;
    rc = mf_agree(comm, rc);
    if (rc != MF_OK) mf_solve_free(queue, result);
    return rc;
}

void mf_solve_free(struct mf_queue *queue, struct mf_solve_result *result)
{
    mf_arena_give(queue->arena, result->label);
    free(result->convergence);
    result->label = NULL;
    result->convergence = NULL;
}

int mf_solve_probe(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                   const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                   float **gradient, double *loss)
{
    struct mf_solve_result ignored = {0};
    struct grid r;
    int rc;

    set_up(&r, comm, backend, queue, target, opts);
    r.result = &ignored;
    rc = grid_open(&r, dims, 0, 0);
    if (rc == MF_OK) rc = begin(&r);
    if (rc == MF_OK) {
        backend->field->fill(queue, r.fields * mf_slab_voxels(&r.slab), 0, r.optimiser.g);
        mf_objective_eval(r.objective, r.optimiser.x, gradient ? r.optimiser.g : NULL, 1, loss);
        if (!isfinite(*loss)) rc = mf_fail(MF_NUMERIC, "the loss is not finite");
        if (gradient && rc == MF_OK) {
            *gradient = r.optimiser.g;
            r.optimiser.g = NULL;
        }
    }
    grid_close(&r);
    return rc;
}

int mf_solve_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts)
{
    struct mf_solve_result result = {0};
    struct grid r;
    int rc;

    set_up(&r, comm, backend, queue, target, opts);
    result.phases = r.fields == 1 ? 2 : target->phases;
    r.result = &result;
    r.dry = 1;
    rc = opts->evaluations > 0 ? run(&r, dims) : run_grid(&r, dims, 0, NULL, NULL);
    grid_close(&r);
    mf_solve_free(queue, &result);
    return rc;
}
