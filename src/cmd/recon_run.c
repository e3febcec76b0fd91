/* See recon_opts.h: from a target to files and figures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/names.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/device.h"
#include "src/cmd/join.h"
#include "src/cmd/keep.h"
#include "src/cmd/log_view.h"
#include "src/cmd/recon_outcome.h"
#include "src/desc/characterize.h"

static int write_volume(struct mf_outcome *out, struct mf_json **json)
{
    struct mf_session *s = out->session;
    char *options = mf_options_yaml(s->options), *results;
    struct mf_provenance from = {.command = out->o->files.count ? "match" : "reconstruct",
                                 .options = options,
                                 .input_hash = out->target->hash,
                                 .seed = (long)out->solve.seed,
                                 .convergence_count = out->result.rows,
                                 .convergence = out->result.convergence};
    int rc;

    out->seconds = mf_now() - s->start + out->result.elapsed;
    rc = mf_outcome_json(out, json);
    results = rc == MF_OK ? mf_json_string(*json) : NULL;
    from.json = results;
    if (rc == MF_OK) rc = mf_micro_write(s->comm, out->path, &out->micro, &from);
    free(results);
    free(options);
    return rc;
}

/* "base_reconstructed.h5", or --output; with several realisations "_seedN" before the ending. */
static int name_output(struct mf_outcome *out, const char *base)
{
    char suffix[64], *path;
    int many = out->o->realisations > 1;

    snprintf(suffix, sizeof suffix, many ? "_reconstructed_seed%llu.h5" : "_reconstructed.h5",
             (unsigned long long)out->solve.seed);
    MF_TRY(mf_session_path(out->session, base, suffix, &path));
    if (many && out->session->common->output && *out->session->common->output) {
        out->path = mf_name_number(path, "seed", out->solve.seed);
        free(path);
        return out->path ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");
    }
    out->path = path;
    return MF_OK;
}

static int spares_inputs(const struct mf_outcome *out)
{
    const char *single[] = {
        out->o->descriptor_filename, out->o->initial_file, out->o->fixed_file, out->o->mask, out->o->plan,
        out->o->gram_weights};

    MF_TRY(mf_session_spares(out->session, out->path, out->o->files.count, (const char *const *)out->o->files.at));
    for (size_t i = 0; i < out->o->arrays.count; ++i) {
        const char *array = strchr(out->o->arrays.at[i], '=') + 1;

        MF_TRY(mf_session_spares(out->session, out->path, 1, &array));
    }
    return mf_session_spares(out->session, out->path, sizeof single / sizeof *single, single);
}

int mf_recon_may_write(struct mf_session *session, const struct mf_recon_cmd *o)
{
    struct mf_outcome out = {.session = session, .o = o, .solve.seed = (uint64_t)session->common->seed};
    int rc;

    if (!session->common->output || session->common->dry_run || o->max_iter == 0) return MF_OK;
    rc = mf_agree(session->comm, name_output(&out, ""));
    if (rc == MF_OK) rc = mf_micro_may_name(session->comm, out.path);
    if (rc == MF_OK) rc = spares_inputs(&out);
    free(out.path);
    return rc;
}

static int make_plan(struct mf_outcome *out)
{
    int rc;

    out->solve.objective.batch = out->asked_batch;
    rc = mf_recon_plan_make(out->session, out->o, out->dims, out->target, &out->solve, &out->plan);
    out->unfit = out->plan.unfit;
    return rc;
}

/* -- what the harness asks for -- */

static int may_write(void *context, struct mf_run *run)
{
    const struct mf_outcome *out = context;

    MF_TRY(mf_micro_may_write(run->comm, out->path, mf_outcome_ndim(out), 0));
    return spares_inputs(out);
}

static int name_problem(const struct mf_outcome *out, struct mf_run *run)
{
    uint32_t number = 0;

    MF_TRY(mf_solve_problem(out->dims, out->target, &out->solve, &number));
    snprintf(run->problem, sizeof run->problem, "%08x", number);
    if (run->parts > 1) snprintf(run->problem + 8, sizeof run->problem - 8, "-%d", (int)run->parts);
    return MF_OK;
}

/* The plan of the run, and the number of the problem that it then is. */
static int settle(void *context, struct mf_run *run)
{
    struct mf_outcome *out = context;
    const int keeps = run->keeper.restart && out->solve.history_free;

    out->run = run;
    out->solve.keeper = &run->keeper;
    out->solve.snapshot_stem = run->stem;
    out->solve.metrics = out->name && !out->no_metrics ? run->metrics : NULL;
    out->solve.output = out->name;
    out->solve.history_kept = keeps ? mf_solve_kept_history(run->comm, run->stem) : 0;
    MF_TRY(make_plan(out));
    return mf_agree(run->comm, name_problem(out, run));
}

/* A disk that the volume does not fit on is found before the work is done. */
static int work(void *context, struct mf_run *run, struct mf_json **json)
{
    struct mf_outcome *out = context;
    const size_t *n = out->dims;
    int rc;

    MF_TRY(mf_micro_may_write(run->comm, out->path, mf_outcome_ndim(out), n[0] * n[1] * n[2]));
    MF_TRY(mf_outcome_solve(out));
    rc = mf_agree(run->comm, write_volume(out, json));
    if (rc == MF_OK) mf_outcome_report(out);
    mf_outcome_free(out);
    return rc;
}

/* Of several realisations whose outputs do not say that they are done, one goes on by itself. */
static const char *go_on(const struct mf_outcome *out, char text[200])
{
    if (out->o->realisations == 1 || mf_recon_knows_done(out->session)) return NULL;
    snprintf(text, 200, "--output %s --seed %llu --restart auto without --realisations",
             strlen(out->path) < 100 ? out->path : "...", (unsigned long long)out->solve.seed);
    return text;
}

static int realise(struct mf_outcome *out, const char *base, struct mf_json **json)
{
    static const struct mf_run_client client = {may_write, settle, work};
    const struct mf_recon_cmd *o = out->o;
    struct mf_session *s = out->session;
    struct mf_run run = {.comm = s->comm, .part = "candidate", .parts = (size_t)o->candidates};
    char text[200];
    int rc = mf_agree(s->comm, name_output(out, base));

    if (rc == MF_OK) {
        run.output = out->path;
        run.again = go_on(out, text);
        run.keeper = mf_keep_opts(s, o->checkpoint_every, o->max_hours, o->restart);
        out->name = mf_name_run(out->path, o->realisations > 1, out->solve.seed);
        rc = mf_run_do(&run, &client, out, json);
    }
    mf_recon_plan_free(&out->plan);
    out->run = NULL;
    out->solve.keeper = NULL;
    out->solve.metrics = out->solve.output = out->solve.snapshot_stem = NULL;
    free(out->name);
    free(out->path);
    out->name = out->path = NULL;
    return rc;
}

/* FILE of --save-gradient, numbered like outputs when there are several. */
static int name_gradient(struct mf_outcome *out)
{
    const char *file = out->o->save_gradient;

    if (!file || !*file) return MF_OK;
    out->path = out->o->realisations > 1 ? mf_name_number(file, "seed", out->solve.seed) : strdup(file);
    return out->path ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");
}

/* --max_iter 0: the loss of the start into *json, its gradient into out->path; no volume. */
static int evaluate(struct mf_outcome *out, struct mf_json **json)
{
    struct mf_session *s = out->session;
    struct mf_slab slab = mf_slab_of(s->comm, out->dims, s->comm->rank);
    float *gradient = NULL;
    double loss;
    int rc = mf_solve_probe(s->comm, s->home->backend, s->home, out->dims, out->target, &out->solve,
                            out->path ? &gradient : NULL, &loss);

    if (rc == MF_OK && gradient)
        rc = mf_field_write(s->comm, out->path, &slab, mf_outcome_ndim(out),
                            (int)mf_solve_fields(out->target, &out->solve), gradient);
    mf_arena_give(mf_mirror_arena(s->home), gradient);
    MF_TRY(rc);
    *json = mf_json_object();
    if (out->path) mf_json_text(*json, "gradient", out->path);
    mf_json_null(*json, "output");
    mf_micro_shape(out->dims, *json);
    mf_json_int(*json, "seed", (long long)out->solve.seed);
    mf_json_real(*json, "loss", loss);
    mf_json_real(*json, "loss_final", loss);
    mf_json_int(*json, "evaluations", 1);
    mf_json_real(*json, "seconds", mf_now() - s->start);
    mf_json_text(*json, "device", s->backend->name);
    mf_json_int(*json, "ranks", s->comm->size);
    mf_json_int(*json, "threads", s->queue->threads);
    if (s->comm->rank == 0 && !s->common->json) printf("loss %.17g\n", loss);
    return mf_outcome_peaks(out, *json);
}

static int probe(struct mf_outcome *out, struct mf_json **json)
{
    int rc = mf_agree(out->session->comm, name_gradient(out));

    if (rc == MF_OK && out->path) rc = spares_inputs(out);
    if (rc == MF_OK) rc = make_plan(out);
    if (rc == MF_OK) rc = evaluate(out, json);
    mf_recon_plan_free(&out->plan);
    free(out->path);
    out->path = NULL;
    return rc;
}

/* What goes on where no output says that it is done: the one that was stopped, then those after it. */
static int one_by_one(const struct mf_outcome *out, long k)
{
    unsigned long long seed = out->solve.seed;
    char text[400], *name = mf_name_number(out->session->common->output, "seed", out->solve.seed);
    int rc = MF_STOPPED;

    snprintf(text, sizeof text, "%.*s", (int)strcspn(mf_err_text(), ";"), mf_err_text());
    if (k + 1 == out->o->realisations)
        rc = mf_fail(rc, "%s; --output '%s' --seed %llu --restart auto without --realisations goes on", text,
                     name ? name : "..", seed);
    else
        rc =
            mf_fail(rc,
                    "%s; --output '%s' --seed %llu --restart auto without --realisations goes on, then the others want "
                    "--seed %llu --realisations %ld (outputs that end in .h5 go on together)",
                    text, name ? name : "..", seed, seed + 1, out->o->realisations - k - 1);
    free(name);
    return rc;
}

/* Every seed; *json: the one object, or an array of them. */
static int run_seeds(struct mf_outcome *out, const char *base, struct mf_json **json)
{
    int rc = MF_OK, many = out->o->realisations > 1;

    *json = many ? mf_json_array() : NULL;

    for (long k = 0; k < out->o->realisations && rc == MF_OK; ++k) {
        struct mf_json *one = NULL;

        out->solve.seed = (uint64_t)(out->session->common->seed + k);
        out->solve.metrics_append = k > 0;
        rc = out->o->max_iter == 0 ? probe(out, &one) : realise(out, base, &one);
        if (rc == MF_STOPPED && many && !mf_recon_knows_done(out->session)) rc = one_by_one(out, k);
        if (one && many)
            mf_json_put(*json, NULL, one);
        else
            *json = many ? *json : one;
    }
    return rc;
}

static int print_json(const struct mf_session *s, const struct mf_json *json)
{
    int rc = MF_OK;

    if (s->common->json && s->comm->rank == 0) rc = mf_json_write(json, stdout);
    return mf_agree(s->comm, rc);
}

/* Of several objects in an array the last is there when all is done. */
static struct mf_json *last_of(const struct mf_json *array)
{
    size_t n = mf_json_count(array);

    return n ? mf_json_item(array, n - 1) : NULL;
}

/* How the initial field is to be understood. match reads its micrographs by those options, reconstruct this field. */
static struct mf_micro_read start_read(const struct mf_recon_cmd *o)
{
    struct mf_micro_read read = {.grey = 1};

    if (o->files.count) return read;
    read.threshold = o->threshold && *o->threshold ? o->threshold : NULL;
    read.label_count = o->labels.count;
    read.labels = o->labels.at;
    return read;
}

static int names(const char *file) { return file && *file; }

/* --dry-run: with the labels of the best candidate, which wait while others run. */
static int dry_run(struct mf_outcome *out)
{
    struct mf_session *s = out->session;
    const struct mf_slab slab = mf_slab_of(s->comm, out->dims, s->comm->rank);
    const ptrdiff_t kept = out->o->candidates > 1 ? (ptrdiff_t)mf_slab_voxels(&slab) : 0;
    int rc;

    MF_TRY(mf_agree(s->comm, mf_arena_book(s->arena, kept, "labels")));
    rc = mf_recon_dry(s, out->dims, out->target, &out->solve);
    MF_TRY(mf_arena_book(s->arena, -kept, "labels"));
    return rc;
}

/* The initial field, if there is one, then the seeds. */
static int with_start(struct mf_outcome *out, const char *base)
{
    struct mf_session *s = out->session;
    const struct mf_micro_read read = start_read(out->o);
    struct mf_micro start;
    struct mf_json *json = NULL;
    int from_file = names(out->o->initial_file), rc = MF_OK;

    MF_TRY(mf_agree(s->comm, mf_recon_few_threads(s, out->dims, out->target, &out->solve)));
    if (from_file) {
        MF_TRY(mf_micro_read(s->comm, s->arena, out->o->initial_file, &read, &start));
        out->solve.start = &start;
        rc = mf_micro_hash(s->comm, &start);
    }
    if (rc == MF_OK) rc = s->common->dry_run ? dry_run(out) : run_seeds(out, base, &json);
    if (rc == MF_OK) rc = mf_log_view_json(s, out->o->realisations > 1 ? last_of(json) : json);
    if (rc == MF_OK && !s->common->dry_run) rc = print_json(s, json); /* only rank 0 may have it */
    mf_json_free(json);
    out->solve.start = NULL;
    if (from_file) mf_micro_free(&start);
    return rc;
}

/* Fixed voxels, if there are any, then the rest. */
static int with_fixed(struct mf_outcome *out, const char *base)
{
    const struct mf_micro_read read = {.partial = 1};
    struct mf_micro fixed;
    int rc;

    if (!names(out->o->fixed_file)) return with_start(out, base);
    MF_TRY(mf_micro_read(out->session->comm, out->session->arena, out->o->fixed_file, &read, &fixed));
    out->solve.fixed = &fixed;
    rc = mf_micro_hash(out->session->comm, &fixed);
    if (rc == MF_OK) rc = with_start(out, base);
    out->solve.fixed = NULL;
    mf_micro_free(&fixed);
    return rc;
}

/* What of the target is not what the result has. */
static void say_sides(const struct mf_target *target, const size_t dims[3])
{
    if (dims[0] == 1 && target->sides > 1)
        mf_warn("the result is an image: of the target's three directions it is aimed at the first alone (slices "
                "normal to z)");
    if (dims[0] > 1 && target->sides == 1 && target->spacing[1] != target->spacing[2])
        mf_warn("the target's pixels are no squares (%g x %g), so slices normal to x have others, and the same lags in "
                "pixels are aimed at; try: images of all three directions, or of square pixels",
                target->spacing[1], target->spacing[2]);
}

/* Extents that nobody gave. */
static void say_size(const struct mf_outcome *out)
{
    static const char *const words[] = {"size", "extent-x", "extent-y", "extent-z"};
    char extents[MF_SHAPE_TEXT];
    int given = 0;

    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        given |= mf_options_given(out->session->options, words[i]);
    if (given || !out->o->sized) return;
    mf_recon_shape_text(out->dims, extents);
    mf_info("as large as what '%s' was measured on: %s voxels (--size: another)", out->target->source, extents);
}

/* Is this phase everything, in all directions? Its absence is another one's presence. */
static int is_everything(const struct mf_target *t, int phase)
{
    double least = 1, most = 0;

    for (int s = 0; s < t->sides; ++s) {
        const double share = t->side[s].fraction[(size_t)phase * t->side[s].levels];

        least = fmin(least, share);
        most = fmax(most, share);
    }
    return least >= 1 || (t->phases == 1 && most <= 0);
}

int mf_recon_worth(const struct mf_target *t)
{
    for (int phase = 0; phase < t->phases; ++phase)
        if (is_everything(t, phase))
            return mf_fail(MF_INPUT, "%s'%s' holds one phase and nothing else: there is nothing to reconstruct",
                           t->masked ? "where --mask leaves it, " : "", t->source);
    return MF_OK;
}

static int prepare(struct mf_outcome *out, const size_t *volume)
{
    const struct mf_recon_cmd *o = out->o;

    MF_TRY(mf_recon_worth(out->target));
    MF_TRY(mf_recon_extents(out->session, o, out->target, volume, out->dims));
    say_sides(out->target, out->dims);
    say_size(out);
    MF_TRY(mf_outcome_may_choose(out));
    mf_join_compare(out->target, o->files.count == 3 ? o->files.at : NULL);
    if (o->realisations > 1 && o->initial_file && *o->initial_file)
        mf_warn("all realisations begin with the same initial field: they will be equal");
    return mf_recon_plan(out->session, o, out->target, out->dims, &out->solve);
}

int mf_recon_run(struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                 const size_t *volume, const char *base)
{
    struct mf_outcome out = {.session = session, .o = o, .target = target};

    int rc;

    MF_TRY(mf_agree(session->comm, prepare(&out, volume)));
    out.asked_batch = out.solve.objective.batch;
    rc = with_fixed(&out, base);
    if (!out.unfit || !mf_device_may_leave(session)) return rc;
    MF_TRY(mf_session_to_cores(session));
    return with_fixed(&out, base);
}
