/* What a plan prices. Steps of mean-field annealing replace those of the descent where a run has them. Soft two-point
 * correlations are less work on cores, which take a few fields. A device makes a pass for every lag. Of few lags or of
 * steep thresholds the work is the same on both. */
#include "src/recon/workload.h"

#include "src/base/err.h"
#include "tests/check.h"

static struct mf_recon_work work_of(size_t lag, double steepness)
{
    static const size_t dims[3] = {1, 64, 64};
    struct mf_solve_opts opts = {.objective = {.terms = 1, .periodic = 1}};
    struct mf_target target;
    struct mf_recon_work work = {.dims = dims, .target = &target, .opts = &opts};

    CHECK(mf_descriptor_find(&opts.objective.term[0].row, "TwoPointCorrelations") == MF_OK);
    CHECK(mf_method_find(&opts.method.method, "SPG") == MF_OK);
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
    static const int zero = 0, none = -1;
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
    CHECK(mf_method_find(&opts.method.method, "LBFGSB") == MF_OK);
    CHECK(mf_recon_nominal_target(dims, 2, 8, 1, 0, &target) == MF_OK);
    mf_recon_work_look(&work);
    mf_plan_set(&settings, "history", 2);
    mf_recon_price(&work, &place, 0, &rates, &settings, fact, &cost);
    mf_target_free(&target);
    return (cost.total - cost.tried) / (32 * 32 * 32);
}

int main(void)
{
    CHECK_NEAR(vectors_of(10), 48 + 32 + 20, 1e-9);
    CHECK_NEAR(vectors_of(240), 0.3 * 100 + 0.7 * 52, 1e-9);

    const struct mf_recon_work many = work_of(16, 0), few = work_of(4, 0), steep = work_of(16, 30);

    CHECK(many.further_flops[0] < many.further_flops[1] / 3);
    CHECK(few.further_flops[0] == few.further_flops[1]);
    CHECK(steep.further_flops[0] == steep.further_flops[1] && steep.further_flops[1] == many.further_flops[1]);
    return failures != 0;
}
