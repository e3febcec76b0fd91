/* plan: what a reconstruction would do on a machine, and why. */
#include <stdlib.h>
#include <string.h>

#include "io/look.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon_auto.h"
#include "src/cmd/recon_opts.h"
#include "src/cmd/recon_plan.h"
#include "src/cmd/recon_target.h"
#include "src/plan/probe.h"

struct plan_cmd {
    struct mf_recon_cmd recon; /* first: its rows are this verb's too */
    const char *hardware;
    long ranks, phases;
    int explain, verify;
    const char *file; /* whose problem it is; NULL: of --phases and extents */
    int described;    /* by descriptors, else by a micrograph */
};

static const struct mf_opt rows[] = {
    MF_OPT(plan_cmd, "hardware", hardware, MF_TEXT, NULL, "plan for the machine in this file; without: for this one"),
    MF_OPT(plan_cmd, "ranks", ranks, MF_LONG, "0",
           "on so many ranks; 0: chosen, and for this machine those that mpirun started"),
    MF_OPT(plan_cmd, "phases", phases, MF_LONG, "2", "phases of the target where no FILE says it"),
    MF_OPT(plan_cmd, "explain", explain, MF_FLAG, NULL, "every array and every candidate"),
    MF_OPT(plan_cmd, "verify", verify, MF_FLAG, NULL,
           "try the planned batch and smaller ones by two evaluations each, on these ranks; the fastest is planned"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows,          mf_match_rows,  mf_reconstruct_rows,
                                              mf_recon_rows, mf_common_opts, NULL};

/* ---- the problem ---- */

/* Phases and extents of a micrograph. It is measured only where what is aimed at is chosen from it: plans do not depend
 * on other statistics. */
static int from_micrograph(struct mf_session *s, struct plan_cmd *o, const char *file, struct mf_target *target,
                           size_t volume[3])
{
    const struct mf_recon_cmd *r = &o->recon;
    const struct mf_micro_read read = {.threshold = r->threshold && *r->threshold ? r->threshold : NULL,
                                       .label_count = r->labels.count,
                                       .labels = r->labels.at,
                                       .dataset = r->dataset && *r->dataset ? r->dataset : NULL,
                                       .grey = r->grey_values,
                                       .unhashed = 1};
    struct mf_micro micro;
    size_t slice[3], dims[1][3];
    int rc;

    if (mf_recon_is_auto(r)) {
        MF_TRY(mf_recon_measure(s, &o->recon, target, dims));
        memcpy(volume, dims, sizeof dims);
        return MF_OK;
    }
    MF_TRY(mf_micro_read(s->comm, s->arena, file, &read, &micro));
    mf_recon_fit(s, &o->recon, &micro);
    memcpy(slice, micro.slab.dims, sizeof slice);
    if (r->isotropic) slice[0] = 1;
    rc = mf_recon_nominal(r, slice, micro.grey ? micro.fields : micro.phases, target);
    memcpy(volume, micro.slab.dims, 3 * sizeof volume[0]);
    if (micro.ndim == 2) volume[0] = 0;
    mf_micro_free(&micro);
    return mf_agree(s->comm, rc);
}

static int from_descriptors(struct mf_session *s, struct plan_cmd *o, const char *file, struct mf_target *target)
{
    static const char *s2_alone[] = {"FFTCorrelations"};

    o->recon.sized = !(o->recon.compat && *o->recon.compat);
    MF_TRY(mf_target_load(s->comm, file, target));
    MF_TRY(mf_recon_recall(s, &o->recon, target, file));
    if (!target->side[0].variation && !mf_options_given(s->options, "descriptor-types"))
        o->recon.types = (struct mf_texts){1, s2_alone};
    if (target->lag == (size_t)o->recon.lag || !mf_options_given(s->options, "limit-to")) return MF_OK;
    return mf_fail(MF_USAGE, "--limit_to is %ld, the descriptors in '%s' have L = %zu", o->recon.lag, file,
                   target->lag);
}

static int is_descriptors(const char *file, int *is)
{
    struct mf_look *look;
    int rc;

    MF_TRY(mf_look_is_h5(file, is));
    if (!*is) return MF_OK;
    look = MF_MUST(calloc(1, sizeof *look), "a look at a file");
    rc = mf_look(file, look);
    *is = rc == MF_OK && strcmp(look->schema, MF_SCHEMA_TARGET) == 0;
    if (rc == MF_OK) mf_look_free(look);
    free(look);
    return rc;
}

/* Target, extents and what is solved. @p dims is set. */
static int find_problem(struct mf_session *s, struct plan_cmd *o, struct mf_target *target, size_t dims[3])
{
    struct mf_recon_cmd *r = &o->recon;
    const char *file = o->file;
    size_t volume[3] = {0};
    int rc;

    if (r->initial_file && *r->initial_file)
        return mf_fail(MF_USAGE, "--initial_microstructure_file: a run plans itself around it; leave it out here");
    if (r->fixed_file && *r->fixed_file)
        return mf_fail(MF_USAGE, "--fixed: a run plans itself around it; leave it out here");
    if (r->mask && *r->mask)
        return mf_fail(MF_USAGE, "--mask: a plan does not depend on what is counted; leave it out here");
    if (r->arrays.count)
        return mf_fail(MF_USAGE, "--target: a run plans itself around these arrays; leave them out here");
    if ((!file || o->described) && mf_options_given(s->options, "add-dimension"))
        return mf_fail(MF_USAGE, "--add_dimension makes a volume of an image, and none is named; try: --size nz ny nx");
    if (file && o->described) {
        MF_TRY(from_descriptors(s, o, file, target));
        return mf_agree(s->comm, mf_recon_extents(s, r, target, NULL, dims));
    }
    if (file) {
        r->files = (struct mf_texts){1, &o->file};
        MF_TRY(from_micrograph(s, o, file, target, volume));
        return mf_agree(s->comm, mf_recon_extents(s, r, target, volume[0] ? volume : NULL, dims));
    }
    if (o->phases < 1 || o->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--phases is %ld, 1 to %d are possible", o->phases, MF_PHASES_MAX);
    rc = mf_recon_extents(s, r, target, NULL, dims);
    if (rc == MF_OK) rc = mf_recon_nominal(r, dims, (int)o->phases, target);
    return mf_agree(s->comm, rc);
}

/* ---- the plan ---- */

struct work {
    struct mf_session *session;
    const struct plan_cmd *o;
    struct mf_recon_work recon;
    struct mf_hardware hardware;
    struct mf_plan_options options;
    long number; /* of --device cuda:N */
    struct mf_plan plan;
};

static struct mf_plan_ask ask_of(struct work *w)
{
    const struct mf_session *s = w->session;

    w->options = (struct mf_plan_options){.ranks = (size_t)w->o->ranks, .threads = (size_t)s->common->threads};
    mf_planned_device(s->common, w->o->recon.residency, &w->number, &w->options);
    w->options.apart = strcmp(w->options.device, "shadow") == 0;
    return (struct mf_plan_ask){&w->hardware, &mf_recon_task, &w->recon, &w->options, NULL};
}

static int make(struct work *w, const struct mf_plan_ask *ask)
{
    return mf_refuse_together(w->session->comm, w->session->comm->rank == 0 ? mf_plan_make(ask, &w->plan) : MF_OK);
}

/* Where the plan goes; NULL: nowhere. The output of a configuration that is the run's is the run's. */
static const char *output_of(const struct mf_session *s)
{
    const char *output = s->common->output;
    const int is_run =
        output && mf_options_origin(s->options, "output") != MF_FROM_FLAG && !mf_ends_with(output, ".json");

    return is_run ? NULL : output;
}

static int spare_inputs(const struct mf_session *s, const struct plan_cmd *o)
{
    const char *const inputs[] = {o->hardware, o->file};

    return output_of(s) ? mf_session_spares(s, output_of(s), sizeof inputs / sizeof *inputs, inputs) : MF_OK;
}

/* Rank 0 prints; the file is everybody's. Where nothing fits (@p made) what was looked at is said all the same. */
static int report(struct work *w, int made)
{
    const struct mf_session *s = w->session;
    int is_asked = made == MF_OK || (made == MF_MEMORY && (s->common->json || w->o->explain));
    struct mf_json *json = is_asked && w->plan.candidates > 0 ? mf_plan_json(&w->plan) : NULL;
    int rc = MF_OK;

    if (json && s->common->json) rc = mf_json_write(json, stdout);
    if (json && !s->common->json) mf_plan_print(stdout, &w->plan, w->o->explain);
    if (made != MF_OK) {
        mf_json_free(json);
        return made;
    }
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK && output_of(s) && !s->common->dry_run) rc = mf_hardware_write(s->comm, output_of(s), json);
    mf_json_free(json);
    return rc;
}

/* The machine of a file, or of this run: then a GPU counts only where this build has its back end. */
static int find_machine(struct work *w, struct plan_cmd *o)
{
    struct mf_session *s = w->session;
    const struct mf_backend *backend;
    struct mf_probe probe;

    if (o->hardware) {
        if (o->ranks == 0 && s->comm->size > 1)
            mf_info(
                "plan: the ranks of another machine (--hardware) are chosen, whatever runs here; --ranks %d: so many",
                s->comm->size);
        return mf_agree(s->comm, mf_hardware_read(o->hardware, &w->hardware));
    }
    MF_TRY(mf_probe_run(s->comm, &probe));
    w->hardware = probe.hardware;
    probe.hardware = (struct mf_hardware){.hosts = 0};
    if (o->ranks == 0 && (s->comm->size > 1 || o->verify)) o->ranks = s->comm->size;
    mf_probe_free(&probe);
    if (strncmp(s->common->device, "cuda", 4) == 0) return mf_agree(s->comm, mf_backend_find(&backend, "cuda"));
    if (strcmp(s->common->device, "auto") != 0 || mf_backend_find(&backend, "cuda") == MF_OK) return MF_OK;
    mf_err_clear();
    o->recon.common.device = "cpu";
    return MF_OK;
}

static int verify(struct work *w, const struct mf_plan_ask *ask)
{
    MF_TRY(mf_session_to_device(w->session));
    w->recon.queue = w->session->home;
    return mf_plan_verify(w->session->comm, ask, &w->plan);
}

/* Only what measures needs weights. */
static int find_vgg(struct mf_session *s, struct plan_cmd *o)
{
    struct mf_recon_cmd *r = &o->recon;

    if (o->verify) return mf_recon_vgg(s, r, NULL);
    return mf_vgg_wanted(mf_recon_more(r)) ? mf_agree(s->comm, mf_vgg_new(MF_UNIT_RELU, 1, &r->vgg)) : MF_OK;
}

static int plan(struct mf_session *s, struct plan_cmd *o)
{
    struct mf_target target = {0};
    struct mf_solve_opts solve;
    struct work w = {.session = s, .o = o};
    size_t dims[3];
    int rc = mf_session_may_write(s, output_of(s), ".json");

    if (rc == MF_OK) rc = spare_inputs(s, o);
    if (rc == MF_OK) rc = find_problem(s, o, &target, dims);
    if (rc == MF_OK) rc = find_vgg(s, o);
    if (rc == MF_OK) rc = mf_agree(s->comm, mf_recon_plan(s, &o->recon, &target, dims, &solve));
    if (rc == MF_OK) rc = find_machine(&w, o);
    if (rc == MF_OK) {
        const struct mf_plan_ask ask = ask_of(&w);

        w.recon = (struct mf_recon_work){.dims = dims,
                                         .target = &target,
                                         .opts = &solve,
                                         .deterministic = s->common->deterministic,
                                         .kept = o->recon.candidates > 1,
                                         .batch = solve.objective.batch,
                                         .history = solve.method.history,
                                         .history_fixed = mf_options_given(s->options, "history"),
                                         .residency = mf_residency_of(o->recon.residency),
                                         .comm = s->comm,
                                         .trials = MF_PLAN_TRIALS};
        mf_recon_work_look(&w.recon);
        rc = make(&w, &ask);
        if (rc == MF_OK && o->verify) rc = verify(&w, &ask);
    }
    rc = report(&w, rc);
    mf_plan_free(&w.plan);
    mf_hardware_free(&w.hardware);
    mf_target_free(&target);
    mf_vgg_free(o->recon.vgg);
    return rc;
}

/* How many of the words name a verb that can be planned. */
static size_t verb_words(size_t n, const char *const *words)
{
    size_t used;
    const struct mf_cmd *verb = mf_cmd_find(n, words, &used);

    return verb && verb->check_plan ? used : 0;
}

/* The inputs named: behind the verb, else those of --config, which is the run's own or the plan's. */
static size_t inputs_of(const struct mf_session *s, const char *const **words)
{
    size_t n = mf_options_positional(s->options, words), used;

    if (n == verb_words(n, *words)) n = mf_options_filed(s->options, words);
    used = verb_words(n, *words);
    *words += used;
    return n - used;
}

static int check(const struct mf_session *s, struct plan_cmd *o)
{
    const char *const *words, *const *input;
    size_t n = mf_options_positional(s->options, &words), inputs;

    if (n == 0)
        return mf_fail(MF_USAGE,
                       "what is to be planned? try: mesoforge plan reconstruct, or mesoforge plan match FILE");
    if (verb_words(n, words) == 0)
        return mf_fail(MF_USAGE,
                       "what is to be planned? '%s' is neither reconstruct nor match; try: mesoforge plan match FILE",
                       words[0]);
    inputs = inputs_of(s, &input);
    if (inputs && o->recon.descriptor_filename)
        return mf_fail(MF_USAGE, "'%s' and --descriptor_filename: name one target", *input);
    if (o->ranks < 0 || o->ranks > 1 << 20)
        return mf_fail(MF_USAGE, "--ranks wants 0 to %d, not %ld", 1 << 20, o->ranks);
    if (o->verify && s->common->dry_run)
        return mf_fail(MF_USAGE, "--verify measures, and --dry-run computes nothing: leave one of them out");
    if (o->verify && (o->hardware || (o->ranks > 0 && o->ranks != s->comm->size)))
        return mf_fail(MF_USAGE, "--verify measures on the ranks that are here (%d): leave --hardware and --ranks out",
                       s->comm->size);
    if (o->recon.files.count + inputs > 1)
        return mf_fail(MF_USAGE, "plan takes one FILE; three micrographs give what the first of them gives");
    o->file = inputs ? *input : o->recon.files.count ? o->recon.files.at[0] : o->recon.descriptor_filename;
    if (o->file) MF_TRY(is_descriptors(o->file, &o->described));
    if (o->file && mf_options_given(s->options, "phases")) mf_warn("--phases has no effect: '%s' says it", o->file);
    o->recon.explain = o->explain;
    mf_recon_default(&o->recon, o->file != NULL);
    if (!o->file) MF_TRY(mf_recon_named(&o->recon));
    return mf_recon_check(s, &o->recon);
}

static int run(struct mf_session *session, void *options)
{
    struct plan_cmd *o = options;

    MF_TRY(mf_agree(session->comm, check(session, o)));
    return plan(session, o);
}

const struct mf_cmd mf_cmd_plan = {
    .name = "plan",
    .summary = "say what a run would do on a machine: ranks, memory, time, and why",
    .synopsis = "reconstruct|match [FILE] [--hardware FILE] [--ranks N] [--explain] [OPTION VALUE ...]",
    .text = "Plans a reconstruct or match with these options: ranks per node and GPU, slices in flight, bytes of "
            "every array on every rank (taken by the run's own calls on memory that is not there, so they are exact), "
            "seconds of an evaluation by a model (docs/PLANNER.md), and the settings that were rejected. FILE: a "
            "micrograph or descriptors; without one the target is of --phases phases and the volume of --extent_x, "
            "_y, _z. The plan depends on the machine, the problem and the options alone. Nothing that fits: exit "
            "status 5, with the bytes needed and there (--explain, --json: and what was looked at). --verify tries "
            "batches on this machine. --output writes the plan; match and reconstruct take it "
            "with --plan.\n\n"
            "  mesoforge plan reconstruct --size 1024 1024 1024 \\\n"
            "      --hardware examples/hardware/h100x8.json --explain\n"
            "  mesoforge plan reconstruct micrograph.png --threshold otsu \\\n"
            "      --add_dimension 256 --ranks 4 --output plan.json\n",
    .tables = tables,
    .size = sizeof(struct plan_cmd),
    .positional_max = 3, /* a verb of one word or two, FILE */
    .run = run,
    .work = MF_WORK_NONE,
};
