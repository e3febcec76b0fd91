/* mesoforge reconstruct: makes a microstructure with given descriptors. */

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/log_view.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/exchange.h"
#include "src/cmd/recon/recon_opts.h"
#include "src/cmd/recon/recon_plan.h"

static const struct mf_opt *const tables[] = {mf_reconstruct_rows, mf_recon_rows,  mf_run_rows,
                                              mf_log_view_rows,    mf_common_opts, NULL};

/* Names of the arrays, where nobody names descriptors. */
static size_t names_of(const struct mf_recon_cmd *o, const char *names[MF_TERMS_MAX + 1])
{
    return mf_exchange_names(&o->match.arrays, MF_TERMS_MAX + 1, names);
}

static int check_arrays(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    const char *names[MF_TERMS_MAX + 1];

    MF_TRY(mf_exchange_check("target", &o->match.arrays, o->match.compat));
    if (mf_given(s, "descriptor-types") || names_of(o, names) <= MF_TERMS_MAX) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--target has arrays of more descriptors than the %d that can be aimed at together; say which are "
                   "meant by --descriptor_types",
                   MF_TERMS_MAX);
}

/* Default descriptors: all given arrays. An imported S2 has no Variation, so the default is then only S2. */
static int fit_types(const struct mf_session *s, const struct mf_target *target, struct mf_recon_cmd *o)
{
    static const char *s2_alone[] = {"FFTCorrelations"}, *names[MF_TERMS_MAX + 1];

    if (!mf_given(s, "descriptor-types")) {
        if (o->match.arrays.count)
            o->match.types = (struct mf_texts){names_of(o, names), names};
        else if (!target->side[0].variation)
            o->match.types = (struct mf_texts){1, s2_alone};
        if (o->match.weights.count && o->match.weights.count != o->match.types.count)
            return mf_fail(
                MF_USAGE,
                "--descriptor_weights gives %zu weights for %zu descriptors; name them with --descriptor_types",
                o->match.weights.count, o->match.types.count);
    }
    if (target->lag != (size_t)o->match.lag && mf_given(s, "limit-to"))
        return mf_fail(
            MF_USAGE, "--limit_to is %ld, the descriptors in '%s' have L = %zu; try: characterize --limit_to %ld",
            o->match.lag, o->descriptor_filename ? o->descriptor_filename : target->source, target->lag, o->match.lag);
    return MF_OK;
}

/* A file may stand there as a bare word, as other verbs take theirs. */
static int name_file(const struct mf_session *session, struct mf_recon_cmd *o)
{
    const char *const *words;

    if (mf_arguments(session, &words) == 0) return MF_OK;
    if (o->descriptor_filename)
        return mf_fail(MF_USAGE, "'%s' and --descriptor_filename %s both name descriptors; leave one of them out",
                       words[0], o->descriptor_filename);
    o->descriptor_filename = words[0];
    return MF_OK;
}

/* One way to say what is aimed at. */
static int check_target(const struct mf_session *session, const struct mf_recon_cmd *o)
{
    const int file = o->descriptor_filename != NULL;

    if (!file && !o->match.arrays.count)
        return mf_fail(
            MF_USAGE,
            "no descriptors to aim at; try: --descriptor_filename FILE, one of characterize or merge; or --target, "
            "arrays of NumPy");
    if (file && o->match.arrays.count)
        return mf_fail(MF_USAGE, "--descriptor_filename and --target both name the target; leave one of them out");
    return check_arrays(session, o);
}

static int load_target(const struct mf_session *session, const struct mf_recon_cmd *o, struct mf_target *target)
{
    const struct mf_import_opts how = {.lag = mf_given(session, "limit-to") ? (size_t)o->match.lag : 0,
                                       .periodic = !o->match.non_periodic,
                                       .mcrpy = o->match.compat,
                                       .threshold = o->match.soft,
                                       .steepness = o->match.steepness};

    if (o->match.arrays.count) return mf_import(session, &o->match.arrays, &how, target);
    if (mf_ends_with(o->descriptor_filename, ".npy"))
        return mf_target_import(session->comm, o->descriptor_filename, (size_t)o->match.lag, how.lag != 0, target);
    return mf_target_load(session->comm, o->descriptor_filename, target);
}

/* A file of ours may say what was seen of its micrograph; arrays do not. */
static int is_ours(const struct mf_recon_cmd *o)
{
    return !o->match.arrays.count && o->descriptor_filename && !mf_ends_with(o->descriptor_filename, ".npy");
}

/* How a micrograph is read has been decided when it was measured. */
static void say_grey(struct mf_recon_cmd *o)
{
    if (o->match.grey_values) mf_warn("--grey_values has no effect: it is about how micrographs are measured");
    o->match.grey_values = 0;
}

/* Options about the values of files need such a file. */
static int check_values(const struct mf_recon_cmd *o)
{
    if (o->match.initial_file) return MF_OK;
    if (o->match.threshold) return mf_fail(MF_USAGE, "--threshold needs --initial_microstructure_file");
    if (!o->match.labels.count || o->match.fixed_file) return MF_OK;
    return mf_fail(MF_USAGE, "--labels needs --initial_microstructure_file or --fixed");
}

static int check(const struct mf_session *session, void *options)
{
    struct mf_recon_cmd *o = options;

    say_grey(o);
    MF_TRY(name_file(session, o));
    o->match.sized = is_ours(o) && !o->match.compat;
    mf_recon_begin(session, o, is_ours(o));
    MF_TRY(mf_recon_check_run(session, o));
    MF_TRY(mf_recon_may_explain(&o->match));
    if (!is_ours(o)) MF_TRY(mf_recon_named(&o->match));
    MF_TRY(mf_planned_check(session, o->plan, o->accepted.auto_gpu));
    MF_TRY(check_target(session, o));
    MF_TRY(check_values(o));
    if (!o->match.symmetry) return MF_OK;
    return mf_fail(MF_USAGE, "--symmetry is for where a target is measured; try: mesoforge characterize --symmetry %s",
                   mf_options_value(mf_options_of(session), "symmetry"));
}

static int run(struct mf_session *session, void *options)
{
    struct mf_recon_cmd *o = options;
    struct mf_target target;
    int rc;

    mf_accepted_say(session, &o->accepted);
    MF_TRY(mf_recon_may_write(session, o));
    MF_TRY(mf_reside(session, o->match.residency));
    MF_TRY(load_target(session, o, &target));
    rc = mf_recon_recall(session, &o->match, &o->run, &target, o->descriptor_filename);
    if (rc == MF_OK) rc = fit_types(session, &target, o);
    rc = mf_agree(session->comm, rc);
    if (rc == MF_OK) rc = mf_session_serves(session, mf_recon_more(&o->match));
    if (rc == MF_OK) rc = mf_recon_vgg(session, &o->match, &o->run, &target);
    if (rc == MF_OK)
        rc = mf_recon_run(session, o, &target, NULL, o->match.arrays.count ? target.source : o->descriptor_filename);
    mf_vgg_free(o->run.vgg);
    mf_target_free(&target);
    return rc;
}

static const char *const names[] = {"descriptor-filename", "target", NULL};

const struct mf_cmd mf_cmd_reconstruct = {
    .name = "reconstruct",
    .summary = "make a microstructure that has given descriptors",
    .synopsis = "FILE | --target S2=FILE.npy .. [--size NZ NY NX] [OPTION VALUE ...]",
    .text =
        "Finds a field without grey voxels whose slices have the descriptors in FILE, with the volume fractions "
        "exact to one voxel. Arrays are [z][y][x]. Without --size the result has the size that FILE was measured "
        "on. A file of characterize --descriptor_types auto holds image statistics; descriptors, weights and "
        "schedule are then chosen as match does. Files of --fixed and --initial-microstructure-file hold the labels "
        "that FILE keeps of its sample, or those of --labels.\n"
        "\n"
        "  mesoforge characterize --descriptor_types auto micrograph.npy\n"
        "  mesoforge reconstruct results/micrograph_characterization.h5 --size 64 64 64\n"
        "  mpirun -n 4 mesoforge reconstruct target.h5 \\\n"
        "      --size 256 256 256 --output v.h5\n",
    .tables = tables,
    .size = sizeof(struct mf_recon_cmd),
    .positional_max = 1,
    .check = check,
    .check_plan = mf_recon_plan_ahead,
    .run = run,
    .writes = 1,
    .names = names,
    .small = mf_recon_small,
    .checkpoints = 1,
    .work = MF_WORK_GPUS,
    .in_library = 1,
};
