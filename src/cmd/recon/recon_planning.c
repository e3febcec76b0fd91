/* plan match, plan reconstruct: what a reconstruction would do on a machine, and why. Both take the options of both. */
#include <stdlib.h>
#include <string.h>

#include "io/look.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/plan.h"
#include "src/cmd/recon/recon_opts.h"
#include "src/cmd/recon/recon_times.h"
#include "src/cmd/unused.h"

struct plan_cmd {
    struct mf_recon_cmd recon; /* first: its rows are this verb's too */
    struct mf_plan_wish wish;
    long phases;
    struct mf_texts measured;
    const char *file; /* whose problem it is; NULL: of --phases and extents */
    int described;    /* by descriptors, else by a micrograph */
};

static const struct mf_opt rows[] = {
    MF_PLAN_WISH_ROWS(plan_cmd),
    MF_OPT(plan_cmd, "phases", phases, MF_LONG, "2", "phases of the target where no FILE says it"),
    MF_OPT(plan_cmd, "measured", measured, MF_TEXTS, NULL,
           "files of bench reconstruct --output on this machine: their times of these extents, on as many ranks and "
           "threads, replace those of the model; S2 and Variation with the defaults alone"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows,          mf_match_rows,  mf_reconstruct_rows,
                                              mf_recon_rows, mf_common_opts, NULL};

/* Phases and extents of a micrograph. It is measured only where what is aimed at is chosen from it: plans do not depend
 * on other statistics. */
static int from_micrograph(struct mf_session *s, struct plan_cmd *o, const char *file, struct mf_target *target,
                           size_t volume[3])
{
    struct mf_match *match = &o->recon.match;
    struct mf_micro micro;
    size_t slice[3], dims[1][3];
    int rc;

    if (mf_recon_is_auto(match)) {
        MF_TRY(mf_recon_measure(s, match, &o->recon.run, target, dims));
        memcpy(volume, dims, sizeof dims);
        return MF_OK;
    }
    MF_TRY(mf_recon_read(s, match, file, 1, &micro));
    mf_recon_fit(match, &micro);
    memcpy(slice, micro.slab.dims, sizeof slice);
    if (match->isotropic) slice[0] = 1;
    rc = mf_recon_nominal(match, slice, micro.grey ? micro.fields : micro.phases, target);
    memcpy(volume, micro.slab.dims, 3 * sizeof volume[0]);
    if (micro.ndim == 2) volume[0] = 0;
    mf_micro_free(&micro);
    return mf_agree(s->comm, rc);
}

static int from_descriptors(struct mf_session *s, struct plan_cmd *o, const char *file, struct mf_target *target)
{
    static const char *s2_alone[] = {"FFTCorrelations"};

    o->recon.match.sized = !o->recon.match.compat;
    MF_TRY(mf_target_load(s->comm, file, target));
    MF_TRY(mf_recon_recall(s, &o->recon.match, &o->recon.run, target, file));
    if (!target->side[0].variation && !mf_given(s, "descriptor-types"))
        o->recon.match.types = (struct mf_texts){1, s2_alone};
    if (target->lag == (size_t)o->recon.match.lag || !mf_given(s, "limit-to")) return MF_OK;
    return mf_fail(MF_USAGE, "--limit_to is %ld, the descriptors in '%s' have L = %zu", o->recon.match.lag, file,
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

    if (r->match.initial_file)
        return mf_fail(MF_USAGE, "--initial_microstructure_file: a run plans itself around it; leave it out here");
    if (r->match.fixed_file) return mf_fail(MF_USAGE, "--fixed: a run plans itself around it; leave it out here");
    if (r->match.mask) return mf_fail(MF_USAGE, "--mask: a plan does not depend on what is counted; leave it out here");
    if (r->match.arrays.count)
        return mf_fail(MF_USAGE, "--target: a run plans itself around these arrays; leave them out here");
    if ((!file || o->described) && mf_given(s, "add-dimension"))
        return mf_fail(MF_USAGE, "--add_dimension makes a volume of an image, and none is named; try: --size nz ny nx");
    if (file && o->described) {
        MF_TRY(from_descriptors(s, o, file, target));
        return mf_agree(s->comm, mf_recon_extents(&r->match, target, NULL, dims));
    }
    if (file) {
        r->match.files = (struct mf_texts){1, &o->file};
        MF_TRY(from_micrograph(s, o, file, target, volume));
        return mf_agree(s->comm, mf_recon_extents(&r->match, target, volume[0] ? volume : NULL, dims));
    }
    if (o->phases < 1 || o->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--phases is %ld, 1 to %d are possible", o->phases, MF_PHASES_MAX);
    rc = mf_recon_extents(&r->match, target, NULL, dims);
    if (rc == MF_OK) rc = mf_recon_nominal(&r->match, dims, (int)o->phases, target);
    return mf_agree(s->comm, rc);
}

/* Only what measures needs weights. */
static int find_vgg(struct mf_session *s, struct plan_cmd *o)
{
    struct mf_recon_cmd *r = &o->recon;

    if (o->wish.verify) return mf_recon_vgg(s, &r->match, &r->run, NULL);
    return mf_vgg_wanted(mf_recon_more(&r->match)) ? mf_agree(s->comm, mf_vgg_new(MF_UNIT_RELU, 1, &r->run.vgg))
                                                   : MF_OK;
}

static int plan_problem(struct mf_session *s, struct plan_cmd *o, const struct mf_target *target, const size_t dims[3])
{
    struct mf_solve_opts solve;
    struct mf_recon_times times;
    struct mf_recon_work work;

    MF_TRY(mf_agree(s->comm, mf_recon_plan(s, &o->recon, target, dims, &solve)));
    work = (struct mf_recon_work){.dims = dims,
                                  .target = target,
                                  .opts = &solve,
                                  .deterministic = s->settings.deterministic,
                                  .candidates = (size_t)o->recon.match.candidates,
                                  .batch = solve.objective.batch,
                                  .history = solve.method.history,
                                  .history_fixed = mf_given(s, "history"),
                                  .residency = o->recon.match.residency,
                                  .times = &times,
                                  .comm = s->comm,
                                  .trials = MF_PLAN_TRIALS};
    mf_recon_work_look(&work);
    MF_TRY(mf_agree(s->comm, mf_recon_times_read(&o->measured, &work, &times)));
    return mf_plan_verb(&(struct mf_planning){.session = s,
                                              .common = &o->recon.common,
                                              .wish = &o->wish,
                                              .workload = &mf_recon_workload,
                                              .work = &work,
                                              .queue = &work.queue,
                                              .residency = o->recon.match.residency});
}

static int name_file(const struct mf_session *s, struct plan_cmd *o)
{
    const char *const *input;
    const size_t inputs = mf_arguments(s, &input);

    if (inputs && o->recon.descriptor_filename)
        return mf_fail(MF_USAGE, "'%s' and --descriptor_filename: name one target", *input);
    if (o->recon.match.files.count + inputs > 1)
        return mf_fail(MF_USAGE, "plan takes one FILE; of three micrographs give the first");
    o->file = inputs ? *input : o->recon.match.files.count ? o->recon.match.files.at[0] : o->recon.descriptor_filename;
    if (o->file) MF_TRY(is_descriptors(o->file, &o->described));
    if (o->file && mf_given(s, "phases")) mf_warn("--phases has no effect: '%s' says it", o->file);
    if (!o->file || o->described) MF_UNUSED(s, "no image is read", "crop", "crop-bar");
    return MF_OK;
}

static int check(const struct mf_session *s, struct plan_cmd *o)
{
    MF_TRY(mf_plan_wish_check(s, &o->wish));
    MF_TRY(name_file(s, o));
    o->recon.match.explain = o->wish.explain;
    mf_recon_begin(s, &o->recon, o->file != NULL);
    if (!o->file) MF_TRY(mf_recon_named(&o->recon.match));
    return mf_recon_check_run(s, &o->recon);
}

static int run(struct mf_session *s, void *options)
{
    struct plan_cmd *o = options;
    struct mf_target target = {0};
    char *command;
    size_t dims[3];
    int rc;

    MF_TRY(mf_agree(s->comm, check(s, o)));
    MF_TRY(mf_plan_may_write(s, &o->wish, o->file));
    o->recon.match.command = command = mf_command_typed(s);
    rc = find_problem(s, o, &target, dims);
    if (rc == MF_OK) rc = find_vgg(s, o);
    if (rc == MF_OK) rc = plan_problem(s, o, &target, dims);
    mf_target_free(&target);
    mf_vgg_free(o->recon.run.vgg);
    free(command);
    return rc;
}

static const char text[] =
    "Plans a run of match or reconstruct with these options: ranks per node and GPU, slices in flight, bytes of every "
    "array on every rank (taken by the run's own calls on memory that is not there, so they are exact), seconds of an "
    "evaluation by a model (docs/PLANNER.md), and the settings that were rejected. FILE: a micrograph or descriptors; "
    "without one the target is of --phases phases and the volume of --extent_x, _y, _z. The plan depends on the "
    "machine, the problem and the options alone. If nothing fits, the exit status is 5, with the bytes needed and "
    "available (--explain, --json: and all candidates). --verify tries batches on this machine. --output writes the "
    "plan; match and reconstruct take it with --plan.\n"
    "\n"
    "  mesoforge plan reconstruct --size 1024 1024 1024 \\\n"
    "      --hardware examples/hardware/h100x8.json --explain\n"
    "  mesoforge plan match micrograph.png --threshold otsu \\\n"
    "      --add_dimension 256 --ranks 4 --output plan.json\n";

#define PLAN(verb)                                                                                                \
    {                                                                                                             \
        .name = "plan " verb, .summary = "predict a run of " verb ": ranks, memory, time, and the reasons",       \
        .synopsis = "[FILE] [--hardware FILE] [--ranks N] [--explain] [OPTION VALUE ...]", .text = text,          \
        .tables = tables, .size = sizeof(struct plan_cmd), .positional_max = 3, .run = run, .work = MF_WORK_NONE, \
        .in_library = 1,                                                                                          \
    }

const struct mf_cmd mf_cmd_plan_match = PLAN("match"), mf_cmd_plan_reconstruct = PLAN("reconstruct");
