/* See grid.h: the state of a run as a list of named numbers and arrays. Saving and loading use the same list. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log.h"
#include "src/desc/measure.h"
#include "src/recon/grid.h"
#include "src/recon/meanfield.h"
#include "src/run/problem.h"

/* -- what two runs must have in common -- */

static uint32_t crc_side(uint32_t crc, const struct mf_target *t, const struct mf_target_side *s)
{
    const size_t levels = (size_t)t->phases * s->levels, window = (2 * t->lag - 1) * (2 * t->lag - 1);
    const size_t pairs = mf_whole_parts(MF_WHOLE_CROSS, (size_t)t->phases) * s->levels;

    if (s->s2) crc = mf_crc32c(crc, s->s2, levels * window * sizeof(double));
    if (s->cross) crc = mf_crc32c(crc, s->cross, pairs * window * sizeof(double));
    if (s->variation) crc = mf_crc32c(crc, s->variation, levels * sizeof(double));
    if (s->fraction) crc = mf_crc32c(crc, s->fraction, levels * sizeof(double));
    if (s->example) crc = mf_crc32c(crc, s->example, s->example_nu * s->example_nv * sizeof(double));
    for (int m = 0; m < MF_MORE; ++m) {
        size_t values =
            mf_more_parts((enum mf_more)m, (size_t)t->phases) * s->levels * mf_more_entries((enum mf_more)m, t->lag);

        if (s->more[m]) crc = mf_crc32c(crc, s->more[m], values * sizeof(double));
    }
    return crc;
}

static uint32_t crc_whole(uint32_t crc, const struct mf_target *t, enum mf_whole which)
{
    const size_t values = mf_whole_parts(which, (size_t)t->phases) * mf_whole_entries(which, t->lag);

    return t->whole[which] ? mf_crc32c(crc, t->whole[which], values * sizeof(double)) : crc;
}

static void problem_terms(const struct mf_objective_opts *o, FILE *to)
{
    for (size_t t = 0; t < o->terms; ++t)
        fprintf(to, "descriptor %s: %.17g\n", o->term[t].row->name, o->term[t].weight);
    fprintf(to, "loss: %d\nlevels: %zu\nlevel weights:", (int)o->norm, o->levels_max);
    for (size_t l = 0; l < MF_LEVELS_MAX; ++l) fprintf(to, " %.17g", o->level_weight[l]);
    fprintf(to, "\nphase weights:");
    for (size_t p = 0; p < MF_PHASES_MAX; ++p) fprintf(to, " %.17g", o->phase_weight[p]);
    fprintf(to, "\nperiodic: %d\nmultiphase: %d\ncompat: %d\n", o->periodic, o->multiphase, o->compat);
    fprintf(to, "slice objective: %s\nslices drawn: %.17g\n", o->mean ? "mean" : "each", o->draw);
}

/* The option's value, of those that "a|b|c" are. */
static void problem_choice(const char *word, const char *choices, int value, FILE *to)
{
    for (; value > 0; --value) choices += strcspn(choices, "|") + 1;
    fprintf(to, "--%s: %.*s\n", word, (int)strcspn(choices, "|"), choices);
}

/* As few digits as tell it from its neighbours. */
static void problem_real(const char *word, double value, FILE *to)
{
    char text[40];

    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    fprintf(to, "--%s: %s\n", word, text);
}

static void problem_annealing(const struct mf_anneal_opts *a, FILE *to)
{
    fprintf(to, "--max_iter (steps): %ld\n", a->steps);
    problem_choice("mutation_rule", MF_MUTATIONS, (int)a->rule, to);
    problem_choice("acceptance_distribution", MF_ACCEPTANCES, a->exponential, to);
    problem_real("initial_temperature", a->initial, to);
    problem_real("final_temperature", fmax(a->final, 0), to);
    problem_real("cooldown_factor", a->factor, to);
}

static void problem_method(const struct mf_method_opts *m, long evaluations, FILE *to)
{
    fprintf(to, "--max_iter: %ld\n", evaluations);
    if (m->method->remembers) return;
    problem_real("learning_rate", m->rule.rate, to);
    problem_real("beta_1", m->rule.beta1, to);
    problem_real("beta_2", m->rule.beta2, to);
    problem_real("rho", m->rule.rho, to);
    problem_real("momentum", m->rule.momentum, to);
}

static void problem_properties(const struct mf_property_opts *p, int phases, FILE *to)
{
    if (!p->count) return;
    fputs("--property:", to);
    for (size_t i = 0; i < p->count; ++i)
        fprintf(to, " conductivity_%s=%.15g", mf_axis_name(p->at[i].axis), p->at[i].of * p->unit);
    fputs("\n--conductivity:", to);
    for (int k = 0; k < phases; ++k) fprintf(to, " %.15g", p->k[k] * p->unit);
    fputs("\n", to);
    problem_real("property_weight", p->weight, to);
    problem_real("property_tolerance", p->tolerance, to);
    problem_choice("property_boundary", "plates|periodic", (int)p->boundary, to);
}

char *mf_grid_problem(const struct mf_grid *r, const size_t dims[3])
{
    const struct mf_solve_opts *o = r->opts;
    const struct mf_method_opts *m = &r->method;
    uint32_t crc = 0;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (!to) return NULL;
    for (int s = 0; s < r->target->sides; ++s) crc = crc_side(crc, r->target, &r->target->side[s]);
    for (int k = 0; k < MF_WHOLE; ++k) crc = crc_whole(crc, r->target, (enum mf_whole)k);
    fprintf(to, "extents (z y x): %zu %zu %zu\nphases: %zu\n", dims[0], dims[1], dims[2], r->fields);
    fprintf(to, "target: %08x\n--limit_to: %zu\n--seed: %llu\n", crc, r->target->lag, (unsigned long long)o->seed);
    problem_terms(&o->objective, to);
    fprintf(to, "--optimizer: %s\n", m->method->name);
    if (m->method->swaps)
        problem_annealing(&o->anneal, to);
    else
        problem_method(m, o->evaluations, to);
    problem_real("tolerance", m->tolerance, to);
    fprintf(to, "pairs of history: %zu\ncoarse to fine: %d\n", r->method.history, o->coarse_to_fine);
    if (o->coarse_to_fine && o->coarse_evaluations) fprintf(to, "--coarse_iter: %ld\n", o->coarse_evaluations);
    if (o->coarse_to_fine && o->coarsest) fprintf(to, "--coarsest_grid: %zu\n", o->coarsest);
    if (o->ramp)
        fprintf(to, "ramp: %d %.17g %.17g %.17g\n", o->ramp->stages, o->ramp->first, o->ramp->last, o->ramp->share);
    if (mf_grid_one_descent(o, 1)) fprintf(to, "gradient stages: one descent\n");
    if (mf_solve_mean_field(dims, r->target, o)) fprintf(to, "gradient stages: mean-field annealing\n");
    fprintf(to, "polish: %d\nrounds of polish: %ld\n", o->polish, o->polish_rounds);
    problem_properties(&o->property, r->result->phases, to);
    if (mf_grid_connects(r)) fprintf(to, "clusters connected\n");
    if (o->fixed) fprintf(to, "fixed voxels: %s\n", o->fixed->hash);
    fprintf(to, "initial field: %s\n", o->start ? o->start->hash : "noise");
    if (o->layers > 0) fprintf(to, "layers: %.17g\n", o->layers);
    if (o->cells > 0) fprintf(to, "cells: %.17g, walls bent: %.17g\n", o->cells, o->bend);
    fputs("labels:", to);
    for (int p = 0; p < r->target->phases; ++p) fprintf(to, " %ld", (long)r->target->label[p]);
    fprintf(to, "\nspacing (z y x): %.17g %.17g %.17g %s\n", r->target->spacing[0], r->target->spacing[1],
            r->target->spacing[2], r->target->unit);
    return fclose(to) == 0 ? text : NULL;
}

static const struct mf_problem_word words[] = {
    {"target", 1,
     "another target: the micrograph, or what is measured of it and how (--threshold, --labels, --crop, "
     "--symmetry ..), is not what it was"},
    {"--max_iter", 0, "its stages are shares of that number, so a run cannot be prolonged or shortened"},
    {NULL, 0, NULL}};

/* -- the list -- */

static void list_result(struct mf_solve_result *out, struct mf_checkpoint *c)
{
    mf_checkpoint_real(c, "loss/grey", &out->loss);
    mf_checkpoint_real(c, "loss/cut", &out->loss_cut);
    mf_checkpoint_real(c, "grey", &out->grey);
    mf_checkpoint_real(c, "seconds/descent", &out->seconds);
    mf_checkpoint_real(c, "seconds/polish", &out->polish_seconds);
    mf_checkpoint_int(c, "binarise", &out->binarise);
    mf_checkpoint_reals(c, "share", out->share, MF_TERMS_MAX);
}

/* Loading takes memory for the rows. */
static void list_convergence(struct mf_solve_result *out, struct mf_checkpoint *c)
{
    struct mf_piece piece = {.name = "convergence", .type = MF_F64, .ndim = 2, .cut = MF_UNCUT};
    long rows = (long)out->rows;

    mf_checkpoint_int(c, "rows", &rows);
    if (mf_checkpoint_loads(c)) {
        if (rows < 0 || rows > 100000000) rows = 0; /* the array then has another shape */
        out->convergence =
            mf_fault("recon.convergence") ? NULL : malloc(((size_t)rows * 3 + 1) * sizeof *out->convergence);
        if (!out->convergence) {
            mf_checkpoint_refuse(c, mf_fail(MF_MEMORY, "no memory for %ld rows of the convergence", rows));
            return;
        }
        out->rows = (size_t)rows;
    }
    piece.dims[0] = out->rows;
    piece.dims[1] = 3;
    piece.at = out->convergence;
    mf_checkpoint_array(c, &piece);
}

/* All that is known before the grid is open. @p elapsed: of the whole run. */
static void list_run(struct mf_grid *r, struct mf_optimiser_state *optimiser, double *elapsed, struct mf_checkpoint *c)
{
    mf_checkpoint_flag(c, "polishing", &r->polishing);
    mf_checkpoint_int(c, "level", &r->level);
    mf_checkpoint_int(c, "step", &r->step);
    mf_checkpoint_int(c, "evaluations/before", &r->before);
    mf_checkpoint_flag(c, "led", &r->corrected);
    mf_checkpoint_real(c, "scale", &r->scale);
    mf_checkpoint_real(c, "loss", &r->loss);
    mf_checkpoint_real(c, "seconds/elapsed", elapsed);
    list_result(r->result, c);
    list_convergence(r->result, c);
    if (!r->polishing) mf_checkpoint_reals(c, "optimiser/numbers", optimiser->number, MF_OPTIMISER_NUMBERS);
}

/* A field of the optimiser on this grid. */
static void list_vector(struct mf_grid *r, size_t i, float *x, struct mf_checkpoint *c)
{
    static const char *const names[] = {"point", "gradient"};
    const size_t *n = r->slab.dims;
    struct mf_piece piece = {.type = MF_F32, .ndim = 4, .cut = 1, .at = x, .stage = &r->planes};
    char name[40];

    if (i < 2)
        snprintf(name, sizeof name, "optimiser/%s", names[i]);
    else
        snprintf(name, sizeof name, "optimiser/kept/%zu", i - 2);
    piece.name = name;
    memcpy(piece.dims, (const size_t[]){r->fields, n[0], n[1], n[2]}, 4 * sizeof *n);
    piece.first = r->slab.first;
    piece.count = r->slab.count;
    mf_checkpoint_array(c, &piece);
}

static void list_labels(struct mf_grid *r, struct mf_checkpoint *c)
{
    struct mf_piece piece = {.name = "label", .type = MF_U8, .ndim = 3, .cut = 0, .at = r->label, .stage = &r->planes};

    memcpy(piece.dims, r->slab.dims, sizeof r->slab.dims);
    piece.first = r->slab.first;
    piece.count = r->slab.count;
    mf_checkpoint_array(c, &piece);
}

/* The error of the mean slice, by which targets of slices are corrected. */
static void list_mean_error(struct mf_grid *r, double *const mean_error[3], struct mf_checkpoint *c)
{
    static const char *const names[] = {"miss/z", "miss/y", "miss/x"};
    const size_t window = 2 * r->target->lag - 1;

    for (int d = 0; d < (r->slab.dims[0] > 1 ? 3 : 1); ++d) {
        const struct mf_piece piece = {.name = names[d],
                                       .type = MF_F64,
                                       .ndim = 3,
                                       .dims = {r->fields, window, window},
                                       .cut = MF_UNCUT,
                                       .at = mean_error[d]};

        mf_checkpoint_array(c, &piece);
    }
}

/* What searches for patches remember: @p at [bytes]. An image stands on one rank. A run on a GPU remembers nothing, and
 * may go on here: then the first search begins anew. */
static void list_memory(struct mf_grid *r, void *at, size_t bytes, struct mf_checkpoint *c)
{
    struct mf_piece piece = {.name = "neighbours", .type = MF_U8, .ndim = 1, .dims = {bytes}, .cut = 0, .at = at},
                    saved;

    if (!piece.at || (mf_checkpoint_loads(c) && !mf_checkpoint_find(c, piece.name, &saved))) return;
    piece.count = r->slab.count > 0 ? piece.dims[0] : 0;
    mf_checkpoint_array(c, &piece);
}

static void list_polish(struct mf_grid *r, struct mf_polish_state *p, struct mf_checkpoint *c)
{
    mf_checkpoint_int(c, "polish/round", &p->round);
    mf_checkpoint_int(c, "polish/idle", &p->idle);
    mf_checkpoint_int(c, "polish/limit", &p->limit);
    mf_checkpoint_int(c, "polish/tried", &p->tried);
    mf_checkpoint_int(c, "polish/swaps", &p->swaps);
    list_mean_error(r, p->mean_error, c);
    list_labels(r, c);
    list_memory(r, p->neighbours, p->bytes, c);
}

static void list_voxels(struct mf_grid *r, const char *name, float *at, struct mf_checkpoint *c)
{
    struct mf_piece piece = {.name = name, .type = MF_F32, .ndim = 3, .cut = 0, .at = at};

    memcpy(piece.dims, r->slab.dims, sizeof r->slab.dims);
    piece.first = r->slab.first;
    piece.count = r->slab.count;
    mf_checkpoint_array(c, &piece);
}

static void list_properties(struct mf_grid *r, struct mf_checkpoint *c)
{
    struct mf_property_state state;

    if (!r->property) return;
    state = mf_property_state(r->property);
    for (size_t i = 0; i < r->opts->property.count; ++i) {
        char name[40];

        snprintf(name, sizeof name, "property/potential/%zu", i);
        list_voxels(r, name, state.potential[i], c);
        snprintf(name, sizeof name, "property/slope/%zu", i);
        list_voxels(r, name, state.slope[i], c);
        snprintf(name, sizeof name, "property/last/%zu", i);
        mf_checkpoint_real(c, name, &state.last[i]);
    }
    list_voxels(r, "property/k", state.k, c);
    mf_checkpoint_int(c, "property/age", state.age);
}

/* All that stands on the grid. */
static void list_grid(struct mf_grid *r, struct mf_optimiser_state *optimiser, struct mf_polish_state *polish,
                      struct mf_checkpoint *c)
{
    size_t bytes;
    void *memory;

    list_properties(r, c);
    if (polish) {
        list_polish(r, polish, c);
        return;
    }
    memory = mf_objective_memory(r->objective, &bytes);
    if (r->corrected && r->slab.dims[0] > 1) list_mean_error(r, r->mean_error, c);
    for (size_t i = 0; i < optimiser->vectors; ++i) list_vector(r, i, optimiser->vector[i], c);
    list_memory(r, memory, bytes, c);
}

/* -- saving -- */

struct saved {
    struct mf_grid *run;
    const struct mf_polish_state *polish;
};

static void list_all(void *context, struct mf_checkpoint *c)
{
    const struct saved *saved = context;
    struct mf_grid *r = saved->run;
    const double now = mf_now(), seconds = r->result->seconds, polish_seconds = r->result->polish_seconds;
    double elapsed = now - r->start;
    struct mf_polish_state polish = {0};
    long history = (long)r->method.history;

    if (saved->polish) {
        polish = *saved->polish;
        r->result->polish_seconds += now - r->stage_start;
    } else {
        mf_optimiser_save(&r->optimiser, &r->saved);
        r->result->seconds += now - r->stage_start;
    }
    mf_checkpoint_int(c, "history", &history);
    list_run(r, &r->saved, &elapsed, c);
    list_grid(r, &r->saved, saved->polish ? &polish : NULL, c);
    r->result->seconds = seconds;
    r->result->polish_seconds = polish_seconds;
}

int mf_grid_asked(void *run)
{
    struct mf_grid *r = run;

    if (!mf_is_guest() || r->opts->keeper) return MF_OK;
    r->failed = mf_agree(r->comm, mf_guest_stops() ? mf_fail(MF_STOPPED, "stopped when it was asked to") : MF_OK);
    return r->failed;
}

int mf_grid_keep(struct mf_grid *r, long evaluations, const struct mf_polish_state *polish)
{
    struct saved saved = {r, polish};

    if (!r->opts->keeper) return mf_grid_asked(r);
    if (polish) evaluations += polish->round; /* each has one */
    r->failed = mf_keeper_step(&r->keeper, r->comm, evaluations, r->problem, list_all, &saved);
    r->leaving = r->keeper.leaving;
    return r->leaving || r->failed;
}

/* -- loading -- */

static int check(const struct mf_grid *r, long coarsest)
{
    if (r->level < 0 || r->level > coarsest || r->step < 0 || r->step > 64)
        return mf_fail(MF_INPUT, "the checkpoint contradicts itself");
    return MF_OK;
}

static size_t history_of(struct mf_checkpoint *c)
{
    long history = 0;

    mf_checkpoint_int(c, "history", &history);
    return history > 0 && history <= MF_HISTORY_MAX ? (size_t)history : 0;
}

/* Of the newest that opens; what is wrong with a file the run itself says. */
size_t mf_solve_kept_history(const struct mf_comm *comm, const char *stem)
{
    struct mf_checkpoint_pair pair;
    struct mf_checkpoint *in = NULL;
    size_t history = 0;

    mf_checkpoint_look(comm, stem, 1, &pair);
    for (int k = 0; k < 2 && !in; ++k) {
        const int which = k == 0 ? pair.newest : !pair.newest;
        char *name = mf_checkpoint_name(stem, which);

        if (pair.turn[which] >= 0 && mf_checkpoint_open(comm, name, 1, &in) != MF_OK) mf_err_clear();
        free(name);
    }
    if (in) history = history_of(in);
    if (in && mf_checkpoint_code(in) != MF_OK) mf_err_clear();
    mf_checkpoint_free(in);
    return history;
}

/* A plan's history gives way to the checkpoint's: the run is the one that was begun. */
static int keep_history(struct mf_grid *r, size_t history, const size_t dims[3])
{
    if (!r->opts->history_free || history == 0 || history == r->method.history) return MF_OK;
    mf_info("the checkpoint has a history of %zu: it is kept", history);
    r->method.history = history;
    free(r->problem);
    r->problem = mf_grid_problem(r, dims);
    return r->problem ? MF_OK : mf_fail(MF_MEMORY, "no memory for the problem's text");
}

static int take_up(struct mf_grid *r, const size_t dims[3])
{
    const long coarsest = r->level;
    double elapsed = 0;

    MF_TRY(keep_history(r, history_of(r->from), dims));
    MF_TRY(mf_problem_same(mf_checkpoint_problem(r->from), r->problem, words));
    list_run(r, &r->saved, &elapsed, r->from);
    MF_TRY(mf_checkpoint_code(r->from));
    r->resumed = 1;
    r->start -= elapsed;
    r->result->elapsed = elapsed;
    return check(r, coarsest);
}

static int go_on(struct mf_grid *r, const size_t dims[3])
{
    int rc = mf_agree(r->comm, take_up(r, dims));

    mf_keeper_resume(&r->keeper, r->before + mf_optimiser_made(&r->saved));
    if (rc == MF_OK)
        mf_info("continuing from a checkpoint: %s, %.1f s into the run",
                r->polishing ? mf_grid_label_work(r) : "gradient stages", mf_now() - r->start);
    return rc;
}

int mf_grid_find(struct mf_grid *r, const size_t dims[3])
{
    const double voxels = (double)dims[0] * (double)dims[1] * (double)dims[2];
    const double bytes = voxels * (double)r->fields * 4 * (double)mf_optimiser_vectors(&r->method);

    if (!r->opts->keeper) return MF_OK;
    r->problem = mf_grid_problem(r, dims);
    MF_TRY(mf_agree(r->comm, r->problem ? MF_OK : mf_fail(MF_MEMORY, "no memory for the problem's text")));
    MF_TRY(mf_keeper_begin(&r->keeper, r->comm, r->opts->keeper, bytes, &r->from));
    return r->from ? go_on(r, dims) : MF_OK;
}

/* Room for the correction of a saved polish and what its searches remember, in buffers of the grid. */
static void lend_room(struct mf_grid *r)
{
    const size_t window = 2 * r->target->lag - 1;

    for (int d = 0; d < 3; ++d) r->polish.mean_error[d] = r->mean_error[d];
    r->polish.entries = r->fields * window * window;
    r->polish.neighbours = mf_objective_memory(r->objective, &r->polish.bytes);
}

static int load(struct mf_grid *r)
{
    lend_room(r);
    if (!r->polishing && mf_grid_in_mean_field(r)) r->optimiser.opts.method = &mf_mean_field;
    if (!r->polishing) MF_TRY(mf_optimiser_load(&r->optimiser, &r->saved));
    list_grid(r, &r->saved, r->polishing ? &r->polish : NULL, r->from);
    return mf_checkpoint_code(r->from);
}

int mf_grid_load(struct mf_grid *r)
{
    MF_TRY(mf_agree(r->comm, load(r)));
    if (r->corrected && !r->polishing) mf_grid_correct(r);
    mf_checkpoint_free(r->from);
    r->from = NULL;
    r->seen = 1;
    return MF_OK;
}
