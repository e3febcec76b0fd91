/* See recon_opts.h: from a target to files and figures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/cmd/join.h"
#include "src/cmd/log_view.h"
#include "src/cmd/names.h"
#include "src/cmd/peaks.h"
#include "src/cmd/recon_opts.h"
#include "src/cmd/recon_plan.h"
#include "src/desc/characterize.h"
#include "src/desc/copies.h"

/* One realisation on its way out. */
struct outcome {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    const struct mf_target *target;
    size_t dims[3];
    struct mf_solve_opts solve;
    struct mf_solve_result result;
    struct mf_micro micro; /* what is written; phase belongs to result */
    struct mf_target got;  /* its descriptors */
    double variation_error;
    double copied; /* share of its windows that are the example's; below 0: not asked for */
    char *path;
    double seconds;
    char problem[16]; /* its number, hexadecimal (mf_solve_problem) */
    struct mf_recon_plan plan;
    size_t asked_batch; /* as objective.batch, before the plan */
    int unfit;          /* that plan found no room on the devices */
    int no_metrics;     /* a realisation could not write them: said once */
};

static int ndim(const struct outcome *out) { return out->dims[0] > 1 ? 3 : 2; }

/* Label in the target's file of phase p of the result. */
static long label_of(const struct outcome *out, int p)
{
    const struct mf_target *t = out->target;

    return out->result.phases == t->phases || t->phases > 1 ? t->label[p] : p;
}

static void fill_micro(struct outcome *out)
{
    struct mf_micro *m = &out->micro;

    *m = (struct mf_micro){.ndim = ndim(out), .phases = out->result.phases, .phase = out->result.label};
    m->slab = mf_slab_of(out->session->comm, out->dims, out->session->comm->rank);
    m->arena = out->session->arena;
    for (int p = 0; p < m->phases; ++p) m->label[p] = label_of(out, p);
    memcpy(m->spacing, out->target->spacing, sizeof m->spacing);
    /* the rows of an image's slices normal to y and x lie along z */
    if (ndim(out) == 3 && out->target->sides == 1) m->spacing[0] = m->spacing[1];
    memcpy(m->unit, out->target->unit, sizeof m->unit);
    memcpy(m->hash, out->target->hash, sizeof m->hash);
}

/* Phase of the target that phase p of the result aims at; -1: none (the rest of a singlephase solution). */
static int aimed_at(const struct outcome *out, int p)
{
    if (out->result.phases == out->target->phases) return p;
    if (out->target->phases == 1) return p == 1 ? 0 : -1;
    return p == 1 ? 1 : -1;
}

/* Rms over the level-0 window of what the mean slice of normal d has minus its target. */
static double s2_error(const struct outcome *out, int p, int d)
{
    const struct mf_target_side *got = mf_target_for(&out->got, (enum mf_normal)d);
    const struct mf_target_side *want = mf_target_for(out->target, (enum mf_normal)d);
    size_t w = 2 * out->target->lag - 1, n = w * w;
    double sum = 0;

    for (size_t i = 0; i < n; ++i) {
        double off =
            got->s2[(size_t)p * got->levels * n + i] - want->s2[(size_t)aimed_at(out, p) * want->levels * n + i];

        sum += off * off;
    }
    return sqrt(sum / (double)n);
}

static int in_space(const struct outcome *out)
{
    return mf_objective_in_space(&out->solve.objective) < out->solve.objective.terms;
}

/* The same over all lags in space. */
static double space_error(const struct outcome *out, int p)
{
    const size_t w = 2 * out->target->lag - 1, n = out->target->lag * w * w;
    const double *got = out->got.space + (size_t)p * n, *want = out->target->space + (size_t)aimed_at(out, p) * n;
    double sum = 0;

    for (size_t i = 0; i < n; ++i) sum += (i < w * w ? 1 : 2) * (got[i] - want[i]) * (got[i] - want[i]);
    return sqrt(sum / (double)(w * w * w));
}

static double worst_variation(const struct outcome *out)
{
    double worst = 0;

    for (int p = 0; p < out->result.phases; ++p)
        for (int d = 0; d < (ndim(out) == 3 ? 3 : 1); ++d) {
            const struct mf_target_side *got = mf_target_for(&out->got, (enum mf_normal)d);
            const struct mf_target_side *want = mf_target_for(out->target, (enum mf_normal)d);
            int q = aimed_at(out, p);
            double v = q >= 0 && want->variation ? want->variation[(size_t)q * want->levels] : 0;

            if (v > 0) worst = fmax(worst, fabs(got->variation[(size_t)p * got->levels] / v - 1));
        }
    return worst;
}

static double fraction_of(const struct outcome *out, int p)
{
    return out->got.side[0].fraction[(size_t)p * out->got.side[0].levels];
}

static const char *const AXIS[3] = {"z", "y", "x"};

static void json_errors(const struct outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        struct mf_json *one = mf_json_object();
        char label[32];

        snprintf(label, sizeof label, "%ld", label_of(out, p));
        for (int d = 0; d < (ndim(out) == 3 ? 3 : 1); ++d)
            if (aimed_at(out, p) >= 0) mf_json_real(one, AXIS[d], s2_error(out, p, d));
        mf_json_put(all, label, one);
    }
    mf_json_put(at, "s2_rms_error", all);
}

static void json_fractions(const struct outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        char label[32];

        snprintf(label, sizeof label, "%ld", label_of(out, p));
        mf_json_real(all, label, fraction_of(out, p));
    }
    mf_json_put(at, "volume_fractions", all);
}

static void json_space(const struct outcome *out, struct mf_json *at)
{
    struct mf_json *all = mf_json_object();

    for (int p = 0; p < out->result.phases; ++p) {
        char label[32];

        snprintf(label, sizeof label, "%ld", label_of(out, p));
        if (aimed_at(out, p) >= 0) mf_json_real(all, label, space_error(out, p));
    }
    mf_json_put(at, "s2_3d_rms_error", all);
}

static int json_peaks(const struct outcome *out, struct mf_json *at)
{
    struct mf_peaks peaks;

    MF_TRY(mf_peaks_of(out->session, &peaks));
    mf_peaks_json(&peaks, at);
    mf_peaks_say(out->session, &peaks);
    mf_peaks_free(&peaks);
    return MF_OK;
}

static double per_evaluation(const struct mf_solve_result *r) { return r->seconds / fmax((double)r->evaluations, 1); }

/* The object that --json prints. Collective (peaks). */
static int json_of(const struct outcome *out, struct mf_json **json)
{
    const struct mf_solve_result *r = &out->result;
    struct mf_json *j = mf_json_object();

    mf_json_text(j, "output", out->path);
    mf_recon_shape(out->dims, j);
    mf_json_int(j, "seed", (long long)out->solve.seed);
    mf_json_text(j, "problem", out->problem);
    mf_json_real(j, "loss", r->loss);
    mf_json_real(j, "loss_cut", r->loss_cut);
    mf_json_real(j, "loss_final", r->loss_final);
    mf_json_int(j, "lag", (long long)out->target->lag);
    mf_json_bool(j, "periodic", out->solve.objective.periodic);
    mf_json_int(j, "evaluations", r->evaluations);
    mf_json_int(j, "binarise_from", r->binarise);
    mf_json_real(j, "seconds", out->seconds);
    mf_json_real(j, "seconds_per_evaluation", per_evaluation(r));
    mf_json_real(j, "polish_seconds", r->polish_seconds);
    mf_json_int(j, "swaps_tried", r->swaps_tried);
    mf_json_int(j, "swaps", r->swaps);
    mf_json_real(j, "grey_fraction", 0);
    mf_json_real(j, "grey_before_cut", r->grey);
    json_fractions(out, j);
    json_errors(out, j);
    if (in_space(out)) json_space(out, j);
    mf_json_real(j, "variation_error", out->variation_error);
    if (out->copied >= 0) mf_json_real(j, "copied", out->copied);
    mf_json_text(j, "device", out->session->backend->name);
    mf_json_int(j, "ranks", out->session->comm->size);
    mf_json_int(j, "threads", out->session->queue->threads);
    *json = j;
    MF_TRY(json_peaks(out, j));
    mf_recon_plan_put(&out->plan, r, j);
    return MF_OK;
}

/* What was written, and by how much of which work. */
static void report_losses(const struct outcome *out)
{
    const struct mf_solve_result *r = &out->result;

    if (out->solve.method.method->swaps)
        mf_info("wrote %s: loss %.4e before annealing, %.4e after it; %ld step%s, %ld accepted, %.3g us each",
                out->path, r->loss_cut, r->loss_final, r->swaps_tried, MF_S(r->swaps_tried), r->swaps,
                1e6 * r->polish_seconds / fmax((double)r->swaps_tried, 1));
    else
        mf_info("wrote %s: loss %.4e grey, %.4e cut, %.4e final; %ld evaluation%s, %.3g ms each", out->path, r->loss,
                r->loss_cut, r->loss_final, r->evaluations, MF_S(r->evaluations), 1e3 * per_evaluation(r));
}

static void report(const struct outcome *out)
{
    const struct mf_solve_result *r = &out->result;

    report_losses(out);
    for (int p = 0; p < r->phases; ++p) {
        if (aimed_at(out, p) < 0) continue;
        if (ndim(out) == 3)
            mf_info("phase %ld: volume fraction %.6f, S2 rms error %.2e %.2e %.2e (normals z y x)", label_of(out, p),
                    fraction_of(out, p), s2_error(out, p, 0), s2_error(out, p, 1), s2_error(out, p, 2));
        else
            mf_info("phase %ld: volume fraction %.6f, S2 rms error %.2e", label_of(out, p), fraction_of(out, p),
                    s2_error(out, p, 0));
    }
    for (int p = 0; in_space(out) && p < r->phases; ++p)
        if (aimed_at(out, p) >= 0) mf_info("phase %ld: S2_3D rms error %.2e", label_of(out, p), space_error(out, p));
    mf_info("interface density: largest relative error %.2g %%", 100 * out->variation_error);
    if (out->copied >= 0) mf_info("copied from the target: %.2g %% of windows of 16 x 16", 100 * out->copied);
    if (out->variation_error > 0.1)
        mf_warn("the result has not the interfaces of its target; try: FFTCorrelations and Variation together, more "
                "--max_iter, or targets that do not contradict each other");
}

static int describe(struct outcome *out)
{
    const struct mf_characterize_opts c = {.lag = out->target->lag,
                                           .levels = 1,
                                           .periodic = out->solve.objective.periodic,
                                           .space = in_space(out),
                                           .example = mf_objective_by_example(&out->solve.objective)};
    struct mf_session *s = out->session;
    MF_PHASE(MF_PHASE_DESCRIBE);

    MF_TRY(mf_reside_characterize(s, out->o->residency, &out->micro, &c, &out->got));
    out->variation_error = worst_variation(out);
    return c.example ? mf_agree(s->comm, mf_copies(&out->got, out->target, &out->copied)) : MF_OK;
}

static int write_volume(struct outcome *out, struct mf_json **json)
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
    rc = json_of(out, json);
    results = rc == MF_OK ? mf_json_string(*json) : NULL;
    from.json = results;
    if (rc == MF_OK) rc = mf_micro_write(s->comm, out->path, &out->micro, &from);
    free(results);
    free(options);
    return rc;
}

/* "base_reconstructed.h5", or --output; with several realisations "_seedN" before the ending. */
static int name_output(struct outcome *out, const char *base)
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

/* Solves, describes, writes, reports. Checkpoints of the run go once the volume is on disk. */
static int make_volume(struct outcome *out, const struct mf_recon_keeper *keeper, struct mf_json **json)
{
    struct mf_session *s = out->session;
    int rc;

    rc = mf_reside_solve(s, out->o->residency, out->dims, out->target, out->asked_batch, &out->solve, &out->result);
    out->no_metrics |= out->result.metrics_lost;
    if (rc != MF_OK) return rc;
    fill_micro(out);
    rc = describe(out);
    if (rc == MF_OK) rc = write_volume(out, json);
    if (rc == MF_OK) report(out);
    if (rc == MF_OK) mf_checkpoint_remove(s->comm, keeper->stem);
    mf_target_free(&out->got);
    mf_solve_free(&out->result);
    return rc;
}

static int name_problem(struct outcome *out)
{
    uint32_t number = 0;

    MF_TRY(mf_solve_problem(out->dims, out->target, &out->solve, &number));
    snprintf(out->problem, sizeof out->problem, "%08x", number);
    return MF_OK;
}

/* A disk that the volume does not fit on is found before the work is done. */
static int make_room(struct outcome *out, const struct mf_recon_keeper *keeper, struct mf_json **json)
{
    const size_t *n = out->dims;

    MF_TRY(mf_micro_may_write(out->session->comm, out->path, ndim(out), n[0] * n[1] * n[2]));
    return make_volume(out, keeper, json);
}

/* A volume that an earlier run has finished stays as it is; *json is what that run said. */
static int pass_over(const struct outcome *out, struct mf_json **json)
{
    mf_info("%s is there already, of the same problem and finished: left as it is", out->path);
    if (*json) mf_json_bool(*json, "done_before", 1);
    return MF_OK;
}

static int spares_inputs(const struct outcome *out)
{
    const char *single[3] = {out->o->descriptor_filename, out->o->initial_file, out->o->fixed_file};

    MF_TRY(mf_session_spares(out->session, out->path, out->o->files.count, (const char *const *)out->o->files.at));
    for (size_t i = 0; i < out->o->arrays.count; ++i) {
        const char *array = strchr(out->o->arrays.at[i], '=') + 1;

        MF_TRY(mf_session_spares(out->session, out->path, 1, &array));
    }
    return mf_session_spares(out->session, out->path, 3, single);
}

static int make_plan(struct outcome *out)
{
    int rc;

    out->solve.objective.batch = out->asked_batch;
    rc = mf_recon_plan_make(out->session, out->o, out->dims, out->target, &out->solve, &out->plan);
    out->unfit = out->plan.unfit;
    return rc;
}

/* The plan of the run, and the number of the problem that it then is. */
static int settle(struct outcome *out)
{
    MF_TRY(make_plan(out));
    return mf_agree(out->session->comm, name_problem(out));
}

static int realise(struct outcome *out, const char *base, struct mf_json **json)
{
    struct mf_session *s = out->session;
    struct mf_recon_keeper keeper = {.stem = NULL};
    char *metrics = NULL, *name = NULL;
    int rc = mf_agree(s->comm, name_output(out, base));

    if (rc == MF_OK) {
        mf_recon_keeper_open(s, out->o, out->path, &keeper);
        out->solve.keeper = &keeper.opts;
        out->solve.snapshot_stem = keeper.opts.stem;
    }
    if (rc == MF_OK && !out->no_metrics) metrics = mf_name_metrics(out->path);
    if (metrics) name = mf_name_run(out->path, out->o->realisations > 1, out->solve.seed);
    out->solve.metrics = name ? metrics : NULL;
    out->solve.output = name;
    if (rc == MF_OK) rc = mf_micro_may_write(s->comm, out->path, ndim(out), 0);
    if (rc == MF_OK) rc = spares_inputs(out);
    if (rc == MF_OK) rc = mf_recon_keeper_lock(s, &keeper);
    if (rc == MF_OK) rc = settle(out);
    if (rc == MF_OK) {
        if (keeper.opts.restart && mf_recon_is_done(s, &keeper, out->path, out->problem, json))
            rc = pass_over(out, json);
        else
            rc = make_room(out, &keeper, json);
    }
    mf_recon_keeper_close(&keeper);
    out->solve.keeper = NULL;
    out->solve.metrics = NULL;
    mf_recon_plan_free(&out->plan);
    out->solve.output = NULL;
    out->solve.snapshot_stem = NULL;
    free(name);
    free(metrics);
    free(out->path);
    out->path = NULL;
    return rc;
}

/* FILE of --save-gradient, numbered like outputs when there are several. */
static int name_gradient(struct outcome *out)
{
    const char *file = out->o->save_gradient;

    if (!file || !*file) return MF_OK;
    out->path = out->o->realisations > 1 ? mf_name_number(file, "seed", out->solve.seed) : strdup(file);
    return out->path ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");
}

/* --max_iter 0: the loss of the start into *json, its gradient into out->path; no volume. */
static int evaluate(struct outcome *out, struct mf_json **json)
{
    struct mf_session *s = out->session;
    struct mf_slab slab = mf_slab_of(s->comm, out->dims, s->comm->rank);
    float *gradient = NULL;
    double loss;
    int rc = mf_solve_probe(s->comm, s->home->backend, s->home, out->dims, out->target, &out->solve,
                            out->path ? &gradient : NULL, &loss);

    if (rc == MF_OK && gradient)
        rc = mf_field_write(s->comm, out->path, &slab, ndim(out), (int)mf_solve_fields(out->target, &out->solve),
                            gradient);
    mf_arena_give(mf_mirror_arena(s->home), gradient);
    MF_TRY(rc);
    *json = mf_json_object();
    if (out->path) mf_json_text(*json, "gradient", out->path);
    mf_json_null(*json, "output");
    mf_recon_shape(out->dims, *json);
    mf_json_int(*json, "seed", (long long)out->solve.seed);
    mf_json_real(*json, "loss", loss);
    mf_json_real(*json, "loss_final", loss);
    mf_json_int(*json, "evaluations", 1);
    mf_json_real(*json, "seconds", mf_now() - s->start);
    mf_json_text(*json, "device", s->backend->name);
    mf_json_int(*json, "ranks", s->comm->size);
    mf_json_int(*json, "threads", s->queue->threads);
    if (s->comm->rank == 0 && !s->common->json) printf("loss %.17g\n", loss);
    return json_peaks(out, *json);
}

static int probe(struct outcome *out, struct mf_json **json)
{
    int rc = mf_agree(out->session->comm, name_gradient(out));

    if (rc == MF_OK) rc = make_plan(out);
    if (rc == MF_OK) rc = evaluate(out, json);
    mf_recon_plan_free(&out->plan);
    free(out->path);
    out->path = NULL;
    return rc;
}

/* Every seed; *json: the one object, or an array of them. */
static int run_seeds(struct outcome *out, const char *base, struct mf_json **json)
{
    int rc = MF_OK, many = out->o->realisations > 1;

    *json = many ? mf_json_array() : NULL;

    for (long k = 0; k < out->o->realisations && rc == MF_OK; ++k) {
        struct mf_json *one = NULL;

        out->solve.seed = (uint64_t)(out->session->common->seed + k);
        out->solve.metrics_append = k > 0;
        rc = out->o->max_iter == 0 ? probe(out, &one) : realise(out, base, &one);
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

/* The initial field, if there is one, then the seeds. */
static int with_start(struct outcome *out, const char *base)
{
    struct mf_session *s = out->session;
    const struct mf_micro_read read = start_read(out->o);
    struct mf_micro start;
    struct mf_json *json = NULL;
    int from_file = names(out->o->initial_file), rc;

    MF_TRY(mf_agree(s->comm, mf_recon_few_threads(s, out->dims, out->target, &out->solve)));
    if (from_file) {
        MF_TRY(mf_micro_read(s->comm, s->arena, out->o->initial_file, &read, &start));
        out->solve.start = &start;
    }
    rc = s->common->dry_run ? mf_recon_dry(s, out->dims, out->target, &out->solve) : run_seeds(out, base, &json);
    if (rc == MF_OK) rc = mf_log_view_json(s, out->o->realisations > 1 ? last_of(json) : json);
    if (rc == MF_OK && !s->common->dry_run) rc = print_json(s, json); /* only rank 0 may have it */
    mf_json_free(json);
    out->solve.start = NULL;
    if (from_file) mf_micro_free(&start);
    return rc;
}

/* Fixed voxels, if there are any, then the rest. */
static int with_fixed(struct outcome *out, const char *base)
{
    const struct mf_micro_read read = {.partial = 1};
    struct mf_micro fixed;
    int rc;

    if (!names(out->o->fixed_file)) return with_start(out, base);
    MF_TRY(mf_micro_read(out->session->comm, out->session->arena, out->o->fixed_file, &read, &fixed));
    out->solve.fixed = &fixed;
    rc = with_start(out, base);
    out->solve.fixed = NULL;
    mf_micro_free(&fixed);
    return rc;
}

static int prepare(struct outcome *out, const size_t *volume)
{
    const struct mf_recon_cmd *o = out->o;

    if (out->target->phases == 1 && out->target->side[0].fraction[0] >= 1)
        return mf_fail(MF_INPUT, "'%s' holds one phase and nothing else: there is nothing to reconstruct",
                       out->target->source);
    MF_TRY(mf_recon_extents(out->session, o, out->target, volume, out->dims));
    mf_join_compare(out->target, o->files.count == 3 ? o->files.at : NULL);
    if (o->realisations > 1 && o->initial_file && *o->initial_file)
        mf_warn("all realisations begin with the same initial field: they will be equal");
    return mf_recon_plan(out->session, o, out->target, out->dims, &out->solve);
}

int mf_recon_run(struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                 const size_t *volume, const char *base)
{
    struct outcome out = {.session = session, .o = o, .target = target, .copied = -1};

    int rc;

    MF_TRY(mf_agree(session->comm, prepare(&out, volume)));
    out.asked_batch = out.solve.objective.batch;
    rc = with_fixed(&out, base);
    if (!out.unfit || !mf_recon_may_take_cores(session)) return rc;
    MF_TRY(mf_session_to_cores(session));
    return with_fixed(&out, base);
}
