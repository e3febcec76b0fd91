/* See workload.h: the seconds of a whole run, from those of an evaluation. docs/PLANNER.md has the sources of the
 * constants. */
#include <math.h>

#include "src/recon/grid.h"
#include "src/recon/polish.h"
#include "src/recon/workload.h"

/* A search in which all patches look at many leaves takes so many times as long as others (kernels/cpu/slices). */
static const double ANEW = 1.6;

/* Losses before and after the cut, and after the polish, all search anew. Rounds that a polish has usually, and how
 * many evaluations without a search a round lasts as long as. */
enum { CUT = 2, LAST = 1, ROUNDS = 12, ROUND = 2 };

/* Seconds for each pixel of an image, in which one thread makes the swaps of a round. Volumes try few. */
static const double SWAPS = 5e-7;

/* Seconds for each pixel of the example, in which one thread of cores looks for windows of the result. */
static const double COPIES = 2e-6;

/* Pixels of the examples of all directions, if copies are looked for. */
static double looked_through(const struct mf_recon_work *w)
{
    double pixels = 0;

    if (w->candidates < 2 && !mf_objective_by_example(&w->opts->objective)) return 0;
    for (int d = 0; d < (w->dims[0] > 1 ? 3 : 1); ++d) {
        const struct mf_target_side *side = mf_target_for(w->target, (enum mf_normal)d);

        pixels += (double)side->example_nu * (double)side->example_nv;
    }
    return pixels;
}

/* Seconds of a search that continues from the last one. */
static double search(const struct mf_plan_cost *step) { return MF_SOLVE_HOLD * mf_plan_paid(step, "patches"); }

/* Seconds of an evaluation that searches for all neighbours anew. */
static double anew(const struct mf_plan_cost *step)
{
    return step->total - mf_plan_paid(step, "patches") + ANEW * search(step);
}

/* The first round begins with a search, and others follow while their neighbours are held. */
static double polish(const struct mf_recon_work *w, const struct mf_plan_cost *step)
{
    const struct mf_solve_opts *o = w->opts;
    const double rounds = o->polish_rounds > 0 ? fmin((double)o->polish_rounds, ROUNDS) : ROUNDS;
    const double swaps = w->dims[0] > 1 ? 0 : SWAPS * (double)w->dims[1] * (double)w->dims[2];

    if (!mf_solve_can_polish(w->dims, w->target, o) || (w->annealed && o->polish_rounds == 0)) return 0;
    return LAST * anew(step) + (1 + rounds / MF_POLISH_HOLD) * search(step) + rounds * (ROUND * step->total + swaps);
}

void mf_recon_whole(const void *work, const struct mf_placement *place, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                    const struct mf_plan_cost *step, struct mf_plan_cost *run)
{
    const struct mf_recon_work *w = work;
    const struct mf_solve_opts *o = w->opts;
    const double times = w->candidates > 1 ? (double)w->candidates : 1;
    const size_t grids = mf_solve_grids(w->dims, w->target, o);
    double all = 0;

    (void)place, (void)rates, (void)settings, (void)fact;
    if (o->method.method->swaps || o->evaluations < 1) return;
    for (size_t level = 0; level < grids; ++level)
        all += (double)mf_grid_evaluations(o, level == 0) * mf_solve_share(w->dims, level);
    mf_plan_pay(run, "evaluations", times * all * step->total);
    mf_plan_pay(run, "cut", times * CUT * anew(step));
    mf_plan_pay(run, "polish", times * polish(w, step));
    mf_plan_pay(run, "describe", times * COPIES * looked_through(w));
}
