/* See grid.h: a run's state as a list of numbers, vectors and labels, the same list for saving and for loading. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/recon/grid.h"

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
    fprintf(to, "version: %s\n", MF_VERSION);
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
    if (o->ramp)
        fprintf(to, "ramp: %d %.17g %.17g %.17g\n", o->ramp->stages, o->ramp->first, o->ramp->last, o->ramp->share);
    if (mf_grid_one_descent(o, 1)) fprintf(to, "gradient stages: one descent\n");
    fprintf(to, "polish: %d\nrounds of polish: %ld\n", o->polish, o->polish_rounds);
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

static size_t line_of(const char *text) { return strcspn(text, "\n"); }

static const char *next_line(const char *text) { return text + line_of(text) + (text[line_of(text)] == '\n'); }

/* The line of @p text about what @p line is about; NULL: none. */
static const char *same_subject(const char *text, const char *line)
{
    size_t n = strcspn(line, ":\n") + 1;

    for (; *text; text = next_line(text))
        if (strncmp(text, line, n) == 0) return text;
    return NULL;
}

/* The first line of @p a that @p b has not or has otherwise; the values of a target only where nothing else differs:
 * they follow from the rest. *other: that of @p b, or NULL. */
static const char *difference(const char *a, const char *b, const char **other)
{
    const char *target = NULL;

    for (; *a; a = next_line(a)) {
        *other = same_subject(b, a);
        if (*other && line_of(*other) == line_of(a) && memcmp(*other, a, line_of(a)) == 0) continue;
        if (strncmp(a, "target: ", 8) != 0) return a;
        target = a;
    }
    *other = target ? same_subject(b, target) : NULL;
    return target;
}

enum { QUOTED = 220 };

static const char *quoted(const char *line, char text[QUOTED])
{
    if (!line) return "nothing of it";
    snprintf(text, QUOTED, "'%.*s'", (int)(line_of(line) < 200 ? line_of(line) : 200), line);
    return text;
}

static int is_of(const char *line, const char *subject) { return line && strncmp(line, subject, strlen(subject)) == 0; }

/* What two problems differ in, said in a sentence. */
static int same_problem(const char *saved, const char *wanted)
{
    const char *mine, *theirs = difference(saved, wanted, &mine), *none;
    char a[QUOTED], b[QUOTED];

    if (!theirs || is_of(theirs, "target: ")) {
        const char *more = difference(wanted, saved, &none);

        if (!more) return MF_OK;
        if (none)
            return mf_fail(MF_INPUT,
                           "the checkpoint is of another target: the micrograph, or what is measured of it and "
                           "how (--threshold, --labels, --isotropic, --symmetry ..), is not what it was; "
                           "restore it, or leave --restart out to begin anew");
        theirs = NULL;
        mine = more;
    }
    if (is_of(mine, "--max_iter: "))
        return mf_fail(
            MF_INPUT,
            "the checkpoint is of a run with %s, this one has %s: its stages are shares of that number, so a "
            "run cannot be prolonged or shortened; restore it, or leave --restart out to begin anew",
            quoted(theirs, a), quoted(mine, b));
    return mf_fail(MF_INPUT,
                   "the checkpoint is of another problem: it says %s, this run %s; restore the option, or leave "
                   "--restart out to begin anew",
                   quoted(theirs, a), quoted(mine, b));
}

/* -- numbers -- */

/* A list that is written or read front to back. */
struct tape {
    double *at;
    size_t n, room;
    int loading;
};

static void real(struct tape *t, double *value)
{
    if (t->n < t->room) {
        if (t->loading)
            *value = t->at[t->n];
        else
            t->at[t->n] = *value;
    }
    ++t->n;
}

static void reals(struct tape *t, double *values, size_t count)
{
    for (size_t i = 0; i < count; ++i) real(t, &values[i]);
}

static void whole(struct tape *t, long *value)
{
    double is = (double)*value;

    real(t, &is);
    if (t->loading) *value = is > -1e15 && is < 1e15 ? (long)is : 0;
}

static void flag(struct tape *t, int *value)
{
    long is = *value;

    whole(t, &is);
    *value = is != 0;
}

static size_t window(const struct mf_grid *r)
{
    return r->fields * (2 * r->target->lag - 1) * (2 * r->target->lag - 1);
}

static void tape_result(struct mf_solve_result *out, struct tape *t)
{
    real(t, &out->loss);
    real(t, &out->loss_cut);
    real(t, &out->grey);
    real(t, &out->seconds);
    real(t, &out->polish_seconds);
    reals(t, out->share, MF_TERMS_MAX);
}

/* Rows of convergence; loading makes room for them. */
static int tape_rows(struct mf_solve_result *out, struct tape *t)
{
    long rows = (long)out->rows;

    whole(t, &rows);
    if (t->loading) {
        if (rows < 0 || (size_t)rows > t->room / 3) return mf_fail(MF_INPUT, "the checkpoint's convergence has no end");
        out->convergence = malloc(((size_t)rows * 3 + 1) * sizeof *out->convergence);
        if (!out->convergence) return mf_fail(MF_MEMORY, "no memory for the convergence");
        out->rows = (size_t)rows;
    }
    reals(t, out->convergence, out->rows * 3);
    return MF_OK;
}

static void tape_polish(const struct mf_grid *r, struct mf_polish_state *p, struct tape *t)
{
    whole(t, &p->round);
    whole(t, &p->idle);
    whole(t, &p->limit);
    whole(t, &p->tried);
    whole(t, &p->swaps);
    for (size_t d = 0; d < (r->slab.dims[0] > 1 ? 3 : 1); ++d) reals(t, p->miss[d], window(r));
}

/* Everything but vectors and labels. @p elapsed: of the whole run. */
static int tape_run(struct mf_grid *r, struct mf_optimiser_state *optimiser, struct tape *t, double *elapsed)
{
    flag(t, &r->polishing);
    whole(t, &r->level);
    whole(t, &r->step);
    whole(t, &r->before);
    flag(t, &r->led);
    real(t, &r->scale);
    real(t, &r->loss);
    real(t, elapsed);
    whole(t, &r->result->binarise);
    tape_result(r->result, t);
    MF_TRY(tape_rows(r->result, t));
    if (!r->polishing) reals(t, optimiser->number, MF_OPTIMISER_NUMBERS);
    return MF_OK;
}

/* What is known only once the grid is open. */
static void tape_grid(struct mf_grid *r, struct mf_polish_state *polish, struct tape *t)
{
    if (polish)
        tape_polish(r, polish, t);
    else if (r->led && r->slab.dims[0] > 1)
        for (size_t d = 0; d < 3; ++d) reals(t, r->miss[d], window(r));
}

/* -- saving -- */

static int keep(struct mf_grid *r, int asked, long evaluations, struct mf_polish_state *polish, double *number,
                size_t room)
{
    struct mf_optimiser_state optimiser;
    struct mf_checkpoint c = {.problem = r->problem,
                              .slab = r->slab,
                              .fields = r->fields,
                              .number = number,
                              .label = r->label,
                              .stage = &r->planes};
    struct tape t = {number, 0, room, 0};
    double now = mf_now(), elapsed = now - r->start;
    double seconds = r->result->seconds, polish_seconds = r->result->polish_seconds;

    if (!polish) {
        mf_optimiser_save(&r->optimiser, &optimiser);
        c.vectors = optimiser.vectors;
        for (size_t i = 0; i < c.vectors; ++i) c.vector[i] = optimiser.vector[i];
        r->result->seconds += now - r->stage_start;
    } else {
        r->result->polish_seconds += now - r->stage_start;
    }
    tape_run(r, &optimiser, &t, &elapsed);
    tape_grid(r, polish, &t);
    r->result->seconds = seconds;
    r->result->polish_seconds = polish_seconds;
    MF_ASSERT(t.n <= room);
    c.numbers = t.n;
    return mf_keeper_save(&r->keeper, r->comm, asked, evaluations, &c);
}

int mf_grid_keep(struct mf_grid *r, long evaluations, const struct mf_polish_state *polish)
{
    size_t room = 64 + MF_OPTIMISER_NUMBERS + 3 * r->result->rows + 3 * window(r);
    struct mf_polish_state state = {0};
    double *number;
    int asked;

    if (!r->opts->keeper) return 0;
    if (polish) evaluations += polish->round; /* each has one */
    asked = mf_keeper_ask(&r->keeper, r->comm, evaluations);
    r->leaving = (asked & MF_KEEP_LEAVE) != 0;
    if (!(asked & MF_KEEP_SAVE)) return r->leaving;
    if (polish) state = *polish;
    number = malloc(room * sizeof *number);
    r->failed = mf_agree(r->comm, number ? MF_OK : mf_fail(MF_MEMORY, "no memory for a checkpoint"));
    if (r->failed != MF_OK && !r->leaving) {
        mf_warn("%s; the run goes on without this checkpoint", mf_err_text());
        mf_err_clear();
        r->failed = MF_OK;
    } else if (r->failed == MF_OK)
        r->failed = keep(r, asked, evaluations, polish ? &state : NULL, number, room);
    free(number);
    return r->leaving || r->failed;
}

int mf_grid_left(const struct mf_grid *r)
{
    return mf_fail(MF_STOPPED, "stopped early (%s) and saved; the same command with --restart auto goes on",
                   r->keeper.why);
}

/* -- loading -- */

static int check_head(const struct mf_grid *r, const struct mf_checkpoint_head *h, const size_t dims[3], long coarsest)
{
    if (h->fields != r->fields || r->level < 0 || r->level > coarsest || r->step < 0 || r->step > 64)
        return mf_fail(MF_INPUT, "the checkpoint contradicts itself");
    for (int a = 0; a < 3; ++a)
        if (h->dims[a] != (dims[a] > 1 ? dims[a] >> r->level : 1))
            return mf_fail(MF_INPUT, "the checkpoint contradicts itself: its grid is of another level");
    return MF_OK;
}

/* Of the run that a checkpoint is of; 0: it has none. */
static size_t history_of(const char *problem)
{
    static const char key[] = "\npairs of history: ";
    const char *line = strstr(problem, key);
    const size_t history = line ? strtoul(line + strlen(key), NULL, 10) : 0;

    return history > MF_HISTORY_MAX ? 0 : history;
}

/* Of the newest that opens, which the run will go on from; what is wrong with one the run itself will say. Should its
 * seal turn out broken there, the run keeps the history of the other. */
size_t mf_solve_kept_history(const struct mf_comm *comm, const char *stem)
{
    struct mf_checkpoint_pair pair;
    struct mf_checkpoint_in *in = NULL;
    size_t history = 0;

    mf_checkpoint_look(comm, stem, 1, &pair);
    for (int k = 0; k < 2 && !in; ++k) {
        const int which = k == 0 ? pair.newest : !pair.newest;
        char *name = mf_checkpoint_name(stem, which);

        if (pair.turn[which] >= 0 && mf_checkpoint_open(comm, name, 1, &in) != MF_OK) mf_err_clear();
        free(name);
    }
    if (in) history = history_of(mf_checkpoint_head(in)->problem);
    mf_checkpoint_close(in);
    return history;
}

/* A plan's history gives way to the checkpoint's: the run is the one that was begun. */
static int keep_history(struct mf_grid *r, const char *problem, const size_t dims[3])
{
    const size_t history = history_of(problem);

    if (!r->opts->history_free || history == 0 || history == r->method.history) return MF_OK;
    mf_info("the checkpoint has a history of %zu: it is kept", history);
    r->method.history = history;
    free(r->problem);
    r->problem = mf_grid_problem(r, dims);
    return r->problem ? MF_OK : mf_fail(MF_MEMORY, "no memory for the problem's text");
}

static int take_up(struct mf_grid *r, const size_t dims[3])
{
    const struct mf_checkpoint_head *h = mf_checkpoint_head(r->from);
    struct tape t = {(double *)(uintptr_t)h->number, 0, h->numbers, 1};
    long coarsest = r->level;
    double elapsed = 0;

    MF_TRY(keep_history(r, h->problem, dims));
    MF_TRY(same_problem(h->problem, r->problem));
    MF_TRY(tape_run(r, &r->saved, &t, &elapsed));
    if (t.n > t.room) return mf_fail(MF_INPUT, "the checkpoint lacks numbers");
    r->taped = t.n;
    r->start -= elapsed;
    r->result->elapsed = elapsed;
    return check_head(r, h, dims, coarsest);
}

/* A run from its begin over checkpoints of an earlier one: those are gone once it has one of its own. */
static void replace_old(struct mf_grid *r, const struct mf_checkpoint_pair *pair)
{
    if (pair->turn[0] == -1 && pair->turn[1] == -1) return;
    mf_warn("checkpoints of an earlier run will be replaced; with --restart auto the run would go on from them");
    r->keeper.stale = 1;
}

static int go_on(struct mf_grid *r, const size_t dims[3])
{
    int rc = mf_agree(r->comm, take_up(r, dims));

    r->keeper.saved_evaluations = r->before + mf_optimiser_made(&r->saved);
    if (rc == MF_OK)
        mf_info("going on from a checkpoint: %s, %.1f s into the run",
                r->polishing ? mf_grid_label_work(r) : "gradient stages", mf_now() - r->start);
    return rc;
}

/* What will not save a run is told while that can be helped. */
static void foresee_room(const struct mf_grid *r, const char *stem, double bytes)
{
    char *name = mf_checkpoint_name(stem, 1);

    if (r->comm->rank == 0 && mf_atomic_room(name, (size_t)bytes) != MF_OK)
        mf_warn("%s: as it is, this run could not be saved", mf_err_text());
    mf_err_clear();
    free(name);
}

int mf_grid_find(struct mf_grid *r, const size_t dims[3])
{
    const struct mf_keeper_opts *o = r->opts->keeper;
    const double voxels = (double)dims[0] * (double)dims[1] * (double)dims[2];
    const double bytes = voxels * (double)r->fields * 4 * (double)mf_optimiser_vectors(&r->method);
    struct mf_checkpoint_pair pair;

    if (!o) return MF_OK;
    mf_keeper_open(&r->keeper, o, bytes);
    foresee_room(r, o->stem, bytes);
    r->problem = mf_grid_problem(r, dims);
    MF_TRY(mf_agree(r->comm, r->problem ? MF_OK : mf_fail(MF_MEMORY, "no memory for the problem's text")));
    mf_checkpoint_look(r->comm, o->stem, 0, &pair);
    if (o->restart)
        MF_TRY(mf_checkpoint_newest(r->comm, o->stem, &pair, &r->from));
    else
        replace_old(r, &pair);
    r->keeper.next = !pair.newest;
    r->keeper.turn = (pair.turn[pair.newest] > 0 ? pair.turn[pair.newest] : 0) + 1;
    if (r->from) return go_on(r, dims);
    if (o->restart) mf_info("no checkpoint of this run yet: it begins anew");
    return MF_OK;
}

/* Room for what led the slices of a saved polish, in the buffers of the gradient stages. */
static void lend_miss(struct mf_grid *r)
{
    for (int d = 0; d < 3; ++d) r->polish.miss[d] = r->miss[d];
    r->polish.entries = window(r);
}

static int load_vectors(struct mf_grid *r)
{
    const struct mf_checkpoint_head *h = mf_checkpoint_head(r->from);

    MF_TRY(mf_optimiser_load(&r->optimiser, &r->saved));
    if (h->vectors != r->saved.vectors) return mf_fail(MF_INPUT, "the checkpoint lacks vectors");
    for (size_t i = 0; i < h->vectors; ++i)
        MF_TRY(mf_checkpoint_vector(r->from, i, &r->slab, &r->planes, r->saved.vector[i]));
    return MF_OK;
}

static int load(struct mf_grid *r)
{
    const struct mf_checkpoint_head *h = mf_checkpoint_head(r->from);
    struct tape t = {(double *)(uintptr_t)h->number, r->taped, h->numbers, 1};

    lend_miss(r);
    tape_grid(r, r->polishing ? &r->polish : NULL, &t);
    if (t.n > t.room) return mf_fail(MF_INPUT, "the checkpoint lacks numbers");
    if (!r->polishing) return load_vectors(r);
    if (!h->labels) return mf_fail(MF_INPUT, "the checkpoint lacks labels");
    return mf_checkpoint_label(r->from, &r->slab, &r->planes, r->label);
}

int mf_grid_load(struct mf_grid *r)
{
    MF_TRY(mf_agree(r->comm, load(r)));
    if (r->led && !r->polishing) mf_grid_follow(r);
    mf_checkpoint_close(r->from);
    r->from = NULL;
    return MF_OK;
}
