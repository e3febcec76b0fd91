/* compare: compares a microstructure with others that should resemble it, by all descriptors and measures. Two sets of
 * samples are compared by their statistics (compare_sets.h). */
#include "src/show/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/compare_sets.h"
#include "src/cmd/unused.h"
#include "src/prop/conduct.h"

struct compare_cmd {
    struct mf_common common;
    struct mf_compare_opts compare;
    struct mf_sets_opts sets;
    int nl_method;
    const char *gram_weights;
    struct mf_longs crop;
    struct mf_crop part; /* the same */
};

static const struct mf_opt rows[] = {
    MF_OPT(compare_cmd, "limit_to", compare.lag, MF_LONG, "16",
           "L: correlations are compared for lags below it [pixels] (without: at most half the shortest edge)"),
    MF_OPT(
        compare_cmd, "descriptor_types", compare.descriptors, MF_TEXTS, "quick",
        "descriptors beside S2, Variation and volume fractions, and measures of whole fields (docs/DESCRIPTORS.md); "
        "all; quick: all but LinealPathApproximation, Correlations, CrossCorrelations, GramMatrices, "
        "MultiPhaseGramMatrices and tortuosity, which take long; those of a descriptor file where that is the target"),
    MF_CHOICE(compare_cmd, "nl_method", nl_method, NULL, MF_UNIT_CHOICES,
              "GramMatrices: what a neuron makes of its sum (relu; that of a descriptor file)"),
    MF_OPT(compare_cmd, "gram_weights_filename", gram_weights, MF_NAME, NULL,
           "GramMatrices: weights of VGG-19, a file of tools/vgg-to-safetensors; else MESOFORGE_GRAM_WEIGHTS; neither: "
           "all leaves them out"),
    MF_OPT(compare_cmd, "slices", compare.slices, MF_LONG, "16",
           "volumes: slices along every axis that the seven measures look at, evenly spread; 0: all"),
    MF_OPT(compare_cmd, "conductivity", compare.conductivity, MF_REALS, NULL,
           "of labels 0, 1, ...: two volumes, or two images, are also compared by their effective conductivities"),
    MF_OPT(compare_cmd, "periodic", compare.periodic, MF_FLAG, NULL,
           "borders are joined (else only what lies inside counts)"),
    MF_OPT(compare_cmd, "threshold", compare.threshold, MF_TEXT, NULL,
           "binarise grey input: otsu, or phase 1 above this value (not HDF5 files: they hold phases)"),
    MF_OPT(compare_cmd, "crop", crop, MF_LONGS, NULL,
           "only this part of the target, an image, is compared: Y X HEIGHT WIDTH [pixels], as match had it"),
    MF_OPT(compare_cmd, "crop_bar", compare.crop_bar, MF_FLAG, NULL, "cuts the data bar off the target, as match does"),
    MF_CHOICE_TEXT(compare_cmd, "split", sets.split[MF_SETS_REAL], NULL, "train|validation|test|all",
                   "sets: which samples of REAL (without: the validation split where it has one, else all)"),
    MF_CHOICE_TEXT(compare_cmd, "made_split", sets.split[MF_SETS_MADE], "all", "train|validation|test|all",
                   "sets: which samples of MADE"),
    MF_OPT(compare_cmd, "copies_of", sets.copies, MF_LONG, NULL,
           "sets: so many samples of MADE are searched for copies of the train split of REAL; 0: none (without: up to "
           "200, as many as a core compares in half a minute)"),
    MF_OPT(compare_cmd, "labels", compare.labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as 0,128,255"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int check(const struct mf_session *s, void *options)
{
    const struct compare_cmd *cmd = options;
    const struct mf_compare_opts *o = &cmd->compare;

    MF_TRY(mf_compare_more_check(o));
    if (mf_arguments(s, NULL) < 2)
        return mf_fail(MF_USAGE, "two files are needed; try: mesoforge compare TARGET RESULT");
    if (o->lag < 1) return mf_fail(MF_USAGE, "--limit_to must be at least 1, not %ld", o->lag);
    if (o->conductivity.count) MF_TRY(mf_conduct_check(o->conductivity.count, o->conductivity.at));
    MF_TRY(mf_crop_check(&cmd->crop, o->crop_bar));
    if (cmd->sets.copies < 0) return mf_fail(MF_USAGE, "--copies_of must be at least 0, not %ld", cmd->sets.copies);
    if (o->slices < 0) return mf_fail(MF_USAGE, "--slices must be at least 0 (all), not %ld", o->slices);
    return MF_OK;
}

/* ---- one against another ---- */

static int check_pair(const struct mf_compared *want, const struct mf_compared *got)
{
    const struct mf_micro *a = &want->micro, *b = &got->micro;
    const struct mf_size size = {want->file, a->ndim, a->spacing, a->unit};
    char one[128] = "", two[128] = "";

    mf_sizes_warn(&size, &(struct mf_size){got->file, b->ndim, b->spacing, b->unit},
                  "they are compared pixel by pixel");
    if (a->ndim == 3 && b->ndim == 2)
        return mf_fail(MF_INPUT, "'%s' is a volume and '%s' an image; try: the image first", want->file, got->file);
    if (a->phases == b->phases && memcmp(a->label, b->label, (size_t)a->phases * sizeof *a->label) == 0) return MF_OK;
    for (int p = 0; p < a->phases; ++p) mf_enumerate(one, sizeof one, "%ld", a->label[p]);
    for (int p = 0; p < b->phases; ++p) mf_enumerate(two, sizeof two, "%ld", b->label[p]);
    return mf_fail(MF_INPUT, "only microstructures of the same phases are compared: '%s' has the labels %s, '%s' %s",
                   want->file, one, got->file, two);
}

/* A target that has one side of @p from, and its windows as they are looked at. Nothing is copied. */
static struct mf_target side_of(const struct mf_target *from, int side, int periodic)
{
    struct mf_target one = *from;

    one.sides = 1;
    one.side[0] = from->side[side];
    one.periodic = periodic;
    return one;
}

static int count_copies(struct mf_comparison *c, int side, int periodic)
{
    const struct mf_target want = side_of(&c->want->target, mf_compare_want_side(c, side), periodic);
    const struct mf_target got = side_of(&c->got->target, side, periodic);

    c->copied[side] = (struct mf_copied){.share = NAN, .sides = 1};
    return want.side[0].example ? mf_copies(&got, &want, &c->copied[side]) : MF_OK;
}

/* Local: what all ranks know of both is compared. */
static int compare(struct mf_comparison *c, int periodic)
{
    int known = 0; /* sides that say something of copies */

    c->sides = c->got->micro.ndim == 3 ? 3 : 1;
    for (int d = 0; d < c->sides; ++d) {
        mf_texture_compare(c->got->micro.phases, c->got->texture[d], c->want->texture[mf_compare_want_side(c, d)],
                           &c->off[d]);
        MF_TRY(count_copies(c, d, periodic));
        c->score += c->off[d].score / c->sides;
        c->copy += c->copied[d].share * c->copied[d].sides;
        known += c->copied[d].sides;
    }
    if (known) c->copy /= known;
    return MF_OK;
}

/* ---- the verb ---- */

enum { COLUMNS = 4 };

static int draws(const struct mf_session *s) { return mf_common_of(s)->output && !s->settings.dry_run; }

/* Results that the verb collects. */
struct report {
    struct mf_figure figure;
    struct mf_json *results;
    int volumes; /* some result is one */
    int fields;  /* whole fields were compared with some */
};

static int compare_file(struct mf_session *s, const struct mf_compare_opts *o, const struct mf_compared *want,
                        struct mf_compared *got, struct report *report)
{
    struct mf_comparison c = {.want = want, .got = got, .periodic = o->periodic};
    const struct mf_show show = mf_session_show(s);
    int rc;

    report->volumes |= got->micro.ndim == 3;
    report->fields |= !want->described && want->micro.ndim == got->micro.ndim;
    MF_TRY(mf_agree(s->comm, check_pair(want, got)));
    MF_TRY(mf_compare_describe(&show, o, want, got));
    MF_TRY(mf_agree(s->comm, compare(&c, o->periodic)));
    rc = draws(s) ? mf_compare_draw(&show, &report->figure, &c) : MF_OK;
    if (rc == MF_OK && s->comm->rank == 0) {
        if (mf_common_of(s)->json)
            mf_json_put(report->results, NULL, mf_compare_json(&c));
        else
            mf_compare_text(stdout, &c);
    }
    return rc;
}

static int compare_all(struct mf_session *s, const struct mf_compare_opts *o, const struct mf_compared *want,
                       const char *const *files, size_t count, struct report *report)
{
    const struct mf_show show = mf_session_show(s);
    int rc = MF_OK;

    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        struct mf_compared got = {0};

        rc = mf_compare_read(&show, o, files[i], 0, &got);
        if (rc == MF_OK) rc = compare_file(s, o, want, &got, report);
        mf_compared_free(&got);
    }
    return rc;
}

/* Rank 0: the picture, and the object. */
static int finish(const struct mf_session *s, const struct mf_compare_opts *o, const struct mf_compared *want,
                  struct report *report)
{
    struct mf_json *all;
    int rc = MF_OK;

    if (draws(s)) {
        mf_figure_one_scale(&report->figure);
        MF_TRY(
            mf_plot_write(mf_common_of(s)->output,
                          mf_figure_text(&report->figure, "%s and what should look like it", mf_name_base(want->file)),
                          report->figure.panel, report->figure.count, report->figure.columns));
        mf_info("wrote %s", mf_common_of(s)->output);
    }
    if (!mf_common_of(s)->json) return MF_OK;
    all = mf_json_object();
    mf_json_text(all, "target", want->file);
    mf_micro_shape(want->micro.slab.dims, all);
    mf_json_bool(all, "periodic", o->periodic);
    mf_json_put(all, "results", report->results);
    report->results = NULL;
    if (draws(s)) {
        struct mf_json *picture = mf_json_object();

        mf_json_text(picture, "output", mf_common_of(s)->output);
        mf_figure_json(&report->figure, 1, picture);
        mf_json_put(all, "picture", picture);
    }
    rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

/* Loads VGG-19 where its weights or one of its descriptors were named. Collective. */
static int load_vgg(const struct mf_session *s, struct compare_cmd *cmd, const struct mf_compared *want)
{
    struct mf_compare_opts *o = &cmd->compare;
    const struct mf_target *target = want->described ? &want->target : NULL;
    const unsigned more = mf_compare_more(o, s->backend, want, &want->micro);

    mf_gram_weights_unused(mf_options_of(s), more);
    if (!mf_compare_names(o, want) && !mf_gram_weights_named(s, cmd->gram_weights)) {
        if (mf_vgg_wanted(more) && mf_compare_is_all(o))
            mf_info("all descriptors but those that need the weights of VGG-19 (none are named; try: "
                    "--gram_weights_filename)");
        return MF_OK;
    }
    MF_TRY(mf_gram_weights_open(s, cmd->gram_weights, mf_vgg_unit(cmd->nl_method, target), more, &o->vgg));
    return target && o->vgg ? mf_vgg_same(target, o->vgg) : MF_OK;
}

static void say_unused(const struct mf_session *s, const struct mf_compared *want)
{
    if (want->described && mf_given(s, "descriptor_types"))
        mf_warn("--descriptor_types has no effect: those of the descriptor file '%s' are compared", want->file);
    if (want->described) MF_UNUSED(s, "the target is a descriptor file", "crop", "crop_bar");
}

static int compare_sets(struct mf_session *s, struct compare_cmd *cmd, size_t count, const char *const *files,
                        size_t sets)
{
    cmd->sets.lag = cmd->compare.lag;
    cmd->sets.lag_given = mf_given(s, "limit_to");
    if (!mf_given(s, "copies_of")) cmd->sets.copies = -1;
    cmd->sets.periodic = cmd->compare.periodic;
    return mf_compare_sets_run(s, &cmd->sets, count, files, sets);
}

static int run(struct mf_session *s, void *options)
{
    struct compare_cmd *cmd = options;
    struct mf_compare_opts *o = &cmd->compare;
    const struct mf_show show = mf_session_show(s);
    struct report report = {0};
    struct mf_compared want = {0};
    const char *const *files = NULL;
    size_t count = mf_arguments(s, &files), sets;
    char *command;
    int rc;

    MF_TRY(mf_session_may_write(s, mf_common_of(s)->output, ".png"));
    if (mf_common_of(s)->output) MF_TRY(mf_session_spares(s, mf_common_of(s)->output, count, files));
    MF_TRY(mf_sets_count(&show, count, files, &sets));
    if (sets) return compare_sets(s, cmd, count, files, sets);
    MF_UNUSED(s, "single microstructures are compared", "split", "made_split", "copies_of");
    o->command = command = mf_command_typed(s);
    o->lag_given = mf_given(s, "limit_to");
    o->crop = mf_crop_of(&cmd->crop, &cmd->part);
    report.results = mf_json_array();
    rc = mf_compare_read(&show, o, files[0], 1, &want);
    report.figure.columns = COLUMNS;
    if (rc == MF_OK) say_unused(s, &want);
    if (rc == MF_OK) rc = load_vgg(s, cmd, &want);
    if (rc == MF_OK) rc = mf_compare_describe(&show, o, NULL, &want);
    if (rc == MF_OK) rc = compare_all(s, o, &want, files + 1, count - 1, &report);
    if (rc == MF_OK) rc = mf_agree(s->comm, s->comm->rank == 0 ? finish(s, o, &want, &report) : MF_OK);
    if (rc == MF_OK && !report.volumes && mf_given(s, "slices"))
        mf_warn("--slices has no effect: an image is one slice");
    if (rc == MF_OK && !report.fields && !want.described && mf_compare_names_measures(o))
        mf_warn(
            "measures of --descriptor_types have no effect: whole fields are compared of two images, or two volumes");
    if (rc == MF_OK && !report.fields && o->conductivity.count)
        mf_warn("--conductivity has no effect: whole fields are compared of two images, or two volumes");
    mf_json_free(report.results);
    mf_figure_free(&report.figure);
    mf_compared_free(&want);
    mf_vgg_free(o->vgg);
    free(command);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Compares microstructures with one that they should look like, phase by phase:\n"
    "volume fraction, Variation (interface density), S2 (rms of the difference over\n"
    "all lags below L), and seven measures of texture, by whose score match\n"
    "chooses among its candidates (LinealPath aims at one of them):\n"
    "\n"
    "  mean chord length   along x, y and both diagonals\n"
    "  lineal path         of 5, of 10 and of 15 pixels, along x and y\n"
    "  Euler number        mean of both, joined by edges and by corners\n"
    "  components          joined by edges\n"
    "  two-point cluster   pixels 10 apart along x or y in one component\n"
    "\n"
    "Their errors are relative, at most 2 each, and means over phases and\n"
    "directions. The score is the mean of the seven, plus a tenth of the difference\n"
    "in percent of pixels in specks (components of at most 3 pixels): 0 is alike,\n"
    "0.5 plainly different. \"copied\" is the share of windows that agree in 95 % with\n"
    "a window of the target: of 16 x 16 pixels, or larger (32, 64) where two halves\n"
    "of the target would have more than a twentieth of theirs in common. If the\n"
    "target has few features, windows still agree by chance: a line says how many.\n"
    "\n"
    "Further descriptors (--descriptor_types) have a row each: the root mean square\n"
    "of the target's values, of the difference, and the one over the other. Left out\n"
    "are those that may take long; --descriptor_types all has them too:\n"
    "LinealPathApproximation (16 L^3 operations a pixel), Correlations and\n"
    "CrossCorrelations (12 L^4), GramMatrices and MultiPhaseGramMatrices (a net of\n"
    "16 layers), tortuosity (paths through a phase, voxel by voxel). GramMatrices,\n"
    "also of a descriptor file, are there where the weights of VGG-19 are named\n"
    "(--gram_weights_filename) and slices have 16 x 16 pixels.\n"
    "\n"
    "A volume is compared slice by slice in each direction, with an image (all\n"
    "directions with the same) or with a volume (each with its own); the seven look\n"
    "at --slices of each, the rest at all. Two images, or two volumes, are compared\n"
    "as whole fields too: surface, Euler number, clusters and those that span,\n"
    "chords along the axes, and of volumes S2 in space (of more than two phases also\n"
    "that of their pairs), and rows as of descriptors for measures: autocovariance,\n"
    "variogram, surface_correlation, local_fraction, boundaries, cluster_function\n"
    "(--descriptor_types takes their names, too). Sizes may differ: Euler numbers\n"
    "and components count per pixel. What lies across a border counts with\n"
    "--periodic alone: S2 is then what match and reconstruct say of a periodic\n"
    "result. --output FILE.png draws both and every row: functions over each other,\n"
    "the target as circles, of at most four phases or pairs of them; the errors of\n"
    "matrices, of numbers and of all other rows as bars.\n"
    "\n"
    "The target may be a descriptor file: then S2 and Variation are compared with\n"
    "its values, with its L and borders, and the seven with the slice it shows.\n"
    "\n"
    "Two sets of samples (of synth --num-samples or data import), REAL and MADE:\n"
    "have made samples the statistics of real ones? For each phase (of two: phase 1)\n"
    "a table has the means over samples and their difference, and by how much the\n"
    "deviation over the made samples is larger or smaller than over the real ones.\n"
    "S2 and lineal path: mean of the absolute difference over all distances below L.\n"
    "Interface density: Variation of an image. Percolation: share of the samples in\n"
    "which a path of the phase joins both ends of an axis. \"By chance\" is the same\n"
    "of two halves of the real samples. If MADE has a column wanted_volume_fraction,\n"
    "a line has its R2. Sets of grey or colour images have other rows: mean,\n"
    "deviation, histogram (distance of Wasserstein), autocorrelation.\n"
    "Copies: for made samples, the share of pixels that differ from the nearest of\n"
    "the real train split, over all periodic shifts; beside the same of the real\n"
    "validation split. Where borders are not joined, a part of a training image that\n"
    "was moved is found as far as it overlaps. --copies_of says how many are\n"
    "searched. --output FILE.png draws samples of both sets, their curves, and the\n"
    "three closest pairs.\n"
    "\n"
    "Examples:\n"
    "  mesoforge compare image.npy result.h5\n"
    "  mesoforge compare image.npy a.npy b.npy --json\n"
    "  mesoforge compare results/image_characterization.h5 result.h5\n"
    "  mesoforge compare image.png volume.h5 --threshold otsu --output both.png\n"
    "  mesoforge compare real.h5 made.h5 --periodic --output sheet.png\n";
/* clang-format on */

const struct mf_cmd mf_cmd_compare = {
    .name = "compare",
    .summary = "compare microstructures by descriptors and measures, with a score; or two sets of samples",
    .synopsis = "TARGET RESULT [RESULT ...] [--output PNG], or REAL.h5 MADE.h5",
    .text = text,
    .tables = tables,
    .size = sizeof(struct compare_cmd),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .in_library = 1,
};
