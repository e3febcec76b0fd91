/* See match.h: the options of mf_solve(). */
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/registry.h"
#include "src/recon/match.h"

/* Ratio of the weights of one pyramid level and the next finer one. With equal weights the coarse windows of an image
 * make the result copy the target. They span nearly all of it. S2 at full resolution then has twice the error. */
static const double LEVEL_WEIGHT = 0.3;

static int wants_multiphase(const struct mf_match *o, const struct mf_target *target)
{
    const int masked = target->masked;

    if (o->no_multiphase || target->phases < 2) return 0;
    if (o->use_multiphase) return 1;
    if (target->phases > 2) {
        mf_info("the target has %d phases: all of them are optimised (--no_multiphase: phase 1 alone)", target->phases);
        return 1;
    }
    /* In periodic slices one phase's S2 determines the other's. Else it depends on voxels near the edges, or near
     * masked voxels. */
    if ((!o->non_periodic && !masked) || o->compat) return 0;
    mf_info("%s: both phases are optimised (--no_multiphase: phase 1 alone)", masked ? "a mask" : "not periodic");
    return 1;
}

static int plan_terms(const struct mf_match *o, const struct mf_match_run *r, struct mf_objective_opts *objective)
{
    objective->terms = o->types.count;
    for (size_t t = 0; t < o->types.count; ++t) {
        MF_TRY(mf_descriptor_find(&objective->term[t].row, o->types.at[t]));
        if (o->compat) objective->term[t].row = mf_descriptor_mcrpy(objective->term[t].row);
        objective->term[t].weight = o->weights.count ? o->weights.at[t]
                                    : o->compat      ? objective->term[t].row->weight_mcrpy
                                                     : objective->term[t].row->weight;
    }
    objective->vgg = r->vgg;
    for (size_t l = 0; l < MF_LEVELS_MAX; ++l)
        objective->level_weight[l] = pow(o->compat ? 2 : LEVEL_WEIGHT, (double)l);
    for (size_t l = 0; l < o->level_weights.count; ++l) objective->level_weight[l] = o->level_weights.at[l];
    objective->levels_max = o->no_pyramid || (o->compat && !o->multigrid) ? 1 : 0;
    objective->norm = o->loss;
    return MF_OK;
}

/* --phase_weights, --slice_objective and --greedy, and what they cannot be asked for with. */
static int plan_slices(const struct mf_match *o, size_t fields, int volume, struct mf_solve_opts *opts)
{
    struct mf_objective_opts *e = &opts->objective;
    const int greedy = o->greedy && volume;

    for (size_t p = 0; p < MF_PHASES_MAX; ++p)
        e->phase_weight[p] = p < o->phase_weights.count ? o->phase_weights.at[p] : 1;
    e->mean = o->slice_objective == MF_OBJECTIVE_MEAN;
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
    e->draw = o->given.batch_size ? o->batch_size : 1;
    return MF_OK;
}

/* Slices in flight; 0: chosen. Below 1 it is a part of the longest direction's. */
static size_t batch_of(const struct mf_match *o, const size_t dims[3])
{
    size_t most = dims[0] > dims[1] ? dims[0] : dims[1];

    if (!o->given.batch_size || (o->greedy && dims[0] > 1)) return 0;
    if (o->batch_size >= 1) return (size_t)o->batch_size;
    return (size_t)ceil(o->batch_size * (double)(most > dims[2] ? most : dims[2]));
}

/* Arrays do not say which network they are of. */
static void name_network(const struct mf_match *o, const struct mf_vgg *vgg, struct mf_target *target)
{
    memcpy(target->vgg_name, vgg->name, sizeof target->vgg_name);
    if (o->nl_method) return;
    mf_warn("--target: the files of Gram matrices do not say which unit they were made with; taken as %s (--nl_method)",
            mf_unit_name(vgg->unit));
}

int mf_recon_vgg(const struct mf_session *s, const struct mf_match *o, struct mf_match_run *r, struct mf_target *target)
{
    MF_TRY(mf_gram_weights_open(s, o->gram_weights, mf_vgg_unit(o->nl_method, target), mf_recon_more(o), &r->vgg));
    if (!r->vgg || !target) return MF_OK;
    if (o->arrays.count && !*target->vgg_name) name_network(o, r->vgg, target);
    return mf_vgg_same(target, r->vgg);
}

/* The target's own threshold is the one that is compared with. */
static int check_soft(const struct mf_match *o, const struct mf_target *target)
{
    int given_t = o->given.soft && o->soft != target->threshold;
    int given_s = o->given.steepness && o->steepness != target->steepness;

    if (target->steepness > 0 && (given_t || given_s))
        return mf_fail(MF_USAGE,
                       "--soft_threshold and --threshold_steepness: '%s' has %g and %g, and they cannot change",
                       target->source, target->threshold, target->steepness);
    for (size_t t = 0; t < o->types.count; ++t) {
        const struct mf_descriptor *row;

        MF_TRY(mf_descriptor_find(&row, o->types.at[t]));
        if (row->kind >= MF_FURTHER && target->seam != o->compat)
            return mf_fail(MF_USAGE, "the %s of '%s' was made %s --compat mcrpy, this run is %s it", row->name,
                           target->source, target->seam ? "with" : "without", o->compat ? "with" : "without");
    }
    if (target->steepness == 0 && (o->given.soft || o->given.steepness))
        mf_warn("--soft_threshold and --threshold_steepness have no effect: none of the descriptors is soft");
    return MF_OK;
}

int mf_recon_solve_opts(const struct mf_match *o, const struct mf_match_run *r, const struct mf_target *target,
                        const size_t dims[3], struct mf_solve_opts *opts)
{
    *opts = (struct mf_solve_opts){.method = {.method = mf_method_of(o->optimizer),
                                              .history = (size_t)o->history,
                                              .rule = {.rate = o->learning_rate,
                                                       .beta1 = o->beta_1,
                                                       .beta2 = o->beta_2,
                                                       .rho = o->rho,
                                                       .momentum = o->momentum,
                                                       .epsilon = 1e-7},
                                              .tolerance = o->tolerance},
                                   .history_free = !o->given.history,
                                   .evaluations = o->max_iter,
                                   .coarse_to_fine = o->multigrid,
                                   .coarse_evaluations = o->coarse_iter,
                                   .coarsest = (size_t)o->coarsest,
                                   .ramp = r->recipe ? r->recipe->ramp : NULL,
                                   .layers = r->layers,
                                   .cells = r->cells,
                                   .bend = r->bend,
                                   .connect = !o->no_connect,
                                   .polish = !o->no_polish,
                                   .polish_rounds = o->polish_rounds,
                                   .seed = o->seed,
                                   .report_every = o->convergence_steps,
                                   .snapshot_every = o->outfile_data_steps};
    opts->objective.periodic = !o->non_periodic;
    opts->objective.compat = o->compat;
    opts->objective.multiphase = wants_multiphase(o, target);
    if (target->periodic != opts->objective.periodic)
        mf_info("%s", target->periodic ? "the result is not periodic, though its target was taken as periodic"
                                       : "the result is periodic; of its target, which is not, only pairs inside were "
                                         "counted (--non_periodic: of the result too)");
    MF_TRY(check_soft(o, target));
    opts->objective.batch = batch_of(o, dims);
    MF_TRY(plan_terms(o, r, &opts->objective));
    MF_TRY(plan_slices(o, mf_solve_fields(target, opts), dims[0] > 1, opts));
    if (!o->given.max_iter && !r->usual_iter && mf_solve_mean_field(dims, target, opts))
        opts->evaluations = mf_solve_fields(target, opts) > 1 ? MF_SOLVE_MEAN_FIELDS : MF_SOLVE_MEAN_FIELD;
    MF_TRY(mf_recon_property(o, target, dims, opts));
    return opts->method.method->swaps ? mf_recon_anneal(o, target, dims, opts) : MF_OK;
}
