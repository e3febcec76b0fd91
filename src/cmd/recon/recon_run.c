/* See recon_opts.h: from a target to files and figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/crop.h"
#include "io/hash.h"
#include "io/names.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/log_view.h"
#include "src/cmd/recon/join.h"
#include "src/cmd/recon/recon_plan.h"
#include "src/desc/characterize.h"
#include "src/run/metrics.h"
#include "src/session/device.h"
#include "src/session/peaks.h"

/* All realisations of one target, as the options want them. */
struct job {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    struct mf_outcome out;
    struct mf_run_plan plan;
    size_t asked_batch; /* as objective.batch, before the plan */
    int unfit;          /* that plan is not for the devices */
};

static int solve(void *context, struct mf_outcome *out)
{
    const struct job *job = context;

    return mf_reside_solve(job->session, job->o->match.residency, out->dims, out->target, job->asked_batch, &out->solve,
                           &out->result);
}

static int measure(void *context, struct mf_micro *micro, const struct mf_characterize_opts *opts,
                   struct mf_target *got)
{
    const struct job *job = context;

    return mf_reside_characterize(job->session, job->o->match.residency, micro, opts, got);
}

static int put_peaks(const struct mf_session *session, struct mf_json *at)
{
    struct mf_peaks peaks;

    MF_TRY(mf_peaks_of(session, &peaks));
    mf_peaks_json(&peaks, at);
    mf_peaks_say(session, &peaks);
    mf_peaks_free(&peaks);
    return MF_OK;
}

static void put_device(const struct mf_session *s, struct mf_json *at)
{
    MF_JSON(at, "device", s->backend->name, "ranks", s->comm->size, "threads", s->queue->threads);
}

/* The object that --json prints. */
static int results(const struct job *job, struct mf_json **json)
{
    struct mf_json *j = mf_json_object();

    *json = j;
    mf_json_some(j, "output", job->out.path);
    mf_micro_shape(job->out.dims, j);
    mf_crop_json(job->out.target->crop, j);
    mf_outcome_json(&job->out, j);
    put_device(job->session, j);
    MF_TRY(put_peaks(job->session, j));
    if (mf_run_plan_put(&job->plan, j)) mf_json_int(j, "batch", (long long)job->out.result.batch);
    return MF_OK;
}

static int write_volume(struct job *job, struct mf_json **json)
{
    struct mf_session *s = job->session;
    char *options = mf_options_yaml(mf_options_of(s)), *text;
    struct mf_provenance from = {.command = job->o->match.files.count ? "match" : "reconstruct",
                                 .options = options,
                                 .input_hash = job->out.target->hash,
                                 .seed = (long)job->out.solve.seed,
                                 .convergence_count = job->out.result.rows,
                                 .convergence = job->out.result.convergence};
    int rc;

    job->out.seconds = mf_now() - s->start + job->out.result.elapsed;
    rc = results(job, json);
    text = rc == MF_OK ? mf_json_string(*json) : NULL;
    from.json = text;
    if (rc == MF_OK) rc = mf_micro_write(s->comm, job->out.path, &job->out.micro, &from);
    free(text);
    free(options);
    return rc;
}

/* "base_reconstructed.h5", or --output; with several realisations "_seedN" before the ending. */
static int name_output(struct job *job, const char *base)
{
    char suffix[64], *path;
    int many = job->o->realisations > 1;

    snprintf(suffix, sizeof suffix, many ? "_reconstructed_seed%llu.h5" : "_reconstructed.h5",
             (unsigned long long)job->out.solve.seed);
    MF_TRY(mf_session_path(job->session, base, suffix, &path));
    if (many && mf_common_of(job->session)->output) {
        job->out.path = mf_name_number(path, "seed", job->out.solve.seed);
        free(path);
        return job->out.path ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");
    }
    job->out.path = path;
    return MF_OK;
}

static int spares_inputs(const struct job *job)
{
    const char *single[] = {job->o->descriptor_filename,
                            job->o->match.initial_file,
                            job->o->match.fixed_file,
                            job->o->match.mask,
                            job->o->plan,
                            job->o->match.gram_weights};

    MF_TRY(mf_session_spares(job->session, job->out.path, job->o->match.files.count, job->o->match.files.at));
    for (size_t i = 0; i < job->o->match.arrays.count; ++i) {
        const char *array = strchr(job->o->match.arrays.at[i], '=') + 1;

        MF_TRY(mf_session_spares(job->session, job->out.path, 1, &array));
    }
    return mf_session_spares(job->session, job->out.path, sizeof single / sizeof *single, single);
}

int mf_recon_may_write(struct mf_session *session, const struct mf_recon_cmd *o)
{
    struct job job = {.session = session, .o = o, .out.solve.seed = (uint64_t)session->settings.seed};
    int rc;

    if (!mf_common_of(session)->output || session->settings.dry_run || o->match.max_iter == 0) return MF_OK;
    rc = mf_agree(session->comm, name_output(&job, ""));
    if (rc == MF_OK) rc = mf_micro_may_name(session->comm, job.out.path);
    if (rc == MF_OK) rc = spares_inputs(&job);
    free(job.out.path);
    return rc;
}

static int make_plan(struct job *job)
{
    int rc;

    job->out.solve.objective.batch = job->asked_batch;
    rc = mf_recon_plan_make(job->session, job->o, job->out.dims, job->out.target, &job->out.solve, &job->plan);
    job->unfit = job->plan.unfit;
    return rc;
}

/* -- what the harness asks for -- */

static int may_write(void *context, struct mf_run *run)
{
    const struct job *job = context;

    MF_TRY(mf_micro_may_write(run->comm, job->out.path, mf_outcome_ndim(&job->out), 0));
    MF_TRY(mf_agree(run->comm, run->comm->rank == 0 && job->out.name ? mf_metrics_may(run->metrics) : MF_OK));
    return spares_inputs(job);
}

static int number_problem(const struct job *job, struct mf_run *run)
{
    uint32_t number = 0;

    MF_TRY(mf_solve_problem(job->out.dims, job->out.target, &job->out.solve, &number));
    snprintf(run->problem, sizeof run->problem, "%08x", number);
    if (run->parts > 1) snprintf(run->problem + 8, sizeof run->problem - 8, "-%d", (int)run->parts);
    return MF_OK;
}

static int name(void *context, struct mf_run *run) { return mf_agree(run->comm, number_problem(context, run)); }

static int plan(struct job *job, struct mf_run *run)
{
    const int keeps = run->keeper.restart && job->out.solve.history_free;

    job->out.run = run;
    job->out.solve.keeper = &run->keeper;
    job->out.solve.snapshot_stem = run->stem;
    job->out.solve.metrics = job->out.name && !job->out.no_metrics ? run->metrics : NULL;
    job->out.solve.output = job->out.name;
    job->out.solve.history_kept = keeps ? mf_solve_kept_history(run->comm, run->stem) : 0;
    return make_plan(job);
}

/* To whoever takes results, and may keep them. Collective. */
static int give(struct job *job, const struct mf_json *json)
{
    const int rc = mf_session_give(job->session, &job->out.micro, json);

    mf_outcome_taken(&job->out);
    return rc;
}

/* Whoever takes results also gets the best of a run that is asked to stop: MF_STOPPED then. */
static int solve_all(struct job *job)
{
    int rc = mf_outcome_solve(&job->out);
    struct mf_json *json = NULL;
    char why[MF_ERR_TEXT];

    if (rc != MF_STOPPED || !job->out.result.label) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    job->out.seconds = mf_now() - job->session->start + job->out.result.elapsed;
    rc = mf_agree(job->session->comm, results(job, &json));
    if (rc == MF_OK) rc = give(job, json);
    mf_json_free(json);
    mf_outcome_free(&job->out);
    return rc == MF_OK ? mf_fail(MF_STOPPED, "%s", why) : rc;
}

/* A disk that the volume does not fit on is found before the work is done. */
static int work(void *context, struct mf_run *run, struct mf_json **json)
{
    struct job *job = context;
    const size_t *n = job->out.dims;
    int rc;

    MF_TRY(plan(job, run));
    MF_TRY(mf_micro_may_write(run->comm, job->out.path, mf_outcome_ndim(&job->out), n[0] * n[1] * n[2]));
    MF_TRY(solve_all(job));
    rc = mf_agree(run->comm, write_volume(job, json));
    if (rc == MF_OK) mf_outcome_report(&job->out);
    if (rc == MF_OK) rc = give(job, *json);
    mf_outcome_free(&job->out);
    return rc;
}

/* If the outputs of several realisations do not say that they are done, one goes on by itself. */
static const char *go_on(const struct job *job, char text[200])
{
    if (job->o->realisations == 1 || mf_recon_knows_done(job->session)) return NULL;
    snprintf(text, 200, "--output %s --seed %llu --restart auto without --realisations",
             strlen(job->out.path) < 100 ? job->out.path : "...", (unsigned long long)job->out.solve.seed);
    return text;
}

static void forget_path(struct job *job)
{
    free(job->out.path);
    job->out.path = NULL;
}

/* One realisation as a run. Its output is job->out.path. */
static int name_run(struct job *job, const char *base, struct mf_run *run)
{
    const struct mf_session *s = job->session;

    MF_TRY(mf_agree(s->comm, name_output(job, base)));
    *run = (struct mf_run){.comm = s->comm,
                           .output = job->out.path,
                           .part = "candidate",
                           .parts = job->out.candidates,
                           .keeper = mf_keep_opts(s, &job->o->keep)};
    return MF_OK;
}

/* One realisation for somebody who takes it. It has no files, so nothing is kept either. */
static int hand_over(struct job *job, struct mf_json **json)
{
    struct mf_session *s = job->session;
    int rc = make_plan(job);

    if (rc == MF_OK) rc = solve_all(job);
    if (rc == MF_OK) {
        job->out.seconds = mf_now() - s->start;
        rc = mf_agree(s->comm, results(job, json));
        if (rc == MF_OK) rc = give(job, *json);
        mf_outcome_free(&job->out);
    }
    mf_run_plan_free(&job->plan);
    return rc;
}

static int realise(struct job *job, const char *base, struct mf_json **json)
{
    static const struct mf_run_client client = {may_write, name, mf_run_results_h5, work};
    struct mf_run run;
    char text[200];
    int rc = name_run(job, base, &run);

    if (rc == MF_OK) {
        run.again = go_on(job, text);
        job->out.name = mf_name_run(job->out.path, job->o->realisations > 1, job->out.solve.seed);
        rc = mf_run_do(&run, &client, job, json);
    }
    mf_run_plan_free(&job->plan);
    job->out.run = NULL;
    job->out.solve.keeper = NULL;
    job->out.solve.metrics = job->out.solve.output = job->out.solve.snapshot_stem = NULL;
    free(job->out.name);
    job->out.name = NULL;
    forget_path(job);
    return rc;
}

/* FILE of --save-gradient, numbered like outputs when there are several. */
static int name_gradient(struct job *job)
{
    const char *file = job->o->match.save_gradient;

    if (!file) return MF_OK;
    job->out.path = job->o->realisations > 1 ? mf_name_number(file, "seed", job->out.solve.seed) : strdup(file);
    return job->out.path ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");
}

/* --max_iter 0: the loss of the start into *json, its gradient into out.path; no volume. */
static int evaluate(struct job *job, struct mf_json **json)
{
    struct mf_session *s = job->session;
    struct mf_slab slab = mf_slab_of(s->comm, job->out.dims, s->comm->rank);
    float *gradient = NULL;
    double loss;
    int rc = mf_solve_probe(s->comm, s->home->backend, s->home, job->out.dims, job->out.target, &job->out.solve,
                            job->out.path ? &gradient : NULL, &loss);

    if (rc == MF_OK && gradient)
        rc = mf_field_write(s->comm, job->out.path, &slab, mf_outcome_ndim(&job->out),
                            (int)mf_solve_fields(job->out.target, &job->out.solve), gradient);
    mf_arena_give(mf_mirror_arena(s->home), gradient);
    MF_TRY(rc);
    *json = mf_json_object();
    if (job->out.path) mf_json_text(*json, "gradient", job->out.path);
    mf_json_null(*json, "output");
    mf_micro_shape(job->out.dims, *json);
    MF_JSON(*json, "seed", job->out.solve.seed, "loss", loss, "loss_final", loss, "evaluations", 1, "seconds",
            mf_now() - s->start);
    put_device(s, *json);
    if (s->comm->rank == 0 && !mf_common_of(s)->json) printf("loss %.17g\n", loss);
    return put_peaks(s, *json);
}

static int probe(struct job *job, struct mf_json **json)
{
    int rc = mf_agree(job->session->comm, name_gradient(job));

    if (rc == MF_OK && job->out.path) rc = spares_inputs(job);
    if (rc == MF_OK) rc = make_plan(job);
    if (rc == MF_OK) rc = evaluate(job, json);
    mf_run_plan_free(&job->plan);
    forget_path(job);
    return rc;
}

/* How to continue if outputs cannot record that they are complete: the stopped realisation, then those after it. */
static int one_by_one(const struct job *job, long k)
{
    unsigned long long seed = job->out.solve.seed;
    char text[400], *name = mf_name_number(mf_common_of(job->session)->output, "seed", job->out.solve.seed);
    int rc = MF_STOPPED;

    snprintf(text, sizeof text, "%.*s", (int)strcspn(mf_err_text(), ";"), mf_err_text());
    if (k + 1 == job->o->realisations)
        rc = mf_fail(rc, "%s; continue with --output '%s' --seed %llu --restart auto, without --realisations", text,
                     name ? name : "..", seed);
    else
        rc = mf_fail(rc,
                     "%s; continue with --output '%s' --seed %llu --restart auto, without --realisations, then start "
                     "the rest with --seed %llu --realisations %ld (.h5 outputs continue together)",
                     text, name ? name : "..", seed, seed + 1, job->o->realisations - k - 1);
    free(name);
    return rc;
}

/* A stopped realisation refuses all before the first is made. */
static int spare_all(struct job *job, const char *base)
{
    int rc = MF_OK;

    for (long k = 0; k < job->o->realisations && rc == MF_OK; ++k) {
        struct mf_run run;

        job->out.solve.seed = (uint64_t)(job->session->settings.seed + k);
        rc = name_run(job, base, &run);
        if (rc == MF_OK) rc = mf_run_spares(&run);
        forget_path(job);
    }
    return rc;
}

/* Every seed; *json: the one object, or an array of them. */
static int run_seeds(struct job *job, const char *base, struct mf_json **json)
{
    const int many = job->o->realisations > 1;
    int rc = many && job->o->match.max_iter > 0 ? spare_all(job, base) : MF_OK;

    *json = many ? mf_json_array() : NULL;
    for (long k = 0; k < job->o->realisations && rc == MF_OK; ++k) {
        struct mf_json *one = NULL;

        job->out.solve.seed = (uint64_t)(job->session->settings.seed + k);
        job->out.solve.metrics_append = k > 0;
        if (job->session->taker && !mf_common_of(job->session)->output)
            rc = hand_over(job, &one);
        else
            rc = job->o->match.max_iter == 0 ? probe(job, &one) : realise(job, base, &one);
        if (rc == MF_STOPPED && many && !mf_recon_knows_done(job->session)) rc = one_by_one(job, k);
        if (one && many)
            mf_json_put(*json, NULL, one);
        else
            *json = many ? *json : one;
    }
    if (many && rc == MF_OK) mf_recon_property_means(*json);
    return rc;
}

static int print_json(const struct mf_session *s, const struct mf_json *json)
{
    int rc = MF_OK;

    if (mf_common_of(s)->json && s->comm->rank == 0) rc = mf_json_write(json, stdout);
    return mf_agree(s->comm, rc);
}

/* The last of several objects in an array is there when all is done. */
static struct mf_json *last_of(const struct mf_json *array)
{
    size_t n = mf_json_count(array);

    return n ? mf_json_item(array, n - 1) : NULL;
}

/* Fixed voxels and the initial field have the labels of the sample, which the target keeps. The user of reconstruct may
 * give others. */
static struct mf_micro_read read_by_sample(const struct job *job, long label[MF_PHASES_MAX])
{
    const struct mf_recon_cmd *o = job->o;
    const struct mf_target *target = job->out.target;
    const int told = o->match.files.count == 0 && o->match.labels.count;
    const int phases = target->phases > 1 ? target->phases : 2;

    for (int p = 0; p < phases; ++p) label[p] = mf_outcome_label(target, p);
    return (struct mf_micro_read){.threshold = o->match.threshold,
                                  .of_sample = !told,
                                  .label_count = told ? o->match.labels.count : (size_t)phases,
                                  .labels = told ? o->match.labels.at : label};
}

/* Hashes a file and the way in which reconstruct read it: another way is another problem. Collective. */
static int hash_reading(const struct job *job, struct mf_micro *micro)
{
    const struct mf_recon_cmd *o = job->o;
    char text[MF_HASH_TEXT + MF_PHASES_MAX * 24 + 64];
    int n;

    MF_TRY(mf_micro_hash(job->session->comm, micro));
    if (o->match.files.count || (!o->match.labels.count && !o->match.threshold)) return MF_OK;
    n = snprintf(text, sizeof text, "%s\n%.40s", micro->hash, o->match.threshold ? o->match.threshold : "");
    for (size_t p = 0; p < o->match.labels.count && p < MF_PHASES_MAX; ++p)
        n += snprintf(text + n, sizeof text - (size_t)n, " %ld", o->match.labels.at[p]);
    mf_hash_bytes(text, (size_t)n, micro->hash);
    return MF_OK;
}

/* --dry-run: with the labels of the best candidate, which wait while others run. */
static int dry_run(struct job *job)
{
    struct mf_session *s = job->session;
    const struct mf_slab slab = mf_slab_of(s->comm, job->out.dims, s->comm->rank);
    const ptrdiff_t kept = job->out.candidates > 1 ? (ptrdiff_t)mf_slab_voxels(&slab) : 0;
    int rc;

    MF_TRY(mf_recon_foresee(s, job->o, job->out.dims, job->out.target, &job->out.solve, &job->plan));
    rc = mf_agree(s->comm, mf_arena_book(s->arena, kept, "labels"));
    if (rc == MF_OK) {
        rc = mf_recon_dry(s, job->out.dims, job->out.target, &job->out.solve, &job->plan);
        MF_TRY(mf_arena_book(s->arena, -kept, "labels"));
        if (rc == MF_OK && job->plan.unfit)
            mf_warn("the run does not fit in the memory of this machine; try: more ranks on more machines, or a "
                    "smaller --size");
    }
    mf_run_plan_free(&job->plan);
    return rc;
}

/* A file of other pixels than the result's is said, if it is not resampled, which is. */
static void say_size(const struct job *job, const char *file, const struct mf_micro *m)
{
    const struct mf_target *target = job->out.target;
    double edge[3];
    const struct mf_size is = {file, m->ndim, m->spacing, m->unit},
                         want = {target->source, mf_outcome_ndim(&job->out), edge, target->unit};

    mf_outcome_spacing(&job->out, edge);
    if (memcmp(m->slab.dims, job->out.dims, sizeof job->out.dims) == 0)
        mf_sizes_warn(&is, &want, "its values are taken pixel by pixel");
}

/* The initial field, if there is one, then the seeds. */
static int with_start(struct job *job, const char *base)
{
    struct mf_session *s = job->session;
    long label[MF_PHASES_MAX];
    struct mf_micro_read read = read_by_sample(job, label);
    struct mf_micro start;
    struct mf_json *json = NULL;
    int from_file = job->o->match.initial_file != NULL, rc = MF_OK;

    mf_recon_few_threads(s, job->out.dims, job->out.target, &job->out.solve);
    read.grey = 1;
    if (from_file) {
        MF_TRY(mf_micro_read(s->comm, s->arena, job->o->match.initial_file, &read, &start));
        job->out.solve.start = &start;
        say_size(job, job->o->match.initial_file, &start);
        rc = hash_reading(job, &start);
    }
    if (rc == MF_OK) rc = s->settings.dry_run ? dry_run(job) : run_seeds(job, base, &json);
    if (rc == MF_OK) rc = mf_log_view_json(s, job->o->realisations > 1 ? last_of(json) : json);
    if (rc == MF_OK && !s->settings.dry_run) rc = print_json(s, json); /* only rank 0 may have it */
    mf_json_free(json);
    job->out.solve.start = NULL;
    if (from_file) mf_micro_free(&start);
    return rc;
}

/* Fixed voxels, if there are any, then the rest. */
static int with_fixed(struct job *job, const char *base)
{
    long label[MF_PHASES_MAX];
    struct mf_micro_read read = read_by_sample(job, label);
    struct mf_micro fixed;
    int rc;

    if (!job->o->match.fixed_file) return with_start(job, base);
    read.partial = 1;
    MF_TRY(mf_micro_read(job->session->comm, job->session->arena, job->o->match.fixed_file, &read, &fixed));
    job->out.solve.fixed = &fixed;
    say_size(job, job->o->match.fixed_file, &fixed);
    rc = hash_reading(job, &fixed);
    if (rc == MF_OK) rc = with_start(job, base);
    job->out.solve.fixed = NULL;
    mf_micro_free(&fixed);
    return rc;
}

/* Extents that nobody gave. */
static void say_extents(const struct job *job)
{
    const struct mf_match *m = &job->o->match;
    char extents[MF_SHAPE_TEXT];

    if (m->size.count || m->given.extent[0] || m->given.extent[1] || m->given.extent[2] || !m->sized) return;
    mf_recon_shape_text(job->out.dims, extents);
    mf_info("the result has the size that '%s' was measured on: %s voxels; --size sets another",
            job->out.target->source, extents);
}

static int prepare(struct job *job, const size_t *volume)
{
    const struct mf_recon_cmd *o = job->o;

    MF_TRY(mf_recon_worth(job->out.target));
    MF_TRY(mf_recon_extents(&o->match, job->out.target, volume, job->out.dims));
    mf_recon_unused_sides(job->out.target, job->out.dims);
    say_extents(job);
    MF_TRY(mf_outcome_may_choose(&job->out));
    mf_join_compare(job->out.target, o->match.files.count == 3 ? o->match.files.at : NULL);
    if (o->realisations > 1 && o->match.initial_file)
        mf_warn("all realisations start from the same initial field and will be equal");
    MF_TRY(mf_recon_plan(job->session, o, job->out.target, job->out.dims, &job->out.solve));
    return mf_recon_property_bounds(job->out.target, job->out.dims, &job->out.solve);
}

int mf_recon_run(struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                 const size_t *volume, const char *file)
{
    struct job job = {.session = session, .o = o};
    const struct mf_outcome_by by = {&job, solve, measure};
    char *base = MF_MUST(mf_stem(file), "a name");
    int rc;

    job.out = (struct mf_outcome){.comm = session->comm,
                                  .arena = session->arena,
                                  .by = by,
                                  .target = target,
                                  .candidates = (size_t)o->match.candidates,
                                  .asked = o->match.max_iter,
                                  .usual = o->run.usual_iter ? o->run.usual_iter : mf_match_defaults().max_iter,
                                  .by_recipe = o->run.recipe != NULL};
    rc = mf_agree(session->comm, prepare(&job, volume));
    job.asked_batch = job.out.solve.objective.batch;
    if (rc == MF_OK) rc = with_fixed(&job, base);
    if (job.unfit && mf_device_may_leave(session)) {
        rc = mf_session_to_cores(session);
        job.out.arena = session->arena;
        if (rc == MF_OK) rc = with_fixed(&job, base);
    }
    free(base);
    return rc;
}
