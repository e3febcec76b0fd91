/* See solve.h. The grids of a run. */
#include "src/recon/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pulse.h"
#include "mpi/redistribute.h"
#include "src/base/bounds.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/grid.h"
#include "src/recon/meanfield.h"
#include "src/recon/phases.h"
#include "src/recon/start.h"

static const double SMOOTH = 0.1; /* rounding of |d| in Variation while the field is grey */

size_t mf_solve_fields(const struct mf_target *target, const struct mf_solve_opts *opts)
{
    return opts->objective.multiphase && target->phases > 1 ? (size_t)target->phases : 1;
}

/* Volume fractions of the target, meant over the sides that count: of an image the first alone. */
static void fractions(const struct mf_target *target, size_t fields, const size_t dims[3], double *fraction)
{
    const int sides = dims[0] > 1 ? target->sides : 1;

    for (size_t p = 0; p < fields; ++p) {
        size_t phase = mf_target_phase(target, fields, p);

        fraction[p] = 0;
        for (int s = 0; s < sides; ++s) fraction[p] += target->side[s].fraction[phase * target->side[s].levels] / sides;
    }
}

static void grid_close(struct mf_grid *r)
{
    mf_objective_free(r->objective);
    r->objective = NULL;
    mf_optimiser_free(&r->optimiser);
    mf_property_close(r->property);
    r->property = NULL;
    mf_arena_give(r->queue->arena, r->label);
    r->label = NULL;
    mf_arena_give(r->queue->arena, r->fixed);
    r->fixed = NULL;
    mf_stage_close(&r->planes);
    mf_arena_give(r->queue->host, r->global);
    mf_arena_give(r->queue->host, r->plane);
    mf_arena_give(r->queue->host, r->mean_error[0]);
    r->seen = 0;
    r->mean_error[0] = NULL;
    r->global = r->plane = NULL;
}

static int grid_memory(struct mf_grid *r)
{
    size_t window = r->fields * (2 * r->target->lag - 1) * (2 * r->target->lag - 1);

    r->global = mf_arena_take(r->queue->host, r->slab.dims[0] * MF_PLANE_WIDTH * sizeof(double), "plane sums");
    r->plane = mf_arena_take(r->queue->host, (r->slab.count + 1) * (1 + r->fields) * sizeof(double), "plane sums");
    r->mean_error[0] = mf_arena_take(r->queue->host, 3 * window * sizeof(double), "S2 of the mean slice");
    if (!r->global || !r->plane || !r->mean_error[0]) return MF_MEMORY;
    for (int d = 1; d < 3; ++d) r->mean_error[d] = r->mean_error[d - 1] + window;
    if (r->opts->fixed && r->level == 0) {
        r->fixed = mf_arena_take(r->queue->arena, mf_slab_voxels(&r->slab), "fixed voxels");
        if (!r->fixed) return MF_MEMORY;
    }
    /* as many planes as rank 0, which has the most, needs: ranks write a vector in equally many runs */
    MF_TRY(mf_stage_open(&r->planes, r->queue, r->slab.dims[1] * r->slab.dims[2] * sizeof(float),
                         mf_slab_of(r->comm, r->slab.dims, 0).count));
    return mf_optimiser_new(&r->optimiser, r->backend, r->queue, mf_grid_extent(r), &r->method);
}

/* Slices in flight of a batch that is chosen. */
static size_t chosen_batch(const struct mf_grid *r)
{
    size_t most = 0;

    for (int d = MF_Y; r->slab.dims[0] > 1 && d <= MF_X; ++d) {
        int passes = mf_slices_queue(r->queue) != r->queue;
        size_t batch, rounds;

        mf_redistribute_shape(r->comm, r->slab.dims, (enum mf_normal)d, passes, 0, &batch, &rounds);
        if (batch > most) most = batch;
    }
    return most;
}

/* After a refusal @p rc that all ranks share: was it for memory, and may half the slices in flight do? They give the
 * same bits. */
int mf_grid_shrinks(struct mf_grid *r, int rc)
{
    size_t most = chosen_batch(r), batch = r->compared.batch && r->compared.batch < most ? r->compared.batch : most;

    if (rc != MF_MEMORY || r->dry || batch / 4 * 2 < 2) return 0;
    r->compared.batch = batch / 4 * 2;
    if (r->shrunk == 0) {
        r->shrunk = batch;
        snprintf(r->lacked, sizeof r->lacked, "%s", mf_err_text());
    }
    mf_err_clear();
    return 1;
}

void mf_grid_say_shrunk(struct mf_grid *r)
{
    if (r->shrunk)
        mf_warn("%s; continuing with %zu slices in flight instead of %zu", r->lacked, r->compared.batch, r->shrunk);
    r->shrunk = 0;
}

static int grid_try(struct mf_grid *r, const size_t dims[3], size_t level, double smooth)
{
    struct mf_objective_opts objective = r->compared;
    MF_PHASE(&mf_phase_prepare);

    r->slab = mf_slab_of(r->comm, dims, r->comm->rank);
    objective.level_first += level;
    objective.smooth = smooth;
    objective.hold = MF_SOLVE_HOLD;
    if (objective.levels_max > level) objective.levels_max -= level;
    MF_TRY(mf_agree(r->comm, grid_memory(r)));
    MF_TRY(mf_objective_new(r->comm, r->queue, &r->slab, r->fields, r->target, &objective, &r->objective));
    r->strips = mf_objective_strips_floats(r->objective);
    if (level == 0 && r->opts->property.count)
        MF_TRY(mf_property_open(r->comm, r->queue, &r->slab, r->fields, r->result->phases, &r->opts->property,
                                &r->property));
    return mf_grid_snapshot_room(r);
}

static int grid_open(struct mf_grid *r, const size_t dims[3], size_t level, double smooth)
{
    int rc;

    while ((rc = grid_try(r, dims, level, smooth)) != MF_OK) {
        if (!mf_grid_shrinks(r, rc)) return rc;
        grid_close(r);
    }
    mf_grid_say_shrunk(r);
    return MF_OK;
}

/* An initial field has as many axes as the result, and the phases of the target or those that are optimised. */
static int check_start(const struct mf_grid *r, const struct mf_micro *start)
{
    int image = start->slab.dims[0] == 1, want = r->fields == 1 ? 2 : (int)r->fields;

    if (image != (r->slab.dims[0] == 1))
        return mf_fail(MF_INPUT, "the initial field is %s, the result is %s", image ? "an image" : "a volume",
                       image ? "a volume" : "an image");
    if (start->grey && start->fields != (int)r->fields)
        return mf_fail(MF_INPUT, "the initial field has %d phase%s, %zu %s optimised%s", start->fields,
                       MF_S(start->fields), r->fields, r->fields == 1 ? "is" : "are",
                       start->fields == 1 ? " (--no_multiphase: phase 1 alone)" : "");
    if (!start->grey && start->phases != want && (start->phases < 2 || start->phases != r->target->phases))
        return mf_fail(MF_INPUT, "the initial field has %d phase%s, the result has %d", start->phases,
                       MF_S(start->phases), want);
    if (memcmp(start->slab.dims, r->slab.dims, sizeof start->slab.dims) != 0)
        mf_info("the initial field of %zu x %zu x %zu is resampled (z y x)", start->slab.dims[0], start->slab.dims[1],
                start->slab.dims[2]);
    return MF_OK;
}

/* The caller's initial field on this grid. */
static int begin_from(struct mf_grid *r, const struct mf_micro *start)
{
    float *field = NULL;
    int rc = check_start(r, start);

    if (rc == MF_OK && !start->grey) {
        field = mf_arena_take(r->queue->host, r->fields * mf_slab_voxels(&start->slab) * sizeof *field, "start");
        if (field)
            mf_start_labels(&start->slab, r->fields, start->phase, field);
        else
            rc = MF_MEMORY;
    }
    rc = mf_agree(r->comm, rc);
    if (rc == MF_OK)
        rc = mf_start_refine(r->comm, NULL, &start->slab, start->grey ? start->grey : field, &r->slab, r->fields,
                             &r->planes, r->optimiser.x);
    mf_arena_give(r->queue->host, field);
    return rc;
}

/* Layers or cells, where they are wanted and fit; else noise. */
static int begin_anew(struct mf_grid *r)
{
    const double layers = r->opts->layers, cells = r->opts->cells;

    if (layers > 0) {
        if (mf_start_layers(&r->slab, r->fields, r->fraction, layers, r->opts->seed, &r->planes, r->optimiser.x))
            return MF_OK;
        mf_info("no layers with a period of %.1f voxels fit into this volume: it starts from noise", 1 / layers);
    }
    if (cells > 0) {
        size_t made;

        MF_TRY(mf_start_cells(&r->slab, r->fields, r->fraction, cells, r->opts->bend, r->opts->seed, &r->planes,
                              r->optimiser.x, &made));
        if (made) return MF_OK;
        mf_info("fewer than %d cells of %.0f pixels fit into this image: it starts from noise", MF_START_CELLS,
                1 / cells);
    }
    mf_start_noise(&r->slab, r->fields, r->fraction, r->opts->seed, &r->planes, r->optimiser.x);
    return MF_OK;
}

static int begin(struct mf_grid *r)
{
    MF_PHASE(&mf_phase_prepare);

    if (r->opts->start)
        MF_TRY(begin_from(r, r->opts->start));
    else
        MF_TRY(mf_agree(r->comm, begin_anew(r)));
    r->backend->field->project(r->queue, mf_grid_extent(r), r->optimiser.x);
    return mf_pulse_all(r->comm, "start");
}

/* The objective of the last stage replaces the one of the gradient stages. */
int mf_grid_sharpen(struct mf_grid *r)
{
    MF_PHASE(&mf_phase_prepare);

    for (;;) {
        struct mf_objective_opts o = r->compared;
        int rc;

        mf_objective_free(r->objective);
        r->objective = NULL;
        o.smooth = 0;
        rc = mf_objective_new(r->comm, r->queue, &r->slab, r->fields, r->target, &o, &r->objective);
        if (rc == MF_OK || !mf_grid_shrinks(r, rc)) return rc;
    }
}

/* What the start of a grid has in use for a moment: planes of @p from, or of the caller's field. Local. */
static int measure_start(struct mf_grid *r, const struct mf_slab *from)
{
    const struct mf_micro *start = r->opts->start;
    ptrdiff_t bytes = 0;

    if (!from && !start) return MF_OK;
    if (!from && !start->grey) bytes = (ptrdiff_t)(r->fields * mf_slab_voxels(&start->slab) * sizeof(float));
    bytes += (ptrdiff_t)mf_start_bytes(r->comm, from ? from : &start->slab, &r->slab, from && mf_apart(r->queue));
    return mf_arena_book_once(r->queue->host, bytes, "start");
}

/* Not before the first grid stands: a refusal leaves another run's file alone. */
static void open_metrics(struct mf_grid *r)
{
    const struct mf_solve_result *out = r->result;

    mf_metrics_open(&r->metrics, r->opts->metrics, r->opts->output, r->opts->metrics_append || r->resumed,
                    r->opts->metrics_said);
    mf_metrics_cut(&r->metrics, "seed", r->opts->seed, out->rows,
                   out->rows ? (long)out->convergence[3 * (out->rows - 1)] : -1);
}

/* Only an existing rank knows its part of the fixed voxels; a plan also measures ranks that do not exist. */
static int is_here(const struct mf_grid *r) { return r->comm->impl != NULL || r->comm->size == 1; }

/* Labels are never grey. */
int mf_grid_rounds(const struct mf_grid *r) { return !r->opts->objective.compat && !r->method.method->swaps; }

/* One grid of a coarse-to-fine run: starts from @p coarse (over @p from), from a checkpoint or anew, and leaves its
 * field in the optimiser. */
static int run_grid(struct mf_grid *r, const size_t dims[3], const struct mf_slab *from, const float *coarse)
{
    MF_TRY(grid_open(r, dims, (size_t)r->level, mf_grid_rounds(r) ? SMOOTH : 0));
    if (r->dry && is_here(r)) MF_TRY(mf_grid_count_fixed(r));
    if (r->dry) return mf_agree(r->comm, measure_start(r, coarse ? from : NULL));
    if (coarse)
        MF_TRY(mf_start_refine(r->comm, r->queue, from, coarse, &r->slab, r->fields, &r->planes, r->optimiser.x));
    else if (r->from && !r->polishing)
        MF_TRY(mf_grid_load(r));
    else if (!r->from)
        MF_TRY(begin(r));
    MF_TRY(mf_grid_fix(r));
    if (!coarse && r->opts->metrics && r->comm->rank == 0) open_metrics(r);
    if (r->polishing) return MF_OK;
    if (r->method.method->swaps) return mf_grid_look(r);
    return mf_grid_descend(r, r->level == 0);
}

double mf_solve_share(const size_t dims[3], size_t level) { return pow(dims[0] > 1 ? 0.125 : 0.25, (double)level); }

/* As many grids as the target has levels, every grid holds a window, and none is smaller than wanted. */
size_t mf_solve_grids(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts)
{
    const size_t least = mf_max(2 * target->lag, opts->coarsest);
    size_t n = dims[0] > 1 && dims[0] < dims[1] ? dims[0] : dims[1], levels = target->side[0].levels;

    if (!opts->coarse_to_fine) return 1;
    if (dims[2] < n) n = dims[2];
    while (levels > 1 && n >> (levels - 1) < least) --levels;
    return levels;
}

static int finish(struct mf_grid *r)
{
    if (r->dry && mf_grid_uses_mean_field(r)) MF_TRY(mf_meanfield_measure(r));
    MF_TRY(mf_grid_sharpen(r));
    mf_grid_say_shrunk(r);
    return r->dry ? mf_grid_measure_finish(r) : mf_grid_finish(r);
}

/* The finest grid without an objective, with a field of a coarser one. */
static int widen(struct mf_grid *r, const size_t dims[3], const struct mf_slab *from, const float *coarse)
{
    grid_close(r);
    r->level = 0;
    r->slab = mf_slab_of(r->comm, dims, r->comm->rank);
    r->method.history = r->method.history ? 1 : 0; /* none is needed */
    MF_TRY(mf_agree(r->comm, grid_memory(r)));
    MF_TRY(mf_start_refine(r->comm, r->queue, from, coarse, &r->slab, r->fields, &r->planes, r->optimiser.x));
    return mf_grid_fix(r);
}

/* The field of a run that stops becomes its result. It may be that of the coarser grid @p from. */
static int rescue(struct mf_grid *r, const size_t dims[3], struct mf_slab from, float *coarse)
{
    const int is_own = r->seen && r->level > 0;
    int rc = MF_OK;

    r->failed = MF_STOPPED;
    if (!r->polishing) r->result->loss = r->stepped;
    if (r->seen) mf_optimiser_settle(&r->optimiser);
    if (is_own) {
        from = r->slab;
        coarse = r->optimiser.x;
        r->optimiser.x = NULL;
    }
    if (!r->seen || is_own) rc = widen(r, dims, &from, coarse);
    if (is_own) mf_arena_give(r->queue->arena, coarse);
    return rc == MF_OK ? mf_grid_hand_over(r) : rc;
}

/* A guest that stops hands over what it has found; without memory for that, nothing. */
static void rescue_any(struct mf_grid *r, const size_t dims[3], const struct mf_slab *from, float *coarse, int rc)
{
    char why[MF_ERR_TEXT];

    if (!mf_is_guest() || !(r->leaving || rc == MF_STOPPED) || !(r->seen || coarse)) return;
    snprintf(why, sizeof why, "%s", mf_err_text());
    if (rescue(r, dims, *from, coarse) != MF_OK && r->result->label) {
        mf_arena_give(r->result->arena, r->result->label);
        r->result->label = NULL;
    }
    (void)mf_fail(rc, "%s", why);
}

static int run(struct mf_grid *r, const size_t dims[3])
{
    struct mf_slab from = {.count = 0};
    float *coarse = NULL;
    int rc;

    r->grids = (long)mf_solve_grids(dims, r->target, r->opts);
    r->level = r->grids - 1;
    MF_TRY(mf_grid_find(r, dims));
    for (;; --r->level) {
        size_t n[3];

        for (int a = 0; a < 3; ++a) n[a] = dims[a] > 1 ? dims[a] >> r->level : 1;
        rc = run_grid(r, n, &from, coarse);
        if (rc != MF_OK || r->leaving) break;
        mf_arena_give(r->queue->arena, coarse);
        coarse = NULL;
        if (r->level == 0) break;
        from = r->slab;
        coarse = r->optimiser.x; /* kept: the next grid starts from it */
        r->optimiser.x = NULL;
        grid_close(r);
    }
    if (rc == MF_OK && !r->leaving) rc = finish(r);
    rescue_any(r, dims, &from, coarse, rc);
    mf_arena_give(r->queue->arena, coarse);
    return rc;
}

static void set_up(struct mf_grid *r, const struct mf_comm *comm, const struct mf_backend *backend,
                   struct mf_queue *queue, const size_t dims[3], const struct mf_target *target,
                   const struct mf_solve_opts *opts, struct mf_solve_result *result)
{
    *r = (struct mf_grid){
        .comm = comm, .backend = backend, .queue = queue, .opts = opts, .target = target, .result = result};
    r->fields = mf_solve_fields(target, opts);
    r->compared = opts->objective;
    r->compared.seed = opts->seed;
    r->method = opts->method;
    if (!r->method.method->remembers) r->method.history = 0;
    r->start = mf_now();
    fractions(target, r->fields, dims, r->fraction);
    *result = (struct mf_solve_result){.phases = r->fields == 1 ? 2 : target->phases};
}

int mf_solve(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue, const size_t dims[3],
             const struct mf_target *target, const struct mf_solve_opts *opts, struct mf_solve_result *result)
{
    struct mf_grid r;
    int rc;

    set_up(&r, comm, backend, queue, dims, target, opts, result);
    rc = run(&r, dims);
    if (rc == MF_OK && r.leaving) rc = mf_keeper_left(&r.keeper);
    result->evaluations = r.before;
    result->batch = r.compared.batch;
    mf_checkpoint_free(r.from);
    free(r.problem);
    grid_close(&r);
    mf_metrics_close(&r.metrics);
    result->metrics_lost = r.metrics.lost;
    result->metrics_own = r.metrics.own;
    rc = mf_agree(comm, rc);
    if (rc != MF_OK && !(rc == MF_STOPPED && result->label)) mf_solve_free(result);
    return rc;
}

void mf_solve_free(struct mf_solve_result *result)
{
    if (result->label) mf_arena_give(result->arena, result->label);
    free(result->convergence);
    result->label = NULL;
    result->convergence = NULL;
}

/* The gradient of a probe, in host memory that the caller owns. */
static int hand_out(struct mf_grid *r, float **gradient)
{
    size_t bytes = r->fields * mf_slab_voxels(&r->slab) * sizeof(float);
    float *g = mf_mirror_take(r->queue, r->optimiser.g, bytes, "gradient");

    if (!g) return MF_MEMORY;
    mf_mirror_get(r->queue, g, r->optimiser.g, bytes);
    if (g == r->optimiser.g) r->optimiser.g = NULL;
    *gradient = g;
    return MF_OK;
}

int mf_solve_probe(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                   const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                   float **gradient, double *loss)
{
    struct mf_solve_result ignored;
    struct mf_grid r;
    int rc;

    set_up(&r, comm, backend, queue, dims, target, opts, &ignored);
    rc = grid_open(&r, dims, 0, 0);
    if (rc == MF_OK) rc = begin(&r);
    if (rc == MF_OK) rc = mf_grid_fix(&r);
    if (rc == MF_OK) {
        backend->field->fill(queue, r.fields * mf_slab_voxels(&r.slab), 0, r.optimiser.g);
        mf_objective_eval(r.objective, r.optimiser.x, gradient ? r.optimiser.g : NULL, 1, loss);
        mf_grid_hold(&r, 0, r.optimiser.g);
        if (!isfinite(*loss)) rc = mf_fail(MF_NUMERIC, "the loss is not finite");
        if (gradient && rc == MF_OK) rc = mf_agree(comm, hand_out(&r, gradient));
    }
    grid_close(&r);
    return rc;
}

/* The faster of two evaluations with gradient. */
static double time_of(struct mf_grid *r)
{
    double best = INFINITY;

    for (int i = 0; i < 2; ++i) {
        double begin = mf_now(), loss;

        r->backend->field->fill(r->queue, r->fields * mf_slab_voxels(&r->slab), 0, r->optimiser.g);
        mf_objective_eval(r->objective, r->optimiser.x, r->optimiser.g, 1, &loss);
        r->backend->sync(r->queue);
        best = fmin(best, mf_now() - begin);
    }
    return best;
}

int mf_solve_tune(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                  const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts, size_t count,
                  const size_t *batch, double *seconds)
{
    struct mf_solve_result ignored;
    int rc = MF_OK;

    for (size_t i = 0; i < count && rc == MF_OK; ++i) {
        struct mf_grid r;

        MF_TRY(mf_pulse_all(comm, "plan"));
        set_up(&r, comm, backend, queue, dims, target, opts, &ignored);
        r.compared.batch = batch[i];
        if (r.method.history) r.method.history = 1; /* none is needed */
        rc = grid_open(&r, dims, 0, mf_grid_rounds(&r) ? SMOOTH : 0);
        if (rc == MF_OK) rc = begin(&r);
        if (rc == MF_OK) seconds[i] = time_of(&r);
        grid_close(&r);
    }
    if (rc == MF_OK) mf_comm_max(comm, count, seconds);
    return rc;
}

static unsigned wholes(const struct mf_objective_opts *o)
{
    unsigned bits = 0;

    for (size_t t = 0; t < o->terms; ++t)
        if (mf_descriptor_is(o->term[t].row, MF_IN_SPACE)) bits |= 1u << mf_descriptor_whole(o->term[t].row);
    return bits;
}

struct mf_characterize_opts mf_solve_described(const struct mf_target *target, const struct mf_solve_opts *opts)
{
    return (struct mf_characterize_opts){
        .lag = target->lag, .levels = 1, .periodic = opts->objective.periodic, .whole = wholes(&opts->objective)};
}

/* The labels of a grid that is closed are described. */
static int measure_describe(const struct mf_grid *r)
{
    const struct mf_characterize_opts opts = mf_solve_described(r->target, r->opts);
    const struct mf_micro micro = {
        .ndim = r->slab.dims[0] > 1 ? 3 : 2, .slab = r->slab, .phases = r->result->phases, .phase = r->result->label};

    return mf_characterize_measure(r->comm, r->backend, r->queue, r->queue->host, &micro, &opts);
}

int mf_solve_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                     struct mf_strips_floats *strips)
{
    struct mf_solve_result result;
    struct mf_grid r;
    int rc;

    set_up(&r, comm, backend, queue, dims, target, opts, &result);
    r.dry = 1;
    rc = opts->evaluations > 0 ? run(&r, dims) : run_grid(&r, dims, NULL, NULL);
    if (strips) *strips = r.strips;
    grid_close(&r);
    if (rc == MF_OK && result.label) rc = measure_describe(&r);
    mf_solve_free(&result);
    return rc;
}

int mf_solve_problem(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts,
                     uint32_t *number)
{
    struct mf_solve_result ignored;
    struct mf_grid r;
    char *text;

    set_up(&r, NULL, NULL, NULL, dims, target, opts, &ignored);
    if (opts->history_free) r.method.history = 0; /* a plan's choice does not make it another problem */
    text = mf_grid_problem(&r, dims);
    if (!text) return mf_fail(MF_MEMORY, "no memory for the problem's text");
    *number = mf_crc32c(0, text, strlen(text));
    free(text);
    return MF_OK;
}
