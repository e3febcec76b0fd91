/* See recon_opts.h: reports options without effect in a run, one line for every reason. Options that contradict each
 * other are refused elsewhere. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/recon/recon_opts.h"
#include "src/cmd/unused.h"
#include "src/desc/registry.h"
#include "src/recon/workload.h"

/* Options of other optimisers than the one that was chosen. */
static void say_method(const struct mf_session *s, const struct mf_method *method)
{
    static const char *const words[] = {"history",
                                        "learning-rate",
                                        "beta-1",
                                        "beta-2",
                                        "rho",
                                        "momentum",
                                        "initial-temperature",
                                        "final-temperature",
                                        "cooldown-factor",
                                        "mutation-rule",
                                        "acceptance-distribution"};

    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        char word[40];

        snprintf(word, sizeof word, " %s ", words[i]);
        if (!strstr(method->options, word))
            mf_unused(s, (const char *const[]){words[i], NULL}, "%s does not use it", method->name);
    }
}

static int aims_in_space(const struct mf_recon_cmd *o) { return mf_wants_whole(mf_recon_more(&o->match)) != 0; }

int mf_recon_unused(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    const struct mf_method *method = mf_method_of(o->match.optimizer);

    if (mf_given(s, "oor-multiplier") || mf_given(s, "phase-sum-multiplier"))
        mf_info("values stay in [0,1] and phases add up to 1 by projection: the penalties are zero");
    say_method(s, method);
    if (o->match.no_connect && (method->swaps || !aims_in_space(o)))
        MF_UNUSED(s, "nothing is connected without S2_3D and a cut", "no-connect");
    if (!method->swaps && o->match.no_polish) MF_UNUSED(s, "--no-polish leaves the polish out", "polish-rounds");
    if (!o->match.properties.count)
        MF_UNUSED(s, "no --property is asked for", "conductivity", "property-boundary", "property-weight",
                  "property-tolerance");
    if (o->match.max_iter == 0 && s->work != MF_WORK_NONE)
        MF_UNUSED(s, "--max_iter 0 evaluates the start; it neither continues a run nor writes a field", "output",
                  "information", "restart", "checkpoint-every", "max-hours", "tolerance", "convergence-data-steps",
                  "polish-rounds", "no-polish");
    return MF_OK;
}

/* Annealing: stages that it has not, and a temperature that nothing asks for. */
static void say_annealing(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_anneal_opts *a)
{
    const char *name = mf_method_of(o->match.optimizer)->name;

    mf_unused(s, (const char *const[]){"no-polish", "polish-rounds", NULL}, "%s has no polish", name);
    mf_unused(s, (const char *const[]){"convergence-data-steps", NULL},
              "%s has a row of convergence for every round of steps", name);
    mf_unused(s, (const char *const[]){"batch-size", NULL}, "steps of %s look at voxels, not at slices", name);
    if (a->exponential || a->final > 0 || o->match.optimizer == MF_METHOD_YTPOST) return; /* whose options are named */
    MF_UNUSED(s, "--acceptance_distribution zero_tolerance takes no step uphill at any temperature",
              "initial-temperature", "cooldown-factor");
}

static void say_image(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_solve_opts *opts)
{
    if (opts->objective.mean) MF_UNUSED(s, "an image is one slice", "slice-objective");
    if (o->match.greedy) MF_UNUSED(s, "an image is one slice", "greedy");
    if (!opts->method.method->swaps) MF_UNUSED(s, "an image is one slice", "batch-size");
}

void mf_recon_unused_here(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_target *target,
                          const size_t dims[3], const struct mf_solve_opts *opts)
{
    struct mf_recon_work work = {.dims = dims, .target = target, .opts = opts};
    size_t levels;

    mf_recon_work_look(&work);
    levels = work.levels;
    if (opts->method.method->swaps)
        say_annealing(s, o, &opts->anneal);
    else if (opts->objective.mean && dims[0] > 1)
        MF_UNUSED(s, "--slice_objective mean has no polish", "polish-rounds");
    if (dims[0] == 1) say_image(s, o, opts);
    if (o->match.level_weights.count > levels && mf_given(s, "level-weights"))
        mf_warn("--level_weights gives %zu weights, and the pyramid has %zu level%s: what is beyond has no effect",
                o->match.level_weights.count, levels, MF_S(levels));
    if (!o->match.multigrid)
        MF_UNUSED(s, "there is one grid without --use_multigrid_reconstruction", "coarse-iter", "coarsest-grid");
    else if (mf_solve_grids(dims, target, opts) == 1)
        MF_UNUSED(s, "no grid is coarser, by L, the levels of the target and --coarsest_grid",
                  "use-multigrid-reconstruction", "coarse-iter");
    if (target->phases < 2) MF_UNUSED(s, "the target has one phase", "use-multiphase", "no-multiphase");
}

void mf_recon_unused_sides(const struct mf_target *target, const size_t dims[3])
{
    if (dims[0] == 1 && target->sides > 1)
        mf_warn("the result is an image: only the first of the target's three directions (slices normal to z) is used");
    if (dims[0] > 1 && target->sides == 1 && mf_lengths_differ(target->spacing[1], target->spacing[2]))
        mf_warn("the target's pixels are not square (%g x %g), but all directions use the same lags in pixels; try: "
                "images of all three directions, or of square pixels",
                target->spacing[1], target->spacing[2]);
}
