/* Prices of a plan. Steps of mean-field annealing replace those of the descent where a run has them. Soft two-point
 * correlations are less work on cores, which take a few fields. A device makes a pass for every lag. With few lags or
 * steep thresholds the work is the same on both.
 *
 * Searches for patches grow hardly faster than images on cores, and as their square on a device. A run is its
 * evaluations on all grids, and what follows them. */
#include "src/recon/workload.h"

#include "src/base/err.h"
#include "src/recon/recipe.h"
#include "tests/check.h"

static const int zero = 0, none = -1;

static struct mf_recon_work work_of(size_t lag, double steepness)
{
    static const size_t dims[3] = {1, 64, 64};
    struct mf_solve_opts opts = {.objective = {.terms = 1, .periodic = 1}};
    struct mf_target target;
    struct mf_recon_work work = {.dims = dims, .target = &target, .opts = &opts};

    CHECK(mf_descriptor_find(&opts.objective.term[0].row, "TwoPointCorrelations") == MF_OK);
    opts.method.method = mf_method_of(MF_METHOD_SPG);
    CHECK(mf_recon_nominal_target(dims, 2, lag, 1, mf_descriptor_wants(opts.objective.term[0].row), &target) == MF_OK);
    if (steepness > 0) target.steepness = steepness;
    mf_recon_work_look(&work);
    mf_target_free(&target);
    return work;
}

/* Seconds of the passes over vectors, by a rate of one byte a second. */
static double vectors_of(long evaluations)
{
    static const size_t dims[3] = {32, 32, 32};
    const struct mf_placement place = {
        .nodes = 1, .per_node = 1, .ranks = 1, .threads = 1, .node = &zero, .gpu = &none};
    const struct mf_rates rates = {.memory = 1, .home = 1, .flops = 1, .network = 1};
    const double fact[MF_PLAN_FACTS] = {0};
    struct mf_solve_opts opts = {.evaluations = evaluations, .objective = {.terms = 1, .periodic = 1, .norm = MF_MSE}};
    struct mf_plan_numbers settings = {.count = 0};
    struct mf_plan_cost cost = {.total = 0};
    struct mf_target target;
    struct mf_recon_work work = {.dims = dims, .target = &target, .opts = &opts, .history = 2};

    opts.objective.term[0].weight = 1;
    CHECK(mf_descriptor_find(&opts.objective.term[0].row, "FFTCorrelations") == MF_OK);
    opts.method.method = mf_method_of(MF_METHOD_LBFGSB);
    CHECK(mf_recon_nominal_target(dims, 2, 8, 1, 0, &target) == MF_OK);
    mf_recon_work_look(&work);
    mf_plan_set(&settings, "history", 2);
    mf_recon_price(&work, &place, 0, &rates, &settings, fact, &cost);
    mf_target_free(&target);
    return (cost.total - cost.tried) / (32 * 32 * 32);
}

struct seconds {
    double patches, total;
    struct mf_plan_cost run;
};

/* A core's peak. */
static const double PEAK = 5e10;

/* An image or a cube, with such options. */
static struct seconds seconds_at(double peak, size_t depth, size_t edge, const struct mf_solve_opts *asked, int device,
                                 size_t candidates)
{
    static const char *const names[] = {"FFTCorrelations", "Variation", "Patches"};
    const size_t dims[3] = {depth, edge, edge};
    const struct mf_placement place = {
        .device = device, .nodes = 1, .per_node = 1, .ranks = 1, .threads = 1, .node = &zero, .gpu = &zero};
    const struct mf_rates rates = {.memory = 1e10, .home = 1e10, .flops = peak, .network = 1e9, .to_host = 1e9};
    const double fact[MF_PLAN_FACTS] = {0};
    struct mf_solve_opts opts = *asked;
    struct mf_plan_numbers settings = {.count = 0};
    struct mf_plan_cost cost = {.total = 0};
    struct mf_target target;
    struct mf_recon_work work = {
        .dims = dims, .target = &target, .opts = &opts, .history = 2, .candidates = candidates};
    struct seconds seconds = {.run = {.total = 0}};

    for (size_t t = 0; t < opts.objective.terms; ++t) {
        CHECK(mf_descriptor_find(&opts.objective.term[t].row, names[t]) == MF_OK);
        opts.objective.term[t].weight = 1;
    }
    opts.method.method = mf_method_of(MF_METHOD_LBFGSB);
    CHECK(mf_recon_nominal_target(dims, 2, 8, 0, 0, &target) == MF_OK);
    mf_recon_work_look(&work);
    mf_plan_set(&settings, "history", 2);
    mf_recon_price(&work, &place, 0, &rates, &settings, fact, &cost);
    mf_recon_whole(&work, &place, &rates, &settings, fact, &cost, &seconds.run);
    if (!device) CHECK(mf_recon_threads(&work, 1, 64) >= 1);
    mf_target_free(&target);
    seconds.patches = mf_plan_paid(&cost, "patches");
    seconds.total = cost.total;
    return seconds;
}

static struct seconds seconds_of(size_t depth, size_t edge, const struct mf_solve_opts *asked, int device,
                                 size_t candidates)
{
    return seconds_at(PEAK, depth, edge, asked, device, candidates);
}

/* A part of a run on cores. */
static double part_of(size_t depth, size_t edge, const struct mf_solve_opts *opts, const char *name)
{
    const struct seconds seconds = seconds_of(depth, edge, opts, 0, 1);

    return mf_plan_paid(&seconds.run, name);
}

static void searches(void)
{
    const struct mf_solve_opts with = {.evaluations = 100, .objective = {.terms = 3, .periodic = 1, .norm = MF_MSE}};
    struct mf_solve_opts without = with;
    const struct seconds one = seconds_of(1, 128, &with, 0, 1), two = seconds_of(1, 256, &with, 0, 1);
    const struct seconds gpu = seconds_of(1, 128, &with, 1, 1), gpu_two = seconds_of(1, 256, &with, 1, 1);
    double less;

    without.objective.terms = 2;
    CHECK(two.patches > 4 * one.patches && two.patches < 6 * one.patches);
    CHECK(gpu_two.patches > 8 * gpu.patches);
    CHECK(seconds_of(1, 128, &without, 0, 1).patches == 0);
    CHECK(one.patches > 0.1 * one.total && one.patches < one.total);
    less = seconds_at(2 * PEAK, 1, 128, &with, 0, 1).patches / one.patches; /* vectors twice as wide */
    CHECK_SAYS(less > 0.6 && less < 0.8, "%g", less);
    /* all slices of a volume in three directions, each of all pairs */
    CHECK(seconds_of(64, 64, &with, 0, 1).patches > 100 * seconds_of(1, 64, &with, 0, 1).patches);
}

/* It takes as long as its rounds, and nothing where it does not run. */
static void polishes(void)
{
    struct mf_solve_opts o = {
        .evaluations = 100, .polish = 1, .objective = {.terms = 3, .periodic = 1, .norm = MF_MSE}};
    double usual = part_of(1, 128, &o, "polish"), one, two;

    o.polish_rounds = 1;
    one = part_of(1, 128, &o, "polish");
    o.polish_rounds = 2;
    two = part_of(1, 128, &o, "polish");
    CHECK_SAYS(one > 0 && one < two && two < usual, "%g %g %g", one, two, usual);
    o.polish_rounds = 1000; /* most end early */
    CHECK_NEAR(part_of(1, 128, &o, "polish"), usual, 1e-9 * usual);
    o.objective.terms = 2; /* mean-field annealing needs no swaps, unless somebody asks for them */
    CHECK(part_of(32, 32, &o, "polish") > 0);
    o.polish_rounds = 0;
    CHECK(part_of(32, 32, &o, "polish") == 0);
    o.objective.mean = 1;
    o.polish_rounds = 1;
    CHECK(part_of(32, 32, &o, "polish") == 0);
}

static void whole_runs(void)
{
    struct mf_solve_opts o = {
        .evaluations = 100, .polish = 1, .objective = {.terms = 3, .periodic = 1, .norm = MF_MSE}};
    const struct seconds one = seconds_of(1, 128, &o, 0, 1), four = seconds_of(1, 128, &o, 0, 4);
    double evaluations = mf_plan_paid(&one.run, "evaluations"), parts = 0, more;

    for (size_t i = 0; i < one.run.parts; ++i) parts += one.run.part[i].seconds;
    CHECK_NEAR(parts, one.run.total, 1e-9 * parts);
    CHECK_NEAR(evaluations, 100 * one.total, 1e-9 * evaluations);
    CHECK_NEAR(four.run.total, 4 * one.run.total, 1e-9 * four.run.total);
    CHECK(mf_plan_paid(&one.run, "polish") > 0 && mf_plan_paid(&one.run, "describe") > 0);
    o.coarse_to_fine = 1; /* coarser grids are a third of an image, a seventh of a volume */
    more = part_of(1, 128, &o, "evaluations") / evaluations;
    CHECK_SAYS(more > 1.3 && more < 4.0 / 3, "%g", more);
    o.polish = o.coarse_to_fine = 0;
    CHECK(part_of(1, 128, &o, "polish") == 0);
    o.objective.terms = 2; /* what copies nothing is not searched for copies */
    CHECK(part_of(1, 128, &o, "describe") == 0);
    o.evaluations = 0;
    CHECK(seconds_of(1, 128, &o, 0, 1).run.parts == 0);
}

/* Runs of an image by its edge. */
static long candidates_of(const struct mf_target_look *like, size_t edge)
{
    const size_t dims[3] = {1, edge, edge};
    struct mf_target_look look = *like;
    const char *why;

    look.edge = edge;
    look.example = (double)(edge * edge);
    mf_recipe_for(dims, &look);
    return mf_recipe_candidates(mf_recipe_choose(&look, 0, &why), &look);
}

/* The larger an image, the fewer runs. Small ones have all of a recipe, and ones of 128 pixels with patches have one.
 */
static void candidates(void)
{
    const struct mf_target_look blobs = {.phases = 2, .rare = 0.4, .coherence = 1, .sizes = -1};
    const struct mf_target_look several = {.phases = 3, .rare = 0.2, .coherence = 1, .sizes = -1};
    const struct mf_target_look sparse = {.phases = 2, .rare = 0.05, .coherence = 1, .sizes = -1};

    for (size_t edge = 40; edge < 400; edge += 8) {
        const long runs = candidates_of(&blobs, edge);

        CHECK_SAYS(runs >= candidates_of(&blobs, edge + 8) && runs >= 1 && runs <= 4, "%zu: %ld", edge, runs);
    }
    CHECK(candidates_of(&blobs, 64) == 4 && candidates_of(&blobs, 96) > 1 && candidates_of(&blobs, 128) == 1);
    CHECK(candidates_of(&several, 64) == 8 && candidates_of(&several, 128) == 1);
    CHECK(candidates_of(&sparse, 256) == 4 && candidates_of(&sparse, 600) == 1);
}

int main(void)
{
    CHECK_NEAR(vectors_of(10), 48 + 32 + 20, 1e-9);
    CHECK_NEAR(vectors_of(240), 0.3 * 100 + 0.7 * 52, 1e-9);

    const struct mf_recon_work many = work_of(16, 0), few = work_of(4, 0), steep = work_of(16, 30);

    CHECK(many.further_flops[0] < many.further_flops[1] / 3);
    CHECK(few.further_flops[0] == few.further_flops[1]);
    CHECK(steep.further_flops[0] == steep.further_flops[1] && steep.further_flops[1] == many.further_flops[1]);
    searches();
    whole_runs();
    polishes();
    candidates();
    return failures != 0;
}
